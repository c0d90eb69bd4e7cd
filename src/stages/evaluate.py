"""Turn the predictions of a cell's arms into metrics: the only stage that opens the gold labels of D_test.

python -m stages.evaluate --benchmark diagnostic --splits data/splits/diagnostic \
    --predictions models/run/augmented/predictions.jsonl models/run/baseline/predictions.jsonl \
    --selected data/selected/run.jsonl --compositions data/compositions/run.jsonl --plots reports/plots \
    --out reports/metrics.json --details reports/details.json

Spec sections 3 and 9; an arm is named by the folder of its predictions (augmented, baseline, iid).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from compaug.evaluation.generalised import Trained

from compaug import params
from compaug.benchmarks import oracle_for
from compaug.evaluation.decoding import decode, read_validation
from compaug.evaluation.errors import unparsed
from compaug.evaluation.metrics import evaluate, label_matrix, read_predictions
from compaug.records import InputError, Labels, iter_jsonl, read_json, read_jsonl, write_json
from compaug.reports import cell, generalised, plots
from stages import parser, run

PARAMS = ["evaluation", "composition_prior", "benchmarks.{benchmark}.reader", "benchmarks.{benchmark}.options"]


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    blocks = params.load(args.params, PARAMS, benchmark=args.benchmark)
    evaluation, grammar = blocks["evaluation"], oracle_for(blocks["reader"], blocks["options"])
    labels = Labels.read(args.splits / "labels.json")
    paths = _paths_by_arm(args.predictions)

    gold, predicted, arms = {}, {}, {}
    for arm, path in paths.items():
        examples = read_jsonl(args.splits / f"{cell.SPLIT_OF_ARM[arm]}.jsonl", len(labels))
        gold[arm] = label_matrix([example.labels for example in examples], len(labels))
        probabilities = read_predictions(path, [example.id for example in examples], len(labels))
        first, *added = (read_jsonl(file, len(labels)) for file in _training_files(arm, args))
        trained = Trained(path, first, [e for rows in added for e in rows])
        if evaluation.decoding == "composition_prior":
            drawn = generalised.read_drawn(args.compositions, len(labels))
            support, options = added[0] if added else [], blocks["composition_prior"]
            predicted[arm] = generalised.corrected(probabilities, trained, support, drawn, options, labels)
        else:
            learned = read_validation(path, [*trained.train, *trained.added], len(labels))
            predicted[arm] = decode(evaluation.decoding, evaluation.threshold, probabilities, *learned)
        arms[arm] = evaluate(gold[arm], predicted[arm], labels, evaluation.empty_both)

    side_car = read_json(args.selected.with_suffix(".json"))
    details = {
        "acc_gain": cell.accuracy_gain(gold["augmented"], predicted["augmented"], predicted["baseline"]),
        "per_composition": {arm: result["per_composition"] for arm, result in arms.items()},
        "coverage": _coverage(side_car, args.splits, labels),
    }
    if written := {arm: counts for arm, path in paths.items() if (counts := unparsed(path))}:
        details["unparsed"] = written
    if grammar is not None:
        details |= _judge_by_grammar(grammar, args.splits, args.selected, labels, evaluation.empty_both)
    plots.write(args.plots, paths, arms, args.splits, side_car, labels)
    write_json(args.out, cell.summary(arms, side_car))
    write_json(args.details, details)


def _training_files(arm: str, args) -> list[Path]:
    """D_train or its iid twin, then what was added to it: an arm's validation rows come from these."""
    names = ["iid_train"] if arm == "iid" else ["train", "support"]
    return [*(args.splits / f"{name}.jsonl" for name in names), *([args.selected] if arm == "augmented" else [])]


def _coverage(side_car: Mapping, splits: Path, labels: Labels) -> dict:
    requested = {key: row.get("requested", 0) for key, row in side_car.get("per_composition", {}).items()}
    files = (iter_jsonl(splits / f"{name}.jsonl", len(labels)) for name in ("train", "test"))
    train, test = ({labels.key(example.labels) for example in file} for file in files)
    return cell.coverage(requested, train, test)


def _judge_by_grammar(
    grammar: cell.KnownGrammar, splits: Path, selected_path: Path, labels: Labels, empty_both: str
) -> dict:
    """Ceilings and fidelity, for a corpus whose grammar is known."""
    train, support, test, iid_train, iid_test = (
        read_jsonl(splits / f"{name}.jsonl", len(labels))
        for name in ("train", "support", "test", "iid_train", "iid_test")
    )
    selected = read_jsonl(selected_path, len(labels))
    return {
        "bayes": cell.bayes_ceilings(
            grammar,
            labels,
            empty_both,
            train=train + support,
            test=test,
            iid_train=iid_train,
            iid_test=iid_test,
        ),
        "fidelity": cell.oracle_fidelity(grammar, selected),
        "samples": cell.judged_samples(grammar, selected, labels),
    }


def _paths_by_arm(paths: list[Path]) -> dict[str, Path]:
    arms = {path.parent.name: path for path in paths}
    if len(arms) != len(paths) or set(arms) - set(cell.SPLIT_OF_ARM) or not {"augmented", "baseline"} <= set(arms):
        raise InputError(
            f"--predictions: got the arms {', '.join(path.parent.name for path in paths)}; give "
            "<arm>/predictions.jsonl once for augmented and baseline and at most once for iid"
        )
    return arms


def _parser():
    made = parser(__doc__)
    made.add_argument("--benchmark", required=True, help="name of the block in params.yaml")
    made.add_argument("--splits", type=Path, required=True, help="folder of the benchmark's splits")
    made.add_argument("--predictions", type=Path, nargs="+", required=True, help="<arm>/predictions.jsonl, one per arm")
    made.add_argument(
        "--selected", type=Path, required=True, help="selected synthetic rows, side-car .json beside them"
    )
    made.add_argument("--compositions", type=Path, required=True, help="label sets that the label generator drew")
    made.add_argument("--plots", type=Path, required=True, help="folder for the data of `dvc plots`")
    made.add_argument("--out", type=Path, required=True, help="metrics.json to write")
    made.add_argument("--details", type=Path, required=True, help="details.json to write")
    return made


if __name__ == "__main__":
    run(main)
