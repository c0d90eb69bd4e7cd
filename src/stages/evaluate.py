"""Turn the predictions of the root cell's arms into metrics; no text, model or split is opened.

python -m stages.evaluate --gold reports/gold/run.jsonl.gz --quality reports/quality/run.json \
    --predictions reports/predictions/run/augmented.jsonl.gz reports/predictions/run/baseline.jsonl.gz \
    --plots reports/plots --out reports/metrics.json --details reports/details.json

Spec sections 3 and 9; an arm is named by the file of its predictions: augmented and baseline, iid and oversample where they are there.
"""

from __future__ import annotations

from pathlib import Path

from compaug import params, shapes
from compaug.evaluation import gold as golds
from compaug.evaluation import plots, predictions, root_cell
from compaug.evaluation.decoding import DECODINGS, PART_OF_SPLIT, Case
from compaug.records import InputError, read_json, write_json
from stages import parser, run

PARAMS = ["evaluation", "composition_prior"]


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    blocks = params.load(args.params, PARAMS)
    evaluation, gold = blocks["evaluation"], golds.read(args.gold)
    quality = read_json(args.quality, shapes.Quality)
    trained = {arm: predictions.read(path, len(gold.labels)) for arm, path in _paths_by_arm(args.predictions).items()}

    truth, predicted, arms = {}, {}, {}
    for arm, found in trained.items():
        split = root_cell.SPLIT_OF_ARM[arm]
        ids = tuple(gold.parts[PART_OF_SPLIT[split]])
        found.check_covers(ids)
        case = Case(found, gold, {split: ids}, (), blocks["composition_prior"], evaluation.threshold)
        truth[arm], predicted[arm] = case.truth[split], DECODINGS[evaluation.decoding](case).sets[split]
        arms[arm] = root_cell.evaluate(truth[arm], predicted[arm], gold.labels, evaluation.empty_both)

    side_car, fidelity = quality["selection"], quality.get("fidelity")
    requested = {key: row.get("requested", 0) for key, row in side_car.get("per_composition", {}).items()}
    gain = {
        over: root_cell.accuracy_gain(truth["augmented"], predicted["augmented"], predicted[over])
        for over in ("baseline", "oversample")
        if over in arms
    }
    details = {
        "acc_gain": gain["baseline"],
        "per_composition": {arm: result["per_composition"] for arm, result in arms.items()},
        "coverage": root_cell.coverage(requested, gold.compositions("train"), gold.compositions("test")),
    }
    augmented = trained["augmented"]
    shown = augmented.learned.total() - augmented.n_train  # of synthetic texts, each as often as it is shown
    details["epoch"] = {"real": augmented.n_train, "texts": augmented.n_synthetic, "shown": shown}
    if "oversample" in gain:
        details["acc_gain_over_oversample"] = gain["oversample"]
    if "iid" in arms:
        details["trivial"] = root_cell.trivial(gold)
    prior = {name: getattr(blocks["composition_prior"], name) for name in ("target", "weight", "strength")}
    read = {"threshold": {"threshold": evaluation.threshold}, "composition_prior": prior}.get(evaluation.decoding, {})
    details["decoding"] = {"name": evaluation.decoding, **read}
    if written := {arm: found.unparsed for arm, found in trained.items() if found.unparsed is not None}:
        counted = {arm: {"rows": int((n > 0).sum()), "pieces": int(n.sum())} for arm, n in written.items()}
        details["unparsed"] = counted
    if bayes := gold.facts.get("bayes"):
        details["bayes"] = {"iid": bayes["iid"]["training_prior"]}
        details["bayes"] |= {f"cg_{prior}": bayes["unseen"][prior] for prior in ("training_prior", "target_prior")}
    if fidelity:
        details |= {"fidelity": fidelity["kept"], "samples": quality["samples"]}
    plots.write(args.plots, {arm: found.losses for arm, found in trained.items()}, arms, gold, side_car)
    write_json(args.out, root_cell.summary(arms, side_car))
    write_json(args.details, details)


def _paths_by_arm(paths: list[Path]) -> dict[str, Path]:
    arms = {path.name.removesuffix(".jsonl.gz"): path for path in paths}
    if len(arms) != len(paths) or set(arms) - set(root_cell.SPLIT_OF_ARM) or not {"augmented", "baseline"} <= set(arms):
        raise InputError(
            f"--predictions: got {', '.join(path.name for path in paths)}; give <arm>.jsonl.gz once for augmented and "
            "baseline and at most once for iid and oversample"
        )
    return arms


def _parser():
    made = parser(__doc__, out=".json")
    made.add_argument("--gold", type=Path, required=True, help="gold label sets of the benchmark (.jsonl.gz)")
    made.add_argument("--quality", type=Path, required=True, help="measures of the cell's texts")
    made.add_argument("--predictions", type=Path, nargs="+", required=True, help="<arm>.jsonl.gz, one per arm")
    made.add_argument("--plots", type=Path, required=True, help="folder for the data of `dvc plots`")
    made.add_argument("--out", type=Path, required=True, help="metrics.json to write")
    made.add_argument("--details", type=Path, required=True, help="details.json to write")
    return made


if __name__ == "__main__":
    run(main)
