"""How one trained generator represents every label in the compositions of D_cg (figures 2 and 5).

Probe, silhouette and t-SNE points.
"""

from compaug.core.files import write_json
from compaug.data.task import TASKS
from compaug.stages import cost_of, d_cg, parser, run

ROLES = ("encoder", "decoder", "seq2seq")
OPTIONS = parser(__doc__, "split seed generator backbones model", out=".json")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    labels, train, support = d_cg(args.split)
    compositions = sorted({e.labels for e in train + support if e.labels})
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
    run(main, loads_torch=True)
