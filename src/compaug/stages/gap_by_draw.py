"""What a linear classifier lacks on unseen combinations, for several draws of those that are held out.

python -m compaug.stages.gap_by_draw --benchmark debtags --raw data/raw/debtags --draws 10 --out gap.json

TF-IDF of words and a logistic regression for each label; split and gap are those of `compaug.split` and `compaug.gap`.
Each draw holds out combinations by two rules, at random and those that are read worst (`data.hardest`), and tests as
many rows of unseen ones under both, so that both matched arms learn as many texts.
"""

import sys
from collections.abc import Sequence

import numpy as np

from compaug.core.files import write_json
from compaug.core.records import Labels, read_jsonl, sub_seed
from compaug.data.hardest import linear_classifier
from compaug.evaluation.metrics import label_matrix, percent
from compaug.experiments import params
from compaug.project import arrays
from compaug.stages import count, parser, run

RULES = {"random": None, "hardest": "hardest"}
PARAMS = [*params.corpus("split"), *params.size("support_size")]
OPTIONS = parser(__doc__, "benchmark raw", out=".json")
OPTIONS.add_argument("--draws", type=count, required=True, help="how many splits by each rule, of the seeds 0 and up")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    options = params.load(args.params, PARAMS, benchmark=args.benchmark)["split"]
    labels = Labels.read(args.raw / "labels.json")
    rows = read_jsonl(args.raw / "examples.jsonl", len(labels), may_be_empty=False)
    texts, ids = np.array([row.text for row in rows]), np.array([row.id for row in rows])
    gold = label_matrix([row.labels for row in rows], len(labels))
    drawn = options.model_dump(include={"compositions", "support_size", "min_count", "test_share"})
    draws = []
    for seed in range(args.draws):
        splits = {
            name: arrays.split(texts.tolist(), gold, seed=seed, rule=rule, names=labels.names, ids=ids, **drawn)
            for name, rule in RULES.items()
        }
        tested = min(len(split.test) for split in splits.values())
        for name, split in splits.items():
            order = sorted(split.test.tolist(), key=lambda row: sub_seed(seed, "tested", ids[row]))
            parts = gap(texts, split, np.sort(order[:tested]))
            draws.append({"rule": name, "seed": seed, "n_unseen": tested} | parts)
            print(f"{args.benchmark}, draw {seed}, {name}: {parts}", file=sys.stderr, flush=True)
    write_json(args.out, {"benchmark": args.benchmark, "draws": draws})


def gap(texts: np.ndarray, split: arrays.CompositionalSplit, unseen: Sequence[int]) -> dict[str, float]:
    """The gap in points of H and its two parts, on these rows of unseen combinations and on all of seen ones."""
    from sklearn.pipeline import make_pipeline

    tested = np.concatenate([unseen, split.seen_test])

    def probabilities(learned: np.ndarray) -> np.ndarray:
        model = make_pipeline(*linear_classifier())
        return model.fit(texts[learned], split.gold[learned]).predict_proba(texts[tested])

    matched = []
    for half in split.halves:
        half = np.intersect1d(half, unseen)
        matched.append(probabilities(np.concatenate([split.learned, half])))
        matched[-1][np.isin(tested, half)] = np.nan
    ids = [split.ids[row] for row in tested]
    parts = arrays.gap(probabilities(split.learned), matched, split.gold[tested], split.gold[split.train], ids=ids)
    return {part: percent(values["mean"]) for part, values in parts.items()}


if __name__ == "__main__":
    run(main)
