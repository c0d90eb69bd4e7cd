"""Pages and tables made from result files: what people read, and the numbers `dvc metrics diff` compares."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal, localcontext
from pathlib import Path

from compaug.benchmarks.parameters import Backbone, Backbones
from compaug.tasks.multi_label import METRICS

__all__ = ["METRICS", "NOT_REPORTED", "backbone_names", "markdown_table", "number"]
NOT_REPORTED = "–"
STORED = 4  # decimals of a value in a result file


def number(value: float | None, sign: bool = False, digits: int = 2) -> str:
    """How every page shows a number: two decimals; a dash where there is no value.

    Rounded as it is stored first and then half away from zero, in decimal: a table made from memory and one made from a file show the
    same, 13.02 for 13.015, and zero has no sign.
    """
    if value is None:
        return NOT_REPORTED
    with localcontext(rounding=ROUND_HALF_UP):
        shown = f"{Decimal(repr(round(float(value), STORED))):{'+' if sign else ''}.{digits}f}"
    return shown if shown.strip("+-0.") else shown.lstrip("+-")


def backbone_names(backbones: Backbones, roles: Collection[str]) -> dict[str, str]:
    """What each role's pre-trained model is, in words, from the benchmark's `backbones` block; of the filter's and
    classifier's encoder, the label generator's decoder, and the roles that the text generator opens."""

    def name(backbone: Backbone) -> str:
        if backbone.kind == "tiny":
            return f"tiny, {backbone.layers} layers of {backbone.hidden}"
        return Path(backbone.path).name if backbone.kind == "path" else backbone.name

    return {role: name(backbone) for role, backbone in backbones if role in {"encoder", "decoder", *roles}}


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[object]], left: Collection[int] = (0,)) -> str:
    """A pipe table, padded to read as plain text too; the columns in `left` hold words, not numbers."""
    columns = []
    for at, column in enumerate(zip(header, *rows, strict=True)):
        texts = [_escape(text) for text in column]
        width, align = max(3, *map(len, texts)), str.ljust if at in left else str.rjust
        rule = "-" * (width - 1) + ("-" if at in left else ":")
        name, *below = (align(text, width) for text in texts)
        columns.append([name, rule, *below])
    return "\n".join(f"| {' | '.join(row)} |" for row in zip(*columns, strict=True))


def _escape(text: object) -> str:
    """One line in which no bar ends the column and no `<none>` passes for an HTML tag."""
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "\\<")
