"""summary.md of one cell: did augmentation help, by how much, where, and with what synthetic data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compaug.reports import NOT_REPORTED, markdown_table, number
from compaug.reports.paper import IID, printed

NONE = "none"  # the generator that adds nothing
CEILINGS = {
    "iid": "ceiling: Bayes, iid",
    "cg_training_prior": "ceiling: Bayes, CG, prior of training",
    "cg_target_prior": "ceiling: Bayes, CG, prior of test",
}
COLUMNS = ("jacc", "acc", "corr", "corr_set", "comp")


@dataclass(frozen=True)
class Cell:
    """Everything the page shows; the mappings are the JSON files that the stages before it wrote."""

    benchmark: str
    generator: str
    classifier: str
    seed: int
    backbones: Mapping[str, str]
    metrics: Mapping
    details: Mapping
    selection: Mapping = field(default_factory=dict)  # side-car of the selected rows
    label_generator: Mapping = field(default_factory=dict)  # side-car of the requested compositions
    paper: Mapping = field(default_factory=dict)  # reports/paper_values.yaml
    paper_column: str | None = None

    @property
    def augments(self) -> bool:
        return self.generator != NONE


def page(cell: Cell) -> str:
    """The whole page as Markdown."""
    parts = [
        f"# {cell.benchmark}: generator `{cell.generator}`, classifier `{cell.classifier}`, seed {cell.seed}",
        headline(cell),
        "## Result",
        (
            "Percent of test rows. CG: test compositions that training (almost) never shows; iid: the same "
            "corpus, split at random."
        ),
        main_table(cell),
        _how_to_read(cell),
        "## Kinds of error",
        _error_table(cell),
        "## Test compositions",
        "![Accuracy on every test composition, without and with synthetic texts](figures/accuracy.png)",
        _composition_table(cell),
        "## Synthetic data",
        "![Compositions of support, requests, kept texts and test](figures/compositions.png)",
        *(_synthetic_data(cell) if cell.augments else ["None: this cell trains on the real rows alone."]),
        "![Scores of the filter](figures/filter.png)" if cell.selection.get("histogram") else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def headline(cell: Cell) -> str:
    """One paragraph: the answer first, then how far to trust it."""
    metrics, gain = cell.metrics, cell.details["acc_gain"]
    baseline = metrics["baseline"]["acc"]
    gap = f"Without augmentation accuracy is {number(baseline)} % on unseen compositions"
    if IID in metrics:
        gap += f" against {number(metrics[IID]['acc'])} % on the iid split"
    gap += "."
    if not cell.augments:
        advice = "Set `run.generator` in params.yaml to one that augments."
        return f"**No augmentation in this cell.** {gap} {advice}"
    verdict = "made no difference that can be claimed"
    if gain["low"] > 0 or gain["high"] < 0:
        verdict = "helped" if gain["mean"] > 0 else "hurt"
    mean, low, high = (number(gain[name], sign=True) for name in ("mean", "low", "high"))
    change = f"{number(baseline)} → {number(metrics['augmented']['acc'])} %"
    return (
        f"**Augmentation with `{cell.generator}` {verdict}: {mean} points of accuracy on unseen "
        "compositions** "
        f"({change}; 95 % bootstrap interval over {gain['n']} test rows {low} to {high}). {gap} "
        "The interval covers the choice of test rows, not the luck of one seed: the experiment `paper` covers seeds."
    )


def main_table(cell: Cell) -> str:
    """Ceilings, our arms and the paper's rows; columns Jacc, Acc, Corr (both conventions), Comp, n."""
    rows = [
        (name, cell.details["bayes"][key]) for key, name in CEILINGS.items() if key in cell.details.get("bayes", {})
    ]
    names = {
        "augmented": f"augmented ({cell.generator}), CG" if cell.augments else None,
        "baseline": "baseline (no augmentation), CG",
        "iid": "baseline (no augmentation), iid",
    }
    rows += [(name, cell.metrics[arm]) for arm, name in names.items() if name and arm in cell.metrics]
    for generator, name in dict.fromkeys(
        [(cell.generator, f"{cell.generator}, CG"), (NONE, "none, CG"), (IID, "none, iid")]
    ):
        values = printed(cell.paper, cell.paper_column, generator, cell.classifier) if cell.paper else {}
        if any(value is not None for value in values.values()):
            rows.append((f"paper ({cell.paper_column}): {name}", values))
    header = ["", "Jacc", "Acc", "Corr", "Corr (set)", "Comp", "n"]
    return markdown_table(
        header,
        [
            [name, *(number(values.get(column)) for column in COLUMNS), values.get("n", NOT_REPORTED)]
            for name, values in rows
        ],
    )


def _how_to_read(cell: Cell) -> str:
    backbones = ", ".join(f"{role} `{name}`" for role, name in sorted(cell.backbones.items()))
    lines = [
        (
            "Jacc: overlap of predicted and gold set; Acc: sets equal; Corr: nothing wrong predicted (an empty "
            "prediction counts as wrong; as correct in the literal *Corr (set)*); Comp: nothing missed."
        ),
    ]
    if backbones:
        lines.append(f"Backbones: {backbones}.")
    if cell.paper_column and cell.paper:
        lines.append(
            f"The paper's rows: {cell.paper['setting']}. Ours: one seed and the backbones named above, so "
            "compare differences rather than levels."
        )
    if cell.details.get("bayes"):
        lines.append(
            "Ceilings: the exact Bayes classifier of the known grammar. Between its two CG rows lies what "
            "knowing the test compositions is worth."
        )
    return "\n".join(f"- {line}" for line in lines)


def _error_table(cell: Cell) -> str:
    arms = [
        arm for arm in ("augmented", "baseline", "iid") if arm in cell.metrics and (cell.augments or arm != "augmented")
    ]
    kinds = {
        "exact": lambda m: m["acc"],
        "only misses labels": lambda m: m["strict_subset"],
        "only adds labels": lambda m: m["strict_superset"],
        "misses and adds": lambda m: max(0.0, 100 - m["acc"] - m["strict_subset"] - m["strict_superset"]),
        "(predicts nothing)": lambda m: m["empty_rate"],
    }
    rows = [[kind, *(number(value(cell.metrics[arm])) for arm in arms)] for kind, value in kinds.items()]
    if "unparsed" in cell.details:  # a classifier that writes its answers
        shares = (100 * cell.details["unparsed"][arm]["rows"] / cell.metrics[arm]["n"] for arm in arms)
        rows.append(["(a piece does not parse)", *map(number, shares)])
    return markdown_table(["percent of rows", *arms], rows)


def _composition_table(cell: Cell) -> str:
    """Largest compositions first; the wrong prediction is that of the arm the page is about."""
    per_arm = cell.details["per_composition"]
    arm = "augmented" if cell.augments else "baseline"
    rows = []
    for key, row in sorted(per_arm[arm].items(), key=lambda item: (-item[1]["n"], item[0])):
        accuracies = [number(per_arm[name][key]["acc"]) for name in dict.fromkeys(("baseline", arm))]
        wrong = f"{row['wrong']} ({row['n_wrong']})" if row["wrong"] else NOT_REPORTED
        rows.append([key, row["n"], *accuracies, wrong])
    header = [
        "composition",
        "n",
        *(f"Acc {name}" for name in dict.fromkeys(("baseline", arm))),
        "most frequent error (rows)",
    ]
    return markdown_table(header, rows, left=(0, len(header) - 1))


def _synthetic_data(cell: Cell) -> list[str]:
    selection, coverage, details = cell.selection, cell.details.get("coverage"), cell.details
    counts = [f"{name} {selection[name]}" for name in ("requested", "produced", "kept") if name in selection]
    dropped = ", ".join(f"{reason} {count}" for reason, count in sorted(selection.get("dropped", {}).items()))
    lines = [f"Texts: {', '.join(counts) or 'no counts recorded'}; dropped before the filter: {dropped or 'none'}."]
    quality = {
        "mean_filter_jacc": "mean filter Jacc",
        "share_jacc_1": "share with Jacc 1",
        "total_variation": "total variation of the composition histogram before and after selection",
    }
    quality = [f"{text} {number(selection[name])}" for name, text in quality.items() if selection.get(name) is not None]
    if quality:
        lines.append(f"Kept texts: {', '.join(quality)}.")
    if cell.label_generator:
        lines.append(_label_generator(cell.label_generator))
    if coverage:
        lines.append(
            f"Requested compositions: {coverage['requested_compositions']} distinct, "
            f"{coverage['unseen_in_training']} unseen in training; they cover {coverage['in_test']} of the "
            f"{coverage['test_compositions']} test compositions, with "
            f"{number(coverage['share_of_requests_in_test'])} % of the requests. Never requested: "
            f"{', '.join(coverage['test_never_requested']) or 'none'}."
        )
    if details.get("fidelity") is not None:
        lines.append(
            f"Oracle fidelity: {number(details['fidelity'])} % of the kept texts express all requested "
            "labels and no other."
        )
    blocks = ["\n".join(f"- {line}" for line in lines)]
    if samples := details.get("samples"):
        rows = [
            [
                sample["requested"],
                "yes" if sample["faithful"] else f"no: {_readings(sample['readings'])}",
                sample["text"],
            ]
            for sample in samples
        ]
        blocks += [
            "Samples, evenly spaced through the kept texts:",
            markdown_table(["requested", "faithful", "text"], rows, left=(0, 1, 2)),
        ]
    return blocks


def _label_generator(counts: Mapping) -> str:
    """One sentence on P_t(y): what was asked for, what could not be parsed and why."""
    rejected = counts.get("rejected", {})
    reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(rejected.items()) if count)
    share = f"{number(100 * counts.get('rejection_rate', 0), digits=1)} % of its samples rejected" + (
        f" ({reasons})" if reasons else ""
    )
    return f"Label generator: {counts.get('requested', 0)} label sets requested, {share}."


def _readings(readings: Sequence[str], shown: int = 2) -> str:
    """What the oracle reads in a text, shortened: an ambiguous text has many readings."""
    more = len(readings) - shown
    return (" or ".join(readings[:shown]) or "expresses no label set") + (f" or {more} more" if more > 0 else "")
