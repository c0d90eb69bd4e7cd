"""Table 6: the compositional splits in numbers."""

from compaug.core.markdown import NOT_REPORTED
from compaug.reports.entries import Entry, Table
from compaug.reports.queries import Results

EXPERIMENT = "paper"


def tables(results: Results) -> list[Table]:
    printed = results.paper["tables"]["table_6"]["rows"]
    columns = {name: results.column(name) for name in results.counts}
    others = [corpus for corpus in printed if corpus not in columns.values()]
    lines = []
    for key in next(iter(printed.values())):
        line: list[str | Entry] = [key.replace("_", " ")]
        for name, column in columns.items():
            value, theirs = results.counts[name].get(key), printed.get(column, {}).get(key)
            if isinstance(value, float) and theirs is not None:
                value = round(value, 1)  # as the paper prints it
            line.append(Entry(value, paper=theirs, words="" if value is not None else NOT_REPORTED))
        lines.append([*line, *(Entry(words=NOT_REPORTED, paper=printed[corpus][key]) for corpus in others)])
    ours = [f"{name} ({column})" if column else name for name, column in columns.items()]
    return [Table("", "", ["", *ours, *others], lines)] if ours else []
