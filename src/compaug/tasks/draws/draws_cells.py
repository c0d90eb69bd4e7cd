"""What configs/draws.yaml asks for, stage by stage; experiments/draws/dvc.yaml runs over it."""

from pathlib import Path

from compaug.tasks.draws import parameters
from compaug.tasks.draws.parameters import FILE

FOLDER = "draws"  # of experiments/
KINDS = ("raw", "gap_by_draw")
__all__ = ["FILE", "FOLDER", "KINDS", "plan"]


def plan(source: Path) -> dict[str, dict[str, dict[str, object]]]:
    """Kind of stage -> name -> what dvc.yaml fills in, as the file `source` asks.

    InputError as of `parameters.load`.
    """
    settings = parameters.load(source)
    corpora = dict(sorted(settings.corpora.items()))
    more = {name: f"--set '{words}'" if words else "" for name, words in corpora.items()}
    return {
        "raw": {name: {"benchmark": name} for name in corpora},
        "gap_by_draw": {name: {"benchmark": name, "draws": settings.draws, "more": more[name]} for name in corpora},
    }
