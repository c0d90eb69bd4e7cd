"""What configs/slu.yaml asks for, stage by stage; experiments/slu/dvc.yaml runs over it."""

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
    experiment = settings.experiment
    settings.corpus_of(experiment.corpus)
    stages: dict[str, dict] = {kind: {} for kind in KINDS}
    stages["slu_backbone"] = {f"{experiment.scale}-{role}": {"scale": experiment.scale, "role": role} for role in ROLES}
    encoder, decoder = (f"models/slu/{experiment.scale}-{role}" for role in ROLES)
    for share in experiment.shares:
        for seed in experiment.seeds:
            few = f"{experiment.corpus}-{share:g}-{seed}"
            stages["slu_corpus"][few] = {"corpus": experiment.corpus, "share": share, "seed": seed}
            for mode in experiment.modes:
                name = f"{experiment.corpus}-{experiment.scale}-{mode}-{share:g}-{seed}"
                cell = {"few": few, "scale": experiment.scale, "encoder": encoder, "seed": seed}
                cell |= {"texts": f"data/slu/{few}", "more": ""}
                if mode != NONE:
                    tagger = {"tagger": decoder, "more": ""}
                    if mode == FACTORISED:
                        tagger = {"tagger": encoder, "more": f"--encoder {encoder}"}
                    stages["slu_texts"][name] = {"few": few, "decoder": decoder, "mode": mode, "seed": seed} | tagger
                    texts = f"data/slu/texts/{name}.jsonl"
                    cell |= {"texts": texts, "more": f"--synthetic {texts}"}
                stages["train_slu"][name] = cell
    return {kind: dict(sorted(entries.items())) for kind, entries in stages.items()}
