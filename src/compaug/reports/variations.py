"""Tables of one method under variations of it.

Each variation has its metrics on unseen combinations, and its Acc over others, paired by seed.
"""

from collections.abc import Callable, Mapping

import pandas as pd

from compaug.evaluation.longtable import difference, pick
from compaug.reports import METRICS
from compaug.reports.entries import Table, entry, gained
from compaug.reports.queries import UNSEEN, Results

Over = Mapping[str, Callable[[str], str | None]]  # column -> of a variation's name the name of what it is compared with


def named(rows: pd.DataFrame, column: str, default: str, is_variation: Callable[[str], bool]) -> pd.DataFrame:
    """Rows whose `column` is the default or a variation of it, under the name of the variation.

    "" is the default.
    """
    kept = rows[column].map(lambda word: word == default or (word.startswith(f"{default}+") and is_variation(word)))
    rows = pick(rows[kept], selection="top_k")
    return rows.assign(name=rows[column].str.removeprefix(default).str.removeprefix("+"))


def plain(default: str) -> Callable[[str], str | None]:
    """All are compared with the default."""
    return lambda name: None if name == default else default


def compared(
    results: Results,
    title: str,
    what: str,
    rows: pd.DataFrame,
    default: str,
    over: Over,
    more: Mapping[str, str] | None = None,
    order: Callable[[str], tuple] = lambda name: (name,),
    words: Callable[[str], str] = str,
    tested: Mapping[str, pd.Series] | None = None,
) -> list[Table]:
    """A row for every name, the default first, then in their `order`.

    It has the name's metrics, `more` of them by column, and its Acc over what `over` says.

    tested: by name the row of gains.csv over the default. With one seed its interval over test rows is shown, since
    there is none over seeds.
    """
    rows = rows.assign(name=rows["name"].replace("", default))
    if rows.empty:
        return []
    acc = pick(rows, metric="acc", decoding="threshold")
    columns = UNSEEN | {shown: ("unseen", metric) for shown, metric in (more or {}).items()}
    metrics = [*METRICS, *(more or {}).values()]
    cells = results.entries(pick(rows, metric=metrics), ["name"], columns)
    lines = []
    for (name,), entries in sorted(cells.items(), key=lambda item: (item[0][0] != default, *order(item[0][0]))):
        gains = []
        for twin in over.values():
            other = twin(name)
            row = (tested or {}).get(name) if other == default else None
            if row is not None and row["seeds"] == 1:
                gains.append(gained(row))
                continue
            pair = [pick(acc, name=variation) for variation in (name, other)] if other else []
            gains.append(entry(difference(*pair) if pair and len(pair[1]) else None, sign=True))
        lines.append([words(name), *entries, *gains])
    return [Table(title, results.setting(rows), [what, *columns, *over], lines)]
