"""Table 6: the compositional splits in numbers."""

from __future__ import annotations

from compaug.reports.cells import Cell, Table
from compaug.reports.longtable import Results

TITLE = "Table 6: the splits"
EXPERIMENT = "paper"
INTRO = "Counts of our splits; SemEval's are the authors' own files."


def tables(results: Results) -> list[Table]:
    printed = results.paper["tables"]["table_6"]["rows"]
    ours = {f"{name} ({column})" if (column := results.column(name)) else name: name for name in results.counts}
    corpora = [corpus for corpus in printed if corpus not in map(results.column, results.counts)]
    lines = []
    for key in next(iter(printed.values())):
        line: list[str | Cell] = [key.replace("_", " ")]
        for name in ours.values():
            theirs = printed.get(results.column(name), {}).get(key)
            value = results.counts[name].get(key)
            value = (
                round(value, 1) if isinstance(value, float) and theirs is not None else value
            )  # as the paper prints it
            line.append(Cell(value, paper=theirs, words="" if value is not None else "–"))
        lines.append([*line, *(Cell(words="–", paper=printed[corpus][key]) for corpus in corpora)])
    return [Table("", "", ["", *ours, *corpora], lines)] if ours else []
