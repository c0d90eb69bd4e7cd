"""The long table (reports/results.csv, gains.csv) and the few queries that every table and figure is made of.

What an experiment had before it ran in this form stands in reports/archive/, in the same columns. Its rows count for as long as results.csv has
none of that experiment and benchmark, and carry the commit that made them.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from compaug.evaluation import gains, results
from compaug.evaluation.decoding import DECODINGS
from compaug.evaluation.statistics import Summary, summarise
from compaug.params import Settings
from compaug.records import InputError, read_json
from compaug.reports import METRICS, backbone_names
from compaug.reports.cells import Cell, cell
from compaug.reports.paper import read_paper_values

ARCHIVE = "archive"
BEFORE = "Numbers of commit {}, from before the arithmetic was made the same on every CPU; kept until this experiment runs again."
WORDS = (
    "experiment",
    "benchmark",
    "scale",
    "generator",
    "selection",
    "classifier",
    "decoding",
    "split",
    "metric",
    "over",
)
WORDS += ("composition", "predicted")
WHOLE = ("seed", "seeds", "rows")
OPTIONAL = (
    "std",
    "ci95",
    "low_rows",
    "high_rows",
    "p_seeds",
    "p_rows",
)  # one seed has no spread, and not every gain has both tests
FIRST = ("none", "oversample", "shuffled")  # the controls
COUNTS = ("n_", "unparsed_")  # metrics that begin so
SPLITS = ("iid", "seen", "unseen")
UNSEEN = {words: ("unseen", metric) for metric, words in METRICS.items()}  # columns of most tables


@dataclass(frozen=True)
class Results:
    """What tables are made of. frame: results.csv and `commit` ("" for current rows); gains, confusions: likewise; paper:
    reports/paper_values.yaml; settings: by benchmark and scale; counts: of every benchmark's split, reports/gold/<benchmark>.json;
    representations: by <benchmark>-<generator>-<seed>; archive: folder of what experiments had before they ran in this form."""

    frame: pd.DataFrame
    gains: pd.DataFrame
    confusions: pd.DataFrame
    paper: Mapping
    settings: Mapping[tuple[str, str], Settings]
    counts: Mapping[str, Mapping]
    representations: Mapping[str, Mapping]
    archive: Path

    def of(self, *experiments: str, **wanted: str | Collection[str]) -> Iterator[tuple[str, str, pd.DataFrame]]:
        """(experiment, benchmark, rows with the wanted values) of those that have any."""
        for experiment in experiments:
            for benchmark, rows in pick(self.frame, experiment=experiment, **wanted).groupby("benchmark"):
                yield experiment, benchmark, rows

    def column(self, benchmark: str) -> str | None:
        """Where the paper's tables have this benchmark."""
        name = benchmark.partition("+")[0]  # what follows is how it differs
        return next((some.corpus.paper_column for (corpus, _), some in self.settings.items() if corpus == name), None)

    def not_run(self, experiment: str) -> list[str]:
        """The paper's corpora of which an experiment that has results has none."""
        ours = {self.column(benchmark) for _, benchmark, _ in self.of(experiment)}
        return [corpus for corpus in self.paper["tables"]["table_6"]["rows"] if ours and corpus not in ours]

    def setting(self, rows: pd.DataFrame) -> str:
        """Of rows of one benchmark: seeds, sizes of the backbones, and the commit of numbers from the archive."""
        own = rows[
            rows["seed"] != 0
        ]  # which stands for no seed: the Bayes classifier, means of seeds that were not kept apart
        seeds = sorted(set(own["seed"]))
        said = [
            f"{'Seeds' if len(seeds) > 1 else 'Seed'} {', '.join(map(str, seeds))}" if seeds else "Means over seeds"
        ]
        if own.groupby(["generator", "selection", "classifier", "split"])["seed"].nunique().nunique() > 1:
            said[0] += ", but not in every cell"
        benchmark, scale = rows["benchmark"].iloc[0].partition("+")[0], rows["scale"].iloc[0]
        if (benchmark, scale) in self.settings:
            roles: dict[str, list[str]] = {}
            for role, name in backbone_names(self.settings[benchmark, scale].backbones, ("seq2seq",)).items():
                roles.setdefault(name, []).append(role)
            said.append(f"scale {scale}: " + ", ".join(f"{', '.join(some)} `{name}`" for name, some in roles.items()))
        commits = sorted(set(rows["commit"]) - {""})
        return f"{'; '.join(said)}. {' '.join(BEFORE.format(commit) for commit in commits)}".strip()

    def rank(self, word: object) -> tuple:
        """Sorts controls first, then the paper's methods in its order, then all others by name."""
        known = [*FIRST, *self.paper["row_of_generator"], *self.paper["row_of_classifier"], *SPLITS, *DECODINGS]
        return known.index(word) if word in known else len(known), word

    def ordered(self, names: Iterable[str]) -> list[str]:
        return sorted(set(names), key=self.rank)

    def cells(
        self,
        rows: pd.DataFrame,
        by: Sequence[str],
        columns: Mapping[str, tuple[str, str]],
        paper: Callable[..., Mapping] = lambda *key: {},
        other_corpus: bool = False,
    ) -> dict[tuple, list[Cell]]:
        """The body of a table: {values of `by`: a cell for each of `columns`, which are splits and metrics}, in the usual order. `paper`
        gives the paper's numbers for such values by metric."""
        wanted = set(columns.values())
        rows = rows[pd.MultiIndex.from_frame(rows[["split", "metric"]]).isin(wanted)]
        found = summaries(rows, *by, "split", "metric")
        keys = sorted({key[:-2] for key in found}, key=lambda key: [self.rank(word) for word in key])
        made = {}
        for key in keys:
            theirs = paper(*key)
            made[key] = [
                _cell(metric, found.get((*key, split, metric)), theirs.get(metric), other_corpus)
                for split, metric in columns.values()
            ]
        return made


def _cell(metric: str, summary: Summary | None, paper: float | None, other_corpus: bool) -> Cell:
    if summary and metric.startswith(COUNTS):
        return Cell(round(summary.mean))
    return cell(summary, paper, other_corpus=other_corpus)


# ---------------------------------------------------------------- reading


def load(reports: Path, settings: Mapping[tuple[str, str], Settings]) -> Results:
    """Everything that tables are made of, from the folder `reports`; `settings`: `params.every`."""
    archive = reports / ARCHIVE
    counts = read_all(archive / "splits") | {
        name: one.get("counts", {}) for name, one in read_all(reports / "gold").items()
    }
    paper = read_paper_values(reports / "paper_values.yaml")
    frame, gained, confusions = read(reports)
    if not len(frame):
        raise InputError(f"{reports / 'results.csv'}: no result; `make grid EXPERIMENT=small` makes the first")
    known = {name: one for name, one in counts.items() if name in set(frame["benchmark"])}
    return Results(frame, gained, confusions, paper, settings, known, read_all(reports / "representations"), archive)


def read_all(folder: Path) -> dict[str, dict]:
    return {path.stem: read_json(path) for path in sorted(folder.glob("*.json"))}


def read(reports: Path) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Long table, gains and confusions, each with the column `commit`. InputError names the file and line that is wrong."""
    archive = reports / ARCHIVE
    kept = read_json(path) if (path := archive / "provenance.json").exists() else {}
    current = _read(reports / "results.csv", results.COLUMNS)
    known = set(zip(current["experiment"], current["benchmark"], strict=True))
    made = []
    files = {"results.csv": results.COLUMNS, "gains.csv": gains.COLUMNS, "confusions.csv": results.CONFUSION_COLUMNS}
    for name, columns in files.items():
        new, old = (_read(folder / name, columns) for folder in (reports, archive))
        again = [pair in known for pair in zip(old["experiment"], old["benchmark"], strict=True)]
        old = old.drop(index=old.index[again])
        if missing := set(old["experiment"]) - set(kept):
            raise InputError(f"{path}: names no commit for {min(missing)}, of which {archive / name} has rows")
        old = old.assign(commit=[kept[experiment]["commit"] for experiment in old["experiment"]])
        made.append(pd.concat([new.assign(commit=""), old], ignore_index=True))
    return _folded(made[0]), made[1], made[2]


def _folded(frame: pd.DataFrame) -> pd.DataFrame:
    """Where the seeds' own numbers were not kept (seed 0), the archive has `acc_std` and `acc_ci95` beside the mean `acc`: columns here."""
    for name in ("std", "ci95"):
        spread = frame["metric"].str.endswith(f"_{name}") & (frame["seed"] == 0)
        values = frame[spread].assign(metric=frame["metric"].str.removesuffix(f"_{name}"))
        keys = [*results.COLUMNS[:-1], "commit"]
        frame = frame[~spread].merge(values.rename(columns={"value": name})[[*keys, name]], "left", keys)
    return frame


def _read(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """A strict CSV: these columns, whole numbers for seeds, finite numbers elsewhere, no row twice. A file that is not there has no rows."""
    rows, seen = [], set()
    if path.exists():
        with path.open(encoding="utf-8", newline="") as stream:
            reader = csv.reader(stream, strict=True)
            try:
                if (header := next(reader, [])) != list(columns):
                    raise ValueError(f"the columns are {','.join(header) or 'missing'}, not {','.join(columns)}")
                for row in reader:
                    rows.append(_parsed(row, columns))
                    key = tuple(
                        rows[-1][: next(at for at, name in enumerate(columns) if name in ("value", "seeds", "rows"))]
                    )
                    if key in seen:
                        raise ValueError("says the same of the same cell as a line before it")
                    seen.add(key)
            except (ValueError, csv.Error) as error:  # ValueError: also bytes that are no UTF-8
                raise InputError(
                    f"{path}: line {max(reader.line_num, 1)}: {error}; `make tables` writes it again"
                ) from None
    kinds = {name: str if name in WORDS else int if name in WHOLE else float for name in columns}
    return pd.DataFrame(rows, columns=list(columns)).astype(kinds)


def _parsed(row: Sequence[str], columns: Sequence[str]) -> list:
    if len(row) != len(columns):
        raise ValueError(f"{len(row)} fields, not {len(columns)}")
    made = []
    for name, text in zip(columns, row, strict=True):
        if name in WORDS:
            made.append(text)
        elif not text and name in OPTIONAL:
            made.append(math.nan)
        elif name in WHOLE:
            made.append(int(text))
        elif math.isfinite(value := float(text)):
            made.append(value)
        else:
            raise ValueError(f"{name}: {text} is no finite number")
    return made


# ---------------------------------------------------------------- queries


def pick(frame: pd.DataFrame, **wanted: str | Collection[str]) -> pd.DataFrame:
    """The rows whose columns have these values, or one of these."""
    keep = pd.Series(True, index=frame.index)
    for column, value in wanted.items():
        keep &= frame[column].isin([value] if isinstance(value, str) else list(value))
    return frame[keep]


def summaries(rows: pd.DataFrame, *by: str) -> dict:
    """{value of `by`, a tuple of several: mean and interval over seeds}. Rows that `by` does not tell apart are a mistake of the query."""
    twice = rows.duplicated([*by, "seed"])
    if twice.any():
        raise ValueError(f"{', '.join(by)} and seed do not tell these rows apart:\n{rows[twice].head()}")
    return {key: _summary(group) for key, group in rows.groupby(by[0] if len(by) == 1 else list(by), sort=False)}


def _summary(rows: pd.DataFrame) -> Summary:
    first = rows.iloc[0]
    known = len(rows) == 1 and math.isfinite(first["ci95"])
    return Summary(1, first["value"], first["std"], first["ci95"]) if known else summarise(rows["value"])


def difference(rows: pd.DataFrame, others: pd.DataFrame, way: float = 1) -> Summary | None:
    """Of one metric of two cells, paired by the seeds that both have."""
    both = pd.concat(
        [some.set_index("seed", verify_integrity=True)["value"] for some in (rows, others)], axis=1
    ).dropna()
    return summarise(way * (both.iloc[:, 0] - both.iloc[:, 1])) if len(both) else None
