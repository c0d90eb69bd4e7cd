"""What configs/parsing.yaml asks for, stage by stage; experiments/parsing/dvc.yaml runs over it."""

from pathlib import Path

from compaug.experiments.params import Edited
from compaug.tasks.parsing import parameters
from compaug.tasks.parsing.parameters import FILE

FOLDER = "parsing"  # of experiments/
KINDS = ("parsing_corpus", "map_parser", "train_parser")
__all__ = ["FILE", "FOLDER", "KINDS", "plan"]
ALL = "all"  # name of the choice that differs in nothing


def plan(source: Path) -> dict[str, dict[str, dict[str, object]]]:
    """Kind of stage -> name -> what dvc.yaml fills in, as the file `source` asks.

    InputError for a choice that the schema does not know."""
    parsing = parameters.load(source)
    stages: dict[str, dict] = {kind: {} for kind in KINDS}
    for runs, words in ((r, words) for r in parsing.runs for words in r.choices):
        parsing.size(runs.scale, runs.corpus)
        name, data = f"{runs.corpus}-{runs.scale}", f"data/parsing/{runs.corpus}"
        common = {"corpus": runs.corpus, "scale": runs.scale, "data": data}
        stages["parsing_corpus"][runs.corpus] = {"corpus": runs.corpus}
        options = (f"choice.{words}",) if words else ()
        choice = parameters.load(Edited(source, options)).choice
        for seed in runs.seeds:
            entry = common | {"seed": seed, "map": data, "more": " ".join(f"--set {option}" for option in options)}
            if choice.mapped:
                made_by = f"parser-{name}-{seed}"
                stages["map_parser"][made_by] = common | {"seed": seed}
                entry["map"] = f"data/maps/{made_by}"
                entry["more"] += f" --map {entry['map']}"
            stages["train_parser"][f"{name}-{words or ALL}-{seed}"] = entry
    return {kind: dict(sorted(entries.items())) for kind, entries in stages.items()}
