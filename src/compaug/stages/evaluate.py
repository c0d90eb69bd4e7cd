"""Turn the predictions of the root cell's arms into metrics (paper, Eqs. 1, 2, 15, 16).

An arm is named by the file of its predictions: augmented and baseline; oversample, iid, and matched_a with matched_b
where they are there.
"""

from collections.abc import Mapping
from pathlib import Path

from compaug.core.files import InputError, read_json, write_json
from compaug.evaluation import gold as golds
from compaug.evaluation import plots, predictions, root_cell
from compaug.evaluation.cell_scores import joined, outcome_of, test_rows
from compaug.evaluation.decoding.decodings import DECODINGS, Case
from compaug.evaluation.gold import Gold
from compaug.evaluation.predictions import Predictions
from compaug.experiments import params
from compaug.experiments.cells import REAL_TEXTS, Cell
from compaug.stages import parser, run

PARAMS = ["evaluation", "composition_prior"]
OPTIONS = parser(__doc__, "quality", out=".json")
OPTIONS.add_argument("--gold", type=Path, required=True, help="gold label sets of the benchmark (.jsonl.gz)")
OPTIONS.add_argument("--predictions", type=Path, nargs="+", required=True, help="<arm>.jsonl.gz, one per arm")
OPTIONS.add_argument("--plots", type=Path, required=True, help="folder for the data of `dvc plots`")
OPTIONS.add_argument("--measures", type=Path, required=True, help="measures.json to write, all of them")
OPTIONS.add_argument("--details", type=Path, required=True, help="details.json to write")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    blocks = params.load(args.params, PARAMS)
    evaluation, gold = blocks["evaluation"], golds.read(args.gold)
    quality = read_json(args.quality)
    trained = {arm: predictions.read(path, len(gold.labels)) for arm, path in _paths_by_arm(args.predictions).items()}

    truth, predicted, arms, rows = {}, {}, {}, {}
    at_threshold, decoded = {}, {}  # outcomes of the unseen arms, under the threshold and under the cell's decoding
    for arm, arm_predictions in trained.items():
        split = root_cell.SPLIT_OF_ARM[arm]
        test = _test_rows(gold, arm_predictions, split, arm in root_cell.HALVES)
        case = Case(arm_predictions, gold, test, (), blocks["composition_prior"], evaluation.threshold)
        rows[arm] = test[split]
        if split == "unseen":
            cell = Cell("run", 0, generator=root_cell.GENERATORS.get(arm, REAL_TEXTS))
            at_threshold[arm] = decoded[arm] = outcome_of(cell, case, "threshold", evaluation.empty_both)
            if evaluation.decoding != "threshold":
                decoded[arm] = outcome_of(cell, case, evaluation.decoding, evaluation.empty_both)
        if arm in root_cell.HALVES:
            continue
        truth[arm], predicted[arm] = case.truth[split], DECODINGS[evaluation.decoding](case).sets[split]
        arms[arm] = root_cell.evaluate(truth[arm], predicted[arm], gold.labels, evaluation.empty_both)
    if root_cell.HALVES[0] in decoded:
        test = tuple(gold.parts["test"])
        for outcomes in (at_threshold, decoded):
            halves = [outcomes.pop(arm) for arm in root_cell.HALVES]
            outcomes[root_cell.MATCHED] = joined(halves[0].cell, halves, test)
        metrics = decoded[root_cell.MATCHED].metrics["unseen"]
        arms[root_cell.MATCHED] = {name: metrics[name] for name in sorted(arms["baseline"].keys() & metrics.keys())}
        arms[root_cell.MATCHED]["n"] = len(test)
    measures, gap = root_cell.knowledge(at_threshold, decoded)
    arms = {arm: result | measures.get(arm, {}) for arm, result in arms.items()}

    gain = {
        over: root_cell.accuracy_gain(truth["augmented"], predicted["augmented"], predicted[over])
        for over in ("baseline", "oversample")
        if over in arms
    }
    details = _details(gold, quality, arms, trained, rows, gain, gap)
    details["per_composition"] = {arm: arms[arm]["per_composition"] for arm in predicted}
    details["decoding"] = _decoding(evaluation, blocks["composition_prior"])
    losses, side_car = {arm: p.losses for arm, p in trained.items()}, quality["selection"]
    plots.write(args.plots, losses, {arm: arms[arm] for arm in predicted}, gold, side_car)
    write_json(args.measures, root_cell.summary(arms, side_car, gap))
    write_json(args.out, root_cell.headline(arms, gain["baseline"]))
    write_json(args.details, details)


def _details(
    gold: Gold,
    quality: Mapping,
    arms: Mapping,
    trained: Mapping[str, Predictions],
    rows: Mapping[str, tuple[str, ...]],
    gain: Mapping,
    gap: Mapping,
) -> dict:
    """What the page of the cell shows besides the measures; `rows`: ids of the unseen or iid test rows of each arm."""
    side_car, fidelity = quality["selection"], quality.get("fidelity")
    requested = {key: row.get("requested", 0) for key, row in side_car.get("per_composition", {}).items()}
    details = {
        "acc_gain": gain["baseline"],
        "coverage": root_cell.coverage(requested, gold.compositions("train"), gold.compositions("test")),
    }
    augmented = trained["augmented"]
    shown = augmented.learned.total() - augmented.n_train  # of synthetic texts, each as often as it is shown
    details["epoch"] = {"real": augmented.n_train, "texts": augmented.n_synthetic, "shown": shown}
    if "oversample" in gain:
        details["acc_gain_over_oversample"] = gain["oversample"]
    if gap:
        details["gap"] = gap
    if "iid" in arms:
        details["trivial"] = root_cell.trivial(gold)
    if counted := _unparsed(trained, rows):
        details["unparsed"] = counted
    if bayes := gold.facts.get("bayes"):
        details["bayes"] = {"iid": bayes["iid"]["training_prior"]}
        details["bayes"] |= {f"cg_{prior}": bayes["unseen"][prior] for prior in ("training_prior", "target_prior")}
    if fidelity:
        details |= {"fidelity": fidelity["kept"], "samples": quality["samples"]}
    return details


def _unparsed(trained: Mapping[str, Predictions], rows: Mapping[str, tuple[str, ...]]) -> dict[str, dict[str, int]]:
    """Test rows with a piece that does not parse, and such pieces, by arm, of a classifier that writes its answers."""
    counted: dict[str, dict[str, int]] = {}
    for arm, predicted in trained.items():
        if predicted.unparsed is not None:
            test = set(rows[arm])
            pieces = predicted.unparsed[[row_id in test for row_id in predicted.ids]]
            both = counted.setdefault(root_cell.MATCHED if arm in root_cell.HALVES else arm, {"rows": 0, "pieces": 0})
            both["rows"] += int((pieces > 0).sum())
            both["pieces"] += int(pieces.sum())
    return counted


def _decoding(evaluation: params.Evaluation, prior: params.CompositionPrior) -> dict:
    """The decoding in use and the parameters that it reads."""
    read = {
        "threshold": {"threshold": evaluation.threshold},
        "composition_prior": {name: getattr(prior, name) for name in ("target", "weight", "strength")},
    }
    return {"name": evaluation.decoding, **read.get(evaluation.decoding, {})}


def _test_rows(gold: Gold, predicted: Predictions, split: str, half: bool) -> dict[str, tuple[str, ...]]:
    """Ids by split of the test rows that an arm is evaluated on, each with a prediction; of the matched arm the half of
    the unseen rows that it predicts. InputError for a row without prediction and for one that the gold file does not
    have."""
    test = test_rows(gold, split)
    if half:
        row_ids = set(predicted.ids)
        test["unseen"] = tuple(row_id for row_id in test["unseen"] if row_id in row_ids)
    predicted.check_covers(row_id for ids in test.values() for row_id in ids)
    return test


def _paths_by_arm(paths: list[Path]) -> dict[str, Path]:
    arms = {path.name.removesuffix(".jsonl.gz"): path for path in paths}
    if len(arms) != len(paths) or set(arms) - set(root_cell.SPLIT_OF_ARM) or not {"augmented", "baseline"} <= set(arms):
        raise InputError(
            f"--predictions: got {', '.join(path.name for path in paths)}; give <arm>.jsonl.gz once for augmented and "
            "baseline and at most once for iid, oversample, matched_a and matched_b"
        )
    if sum(half in arms for half in root_cell.HALVES) == 1:
        raise InputError("--predictions: matched_a and matched_b belong together; give both or neither")
    return arms


if __name__ == "__main__":
    run(main)
