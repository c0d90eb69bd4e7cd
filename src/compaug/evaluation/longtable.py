"""The long table (reports/results.csv.gz), gains.csv and confusions.csv.gz read again, and queries to them.

The experiment `support` has not run since experiments have this form. Its numbers stand in first_grids.csv.gz, in the
same columns and with the commit that made them. These rows count for as long as results.csv.gz has none of that
experiment and corpus.
"""

import io
import math
from collections.abc import Collection, Sequence
from pathlib import Path

import pandas as pd

from compaug.core.files import digest
from compaug.evaluation import gains, packed, results
from compaug.evaluation.predictions import refused
from compaug.evaluation.statistics import Summary, summarise
from compaug.experiments.cells import TINY

# pandas would store words otherwise where pyarrow is installed, which datasets needs
pd.set_option("mode.string_storage", "python")
LONG = "results.csv.gz"
REMEDY = "`make tables` writes it again"
FILES = {LONG: results.COLUMNS, "gains.csv": gains.COLUMNS, "confusions.csv.gz": results.CONFUSION_COLUMNS}
FIRST = "first_grids.csv.gz"  # the long table of the first grids
FROM_GIT = "take it from Git again (`git checkout`)"
NUMBERS = {"seed": int, "seeds": int, "rows": int, "value": float} | dict.fromkeys(gains.TESTS, float)


def read(reports: Path) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Long table, with the column `commit`, "" for current rows; gains and confusions.

    The first grids' rows of an experiment go when it has current ones of the same corpus, whatever differs behind its
    plus sign. Where an experiment has a corpus at several scales, these are benchmarks of their own, `diagnostic+bart`.

    InputError names the file and line that is wrong.
    """
    current, *others = (_read(reports / name, columns) for name, columns in FILES.items())
    old = _read(reports / FIRST, [*results.COLUMNS, "commit"], FROM_GIT)
    old = old[~_corpora(old).isin(_corpora(current))]
    frame = pd.concat([current.assign(commit=""), old], ignore_index=True)
    long_table, gain_table, confusion_table = _scales_apart([frame, *others])
    return _folded(long_table), gain_table, confusion_table


def _corpora(frame: pd.DataFrame) -> pd.MultiIndex:
    """Experiment and corpus of every row."""
    return pd.MultiIndex.from_arrays([frame["experiment"], frame["benchmark"].str.split("+").str[0]])


def _scales_apart(frames: Sequence[pd.DataFrame]) -> list[pd.DataFrame]:
    """A mean over cells of different models is none of anything."""
    keys = ["experiment", "benchmark"]
    scales = frames[0].groupby(keys)["scale"].nunique()
    several = scales[scales > 1].index
    separated = []
    for frame in frames:
        apart = pd.MultiIndex.from_frame(frame[keys]).isin(several) & (frame["scale"] != TINY)
        separated.append(
            frame.assign(benchmark=frame["benchmark"].where(~apart, frame["benchmark"] + "+" + frame["scale"]))
        )
    return separated


def _folded(frame: pd.DataFrame) -> pd.DataFrame:
    """Spread as columns where the seeds' own numbers were not kept (seed 0).

    There the first grids have rows `acc_std` and `acc_ci95` beside the mean `acc`.
    """
    for name in ("std", "ci95"):
        spread = frame["metric"].str.endswith(f"_{name}") & (frame["seed"] == 0)
        values = frame[spread].assign(metric=frame["metric"].str.removesuffix(f"_{name}"))
        keys = [*results.COLUMNS[:-1], "commit"]
        frame = frame[~spread].merge(values.rename(columns={"value": name})[[*keys, name]], "left", keys)
    return frame


def _read(path: Path, columns: Sequence[str], remedy: str = REMEDY) -> pd.DataFrame:
    """A CSV with these columns, words but for NUMBERS, of which an empty one is NaN; no rows where there is no file."""
    kinds = {name: NUMBERS.get(name, str) for name in columns}
    if not path.exists():
        return pd.DataFrame(columns=list(columns)).astype(kinds)
    empty = {name: [""] for name in gains.TESTS[1:]}  # one seed has no spread, and not every gain has both tests
    options = {"keep_default_na": False, "na_values": empty, "float_precision": "round_trip"}
    with refused(path, f"a table with the columns {','.join(columns)}", remedy):
        text = "".join(packed.read(path, remedy)) if path.suffix == ".gz" else path.read_text(encoding="utf-8")
        frame = pd.read_csv(io.StringIO(text), dtype=kinds, index_col=False, **options)
        return frame[list(columns)]


# ---------------------------------------------------------------- queries


def pick(frame: pd.DataFrame, **allowed: str | Collection[str]) -> pd.DataFrame:
    """The rows whose columns have these values, or one of these."""
    keep = pd.Series(True, index=frame.index)
    for column, values in allowed.items():
        keep &= frame[column].isin([values] if isinstance(values, str) else list(values))
    return frame[keep]


def rows_by(frame: pd.DataFrame, *columns: str) -> dict[tuple, pd.Series]:
    """{values of these columns: the row}."""
    return {tuple(row[list(columns)]): row for _, row in frame.iterrows()}


def summaries(rows: pd.DataFrame, *by: str) -> dict:
    """{value of `by`, a tuple of several: mean and interval over seeds}.

    ValueError for rows that `by` does not tell apart: a mistake of the query.
    """
    twice = rows.duplicated([*by, "seed"])
    if twice.any():
        raise ValueError(f"{', '.join(by)} and seed do not tell these rows apart:\n{rows[twice].head()}")
    return {key: _summary(group) for key, group in rows.groupby(by[0] if len(by) == 1 else list(by), sort=False)}


def _summary(rows: pd.DataFrame) -> Summary:
    first = rows.iloc[0]
    is_mean = len(rows) == 1 and math.isfinite(first["ci95"])
    return Summary(1, first["value"], first["std"], first["ci95"]) if is_mean else summarise(rows["value"])


def difference(rows: pd.DataFrame, others: pd.DataFrame) -> Summary | None:
    """Of one metric of two cells, paired by the seeds that both have."""
    first, second = (frame.set_index("seed", verify_integrity=True)["value"] for frame in (rows, others))
    apart = (first - second).dropna()
    return summarise(apart) if len(apart) else None


def digest_of(rows: pd.DataFrame) -> str:
    """Of an experiment's numbers, whatever else the long table holds."""
    return digest(rows[[*results.COLUMNS]].to_csv(index=False))
