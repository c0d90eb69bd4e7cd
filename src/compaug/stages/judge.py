"""Judge a cell's kept texts in the place of people (Table 10): what a reader finds in a text against what was asked.

Two readers: the oracle of the corpus where its grammar is known, and a classifier that has seen every combination, that
of the iid split.
"""

from compaug import classifiers
from compaug.core.files import write_json
from compaug.core.records import Labels, read_jsonl
from compaug.data.readers import oracle_for
from compaug.evaluation.metrics import label_matrix
from compaug.evaluation.text_quality import ratings
from compaug.experiments import params
from compaug.stages import cost_of, parser, run

PARAMS = [*params.corpus("reader", "options"), "evaluation.threshold"]
OPTIONS = parser(__doc__, "benchmark seed generator classifier labels model selected", out=".json")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    blocks = params.load(args.params, PARAMS, benchmark=args.benchmark)
    labels = Labels.read(args.labels)
    selected = read_jsonl(args.selected, len(labels))
    judged = {}
    with cost_of(args.out):
        if selected:
            requested = label_matrix([e.requested_labels for e in selected], len(labels))
            read = classifiers.load(args.classifier).predict(args.model, [e.text for e in selected])
            judged["classifier"] = ratings.shares(requested, read > blocks["threshold"])
            if grammar := oracle_for(blocks["reader"], blocks["options"]):
                judged["oracle"] = ratings.oracle_shares(grammar.oracle, selected)
        row = {"generator": args.generator, "seed": args.seed, "n": len(selected)}
        write_json(args.out, row | {"judged": judged})


if __name__ == "__main__":
    run(main, loads_torch=True)
