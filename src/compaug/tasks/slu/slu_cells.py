"""What the experiment of configs/slu.yaml runs: one entry for each kind of stage and name, over which experiments/slu/dvc.yaml runs."""

from __future__ import annotations

from pathlib import Path

from compaug.tasks.slu import parameters
from compaug.tasks.slu.parameters import FACTORISED, FILE

FOLDER = "slu"  # of experiments/
KINDS = ("slu_corpus", "slu_backbone", "slu_texts", "train_slu")
__all__ = ["FILE", "FOLDER", "KINDS", "plan"]
NONE = "none"  # real utterances alone
ROLES = ("encoder", "decoder")


def plan(source: Path) -> dict[str, dict[str, dict[str, object]]]:
    """Kind of stage -> name -> what dvc.yaml fills in, as the file `source` asks.

    InputError as of `parameters.load`."""
    settings = parameters.load(source)
    asked = settings.experiment
    settings.corpus_of(asked.corpus)
    made: dict[str, dict] = {kind: {} for kind in KINDS}
    made["slu_backbone"] = {f"{asked.scale}-{role}": {"scale": asked.scale, "role": role} for role in ROLES}
    encoder, decoder = (f"models/slu/{asked.scale}-{role}" for role in ROLES)
    for share in asked.shares:
        for seed in asked.seeds:
            few = f"{asked.corpus}-{share:g}-{seed}"
            made["slu_corpus"][few] = {"corpus": asked.corpus, "share": share, "seed": seed}
            for mode in asked.modes:
                name = f"{asked.corpus}-{asked.scale}-{mode}-{share:g}-{seed}"
                cell = {
                    "few": few,
                    "scale": asked.scale,
                    "encoder": encoder,
                    "seed": seed,
                    "texts": f"data/slu/{few}",
                    "more": "",
                }
                if mode != NONE:
                    tagger = {"tagger": encoder, "more": f"--encoder {encoder}"} if mode == FACTORISED else {}
                    written = {
                        "few": few,
                        "decoder": decoder,
                        "tagger": decoder,
                        "mode": mode,
                        "seed": seed,
                        "more": "",
                    }
                    made["slu_texts"][name] = written | tagger
                    texts = f"data/slu/texts/{name}.jsonl"
                    cell |= {"texts": texts, "more": f"--synthetic {texts}"}
                made["train_slu"][name] = cell
    return {kind: dict(sorted(entries.items())) for kind, entries in made.items()}
