"""The one page: every table and figure of the paper next to ours, from the numbers that the grids wrote (reports/index.html)."""

from __future__ import annotations

import base64
import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from PIL import Image

from compaug.records import Example, InputError, Labels, read_json
from compaug.reports import number
from compaug.reports.pages import LEVEL
from compaug.reports.paper import IID

GRIDS = {  # and their axes in params.yaml
    "paper": ("paper", "random"),
    "classifiers": ("by_classifier",),
    "prior": ("prior",),
    "ablations": ("ablations",),
}
CONTROLS = {"oversample": "support texts again", "shuffled": "real texts, wrong labels", IID: "none, iid split"}


@dataclass(frozen=True)
class Cell:
    """One number: ours with the half width of its 95 % interval, and the paper's; or words in their place. Counts are integers."""

    ours: float | None = None
    ci95: float | None = None
    paper: float | None = None
    words: str = ""
    sign: bool = False
    other_corpus: bool = False  # the paper's number is: levels cannot be compared

    @property
    def agreement(self) -> str:
        """Where the paper's number lies: inside our interval (or at our number), above or below; "" without one of the two."""
        if not self.comparable:
            return ""
        if abs(self.paper - self.ours) <= (self.ci95 or 0):
            return "inside"
        return "above" if self.paper > self.ours else "below"

    @property
    def shown(self) -> str:
        return self.words or figure(self.ours, self.sign)

    @property
    def printed(self) -> str:
        return figure(self.paper)

    @property
    def interval(self) -> str:
        if self.ours is None or self.ci95 is None:
            return ""
        low, high = (number(self.ours + side * self.ci95, self.sign) for side in (-1, 1))
        return f"{low} to {high}"

    @property
    def difference(self) -> str:
        return figure(self.ours - self.paper, sign=True) if self.comparable else ""

    @property
    def comparable(self) -> bool:
        return self.ours is not None and self.paper is not None and not self.other_corpus


def figure(value: float | None, sign: bool = False) -> str:
    """A count as it is, any other number with two decimals."""
    return f"{value:{'+' if sign else ''},}" if isinstance(value, int) else number(value, sign)


@dataclass(frozen=True)
class Table:
    title: str
    note: str
    header: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]


@dataclass(frozen=True)
class Section:
    """`anchor` is its place in the page's table of contents; `missing` says why there is nothing to show."""

    anchor: str
    title: str
    intro: str = ""
    tables: Sequence[Table] = ()
    figures: Sequence[tuple[str, str]] = ()  # (caption, data URI)
    missing: str = ""
    extra: Mapping = field(default_factory=dict)


def cell(tree: Mapping | None, paper: float | None = None, sign: bool = False, other_corpus: bool = False) -> Cell:
    """Of a {mean, ci95} of a metrics.json; a dash where there is none."""
    tree = tree or {}
    return Cell(tree.get("mean"), tree.get("ci95"), paper, sign=sign, other_corpus=other_corpus)


# ---------------------------------------------------------------- what the grids wrote


@dataclass(frozen=True)
class Sources:
    """metrics.json of every grid that has one, the paper's numbers, where each benchmark stands in the paper, its setting in words,
    the counts of its split."""

    grids: Mapping[str, Mapping]
    paper: Mapping
    column: Mapping[str, str | None]  # benchmark -> column of the paper's tables
    settings: Mapping[str, str]
    splits: Mapping[str, Mapping]

    def benchmarks_of(self, corpus: str) -> list[str]:
        return [benchmark for benchmark, column in self.column.items() if column == corpus]


def read_sources(folder: Path, paper: Mapping, seeds: Mapping[str, Collection[int]]) -> Sources:
    """`seeds` of every grid's axis: rows of seeds that were taken out of it may still be there."""
    grids = {name: read_json(path) for name in GRIDS if (path := folder / name / "metrics.json").exists()}
    column, settings = {}, {}
    for benchmark in (b for b in grids.get("paper", {}) if b not in ("quality", "filter_against_random")):
        rows = rows_of(folder / "paper", seeds["paper"]).get(benchmark)
        if not rows:
            raise InputError(
                f"{folder / 'paper' / 'runs'}: no result of {benchmark} with a seed of paper.seeds; `dvc repro reports/paper/dvc.yaml`"
            )
        column[benchmark] = rows[0]["paper_column"]
        settings[benchmark] = described(rows)
    splits = {path.stem: read_json(path) for path in sorted((folder / "paper" / "splits").glob("*.json"))}
    return Sources(grids, paper, column, settings, splits)


def described(rows: Sequence[Mapping]) -> str:
    """Seeds and backbones of result rows, in words."""
    names = {role: name for row in rows for role, name in row["backbones"].items()}
    seeds = ", ".join(map(str, sorted({row["seed"] for row in rows})))
    return f"seeds {seeds}; {'; '.join(f'{role} {name}' for role, name in sorted(names.items()))}"


def rows_of(grid: Path, seeds: Collection[int]) -> dict[str, list[Mapping]]:
    """Result rows of a grid by benchmark; {} of one that keeps none."""
    by_benchmark: dict[str, list] = {}
    for path in sorted((grid / "runs").rglob("*.json")):
        row = read_json(path)
        if row["seed"] in seeds:
            by_benchmark.setdefault(row["benchmark"], []).append(row)
    return by_benchmark


def setting_of(grid: Path, seeds: Collection[int]) -> str:
    """Seeds and backbones of every benchmark of a grid; "" of one that keeps no result rows."""
    return "; ".join(f"{benchmark}: {described(rows)}" for benchmark, rows in rows_of(grid, seeds).items())


# ---------------------------------------------------------------- the verdict


def verdicts(sources: Sources) -> list[dict]:
    """For every benchmark: did augmentation help, by how much, how sure; the best generator against both controls."""
    found = []
    for benchmark in sources.column:  # of the grid `paper`
        generators = sources.grids["paper"][benchmark]
        others = {g: m for g, m in generators.items() if g not in ("none", *CONTROLS) and "gain_over_none" in m}
        if not others:
            continue
        best = max(others, key=lambda g: others[g]["acc"]["mean"])
        gain = others[best]["gain_over_none"]
        over = others[best].get("gain_over_oversample")
        found.append(
            {
                "benchmark": benchmark,
                "best": best,
                "none": generators["none"]["acc"]["mean"],
                "acc": others[best]["acc"]["mean"],
                "iid": generators.get(IID, {}).get("acc", {}).get("mean"),
                "gain": cell(gain, sign=True),
                "rows": f"{number(gain['low_rows'], True)} to {number(gain['high_rows'], True)}",
                "helped": _sure(gain),
                "over": cell(over, sign=True) if over else None,
                "beats": _sure(over) if over else "",
            }
        )
    return found


def corrected(sources: Sources) -> list[dict]:
    """For every benchmark of the generalised protocol: what the composition prior does for the classifier without augmentation."""
    found = []
    for benchmark, groups in sources.grids.get("prior", {}).items():
        gain, none = groups["gains"]["decoding"].get("none"), groups["generators"].get("none")
        if gain and none:
            pairs = {
                metric: " to ".join(
                    number(none[decoding][metric]["mean"]) for decoding in ("threshold", "composition_prior")
                )
                for metric in ("harmonic", "seen", "unseen")
            }
            rows = f"{number(gain['low_rows'], True)} to {number(gain['high_rows'], True)}"
            found.append({"benchmark": benchmark, "gain": cell(gain, sign=True), "rows": rows} | pairs)
    return found


def _sure(gain: Mapping) -> str:
    """In words, what the two tests allow. Their p values are Holm-corrected over the generators: the best of many was picked."""
    up = gain["mean"] > 0
    if "p_seeds" not in gain:
        return f"{'yes, by the test over test rows' if up and gain['p_rows'] < LEVEL else 'not shown'}; one seed, so no test over seeds"
    by_rows, by_seeds = (up and gain.get(name, 1.0) < LEVEL for name in ("p_rows", "p_seeds"))
    if by_rows and by_seeds:
        return "yes, by the tests over test rows and over seeds"
    if by_rows or by_seeds:
        return f"yes by the test over {'test rows' if by_rows else 'seeds'}, not by that over {'seeds' if by_rows else 'test rows'}"
    return "not shown"


# ---------------------------------------------------------------- texts, images, the page


def samples_of(selected: Mapping[str, Sequence[Example]], labels: Labels, per_generator: int) -> dict:
    """{"generators", "best", "texts": [[generator number, composition, text]]}: the best `per_generator` texts of each, for the search."""
    texts = [
        [number_, labels.key(example.requested_labels), example.text]
        for number_, examples in enumerate(selected.values())
        for example in examples[:per_generator]
    ]
    return {"generators": list(selected), "best": per_generator, "texts": texts}


def data_uri(path: Path) -> str:
    """A figure with a palette of 64 colours, which is a third of its bytes; InputError for a file that is no whole image."""
    small = io.BytesIO()
    try:
        with Image.open(path) as image:
            image.convert("RGB").quantize(64, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    except (OSError, SyntaxError):  # no image at all, a truncated one, a broken chunk
        raise InputError(f"{path}: not a readable image; run the stage that draws it again") from None
    return f"data:image/png;base64,{base64.b64encode(small.getvalue()).decode()}"


def render(sources: Sources, sections: Sequence[Section], provenance: Sequence[Mapping]) -> str:
    """One self-contained page: no file, font or script from elsewhere."""
    environment = Environment(
        loader=PackageLoader("compaug.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("index.html").render(
        verdicts=verdicts(sources),
        corrected=corrected(sources),
        sections=sections,
        provenance=provenance,
        number=number,
    )
