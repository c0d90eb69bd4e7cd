"""What the experiment of configs/parsing.yaml runs: one entry for each kind of stage and name, over which experiments/parsing/dvc.yaml runs."""

from __future__ import annotations

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
    made: dict[str, dict] = {kind: {} for kind in KINDS}
    for asked, words in ((one, words) for one in parsing.runs for words in one.choices):
        parsing.size(asked.scale, asked.corpus)
        name, data = f"{asked.corpus}-{asked.scale}", f"data/parsing/{asked.corpus}"
        common = {"corpus": asked.corpus, "scale": asked.scale, "data": data}
        made["parsing_corpus"][asked.corpus] = {"corpus": asked.corpus}
        options = (f"choice.{words}",) if words else ()
        choice = parameters.load(Edited(source, options)).choice
        for seed in asked.seeds:
            entry = common | {"seed": seed, "map": data, "more": " ".join(f"--set {one}" for one in options)}
            if choice.mapped:
                made_by = f"parser-{name}-{seed}"
                made["map_parser"][made_by] = common | {"seed": seed}
                entry["map"] = f"data/maps/{made_by}"
                entry["more"] += f" --map {entry['map']}"
            made["train_parser"][f"{name}-{words or ALL}-{seed}"] = entry
    return {kind: dict(sorted(entries.items())) for kind, entries in made.items()}
