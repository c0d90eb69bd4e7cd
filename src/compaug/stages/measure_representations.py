"""How one trained generator represents every label in the compositions of D_cg (figures 2 and 5).

Probe, silhouette and t-SNE points.

Probe, silhouette and t-SNE points.

python -m compaug.stages.measure_representations --generator ld_vae --model models/generator/diagnostic-ld_vae-13 \
    --split data/splits/diagnostic --backbones models/backbones/diagnostic --seed 13 \
    --out data/representations/diagnostic-ld_vae-13.json
"""

from __future__ import annotations

from compaug.core.records import InputError, Labels, iter_jsonl, write_json
from compaug.data.task import TASKS
from compaug.stages import cost_of, parser, run

ROLES = ("encoder", "decoder", "seq2seq")

OPTIONS = parser(__doc__, "split seed generator backbones model", out=".json")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    labels = Labels.read(args.split / "labels.json")
    parts = (args.split / f"{name}.jsonl" for name in ("train", "support"))
    compositions = sorted({e.labels for part in parts for e in iter_jsonl(part, len(labels)) if e.labels})
    if not compositions:
        raise InputError(f"{args.split}: D_train and D_s have no labelled text; there is nothing to represent")
    backbones = {role: args.backbones / role for role in ROLES}
    task = TASKS["multi_label"](labels)  # the model's folder has the prompt
    pairs = [label for composition in compositions for label in composition]
    within = [at for at, composition in enumerate(compositions) for _ in composition]
    # after the cheap checks: torch is slow to import
    from compaug.evaluation.text_quality.representations import flat, probe, silhouette, views

    with cost_of(args.out):
        vectors_by_view = views(args.generator, args.model, compositions, task, backbones, args.seed)
        measured = {
            name: {
                "probe": probe(vectors, pairs, within),
                "silhouette": silhouette(vectors, pairs),
                "points": flat(vectors, args.seed),
            }
            for name, vectors in vectors_by_view.items()
        }
        of = {"generator": args.generator, "seed": args.seed, "labels": list(labels.names), "pair_labels": pairs}
        write_json(args.out, of | {"views": measured})


if __name__ == "__main__":
    run(main)
