"""Texts of the known grammar in the place of a generator's, of which a given share says what was asked for.

As many as a selection keeps (sizes.k), in the proportions of the requested compositions; fresh ones, so none of the
corpus.
"""

from collections import Counter

import numpy as np

from compaug import selection
from compaug.core.files import InputError, write_json
from compaug.core.records import Labels, iter_jsonl, read_label_sets, sub_seed, text_key, write_jsonl
from compaug.data.readers import oracle_for
from compaug.evaluation.text_quality.mixtures import mixture
from compaug.experiments import params
from compaug.stages import parser, run

PARAMS = [*params.corpus("reader", "options"), *params.size("k")]
OPTIONS = parser(__doc__, "benchmark split seed compositions", out=".jsonl")
OPTIONS.add_argument("--right", type=float, default=1.0, help="share that says what was asked for (default: 1)")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    blocks = params.load(args.params, PARAMS, benchmark=args.benchmark)
    grammar = oracle_for(blocks["reader"], blocks["options"])
    if grammar is None:
        raise InputError(
            f"--benchmark {args.benchmark}: no grammar of its texts is known; mixtures need one (diagnostic)"
        )
    labels = Labels.read(args.split / "labels.json")
    drawn = Counter(read_label_sets(args.compositions, len(labels)))
    quotas = selection.quotas(drawn, blocks["k"])
    requests = [composition for composition, count in sorted(quotas.items()) for _ in range(count)]
    order = np.random.default_rng(sub_seed(args.seed, "order")).permutation(len(requests))  # a head is a sample of all
    requests = [requests[at] for at in order]
    known_texts = {
        text_key(e.text) for path in sorted(args.split.glob("*.jsonl")) for e in iter_jsonl(path, len(labels))
    }
    rows = list(mixture(grammar, requests, len(labels), args.right, known_texts, args.seed))
    write_jsonl(args.out, rows)
    counts = {labels.key(composition): {"requested": count, "kept": count} for composition, count in quotas.items()}
    side_car = {"requested": len(rows), "produced": len(rows), "kept": len(rows), "right": args.right}
    write_json(args.out.with_suffix(".json"), side_car | {"per_composition": dict(sorted(counts.items()))})


if __name__ == "__main__":
    run(main)
