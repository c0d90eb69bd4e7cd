"""The numbers the LD-VAE paper prints, for a cell of ours (reports/paper_values.yaml)."""

from pathlib import Path

from compaug.core.files import InputError, read_yaml

IID = "iid"  # stands for a generator in file names and tables: no augmentation, iid split
ARMS = {"No Aug.": "without_aug", "LD-VAE": "with_aug"}  # row of Table 2: column of Table 3


def read_paper_values(path: Path | str) -> dict:
    if not Path(path).exists():
        raise InputError(f"{path}: no such file; it belongs to the repository (`git checkout -- {path}`)")
    return read_yaml(path)


def printed(paper: dict, column: str | None, generator: str, classifier: str) -> dict[str, float | None]:
    """{metric: printed percentage} for one cell; empty where the paper has no such cell.

    `column` is the benchmark's column in the paper's tables (SemEval, AAPD, IMDB) or None; `generator` may be
    `iid`. Table 2 has BERT, table 3 the other classifiers on one corpus, table 1 the iid split.
    """
    if column is None:
        return {}
    row, model = paper["row_of_generator"].get(generator), paper["row_of_classifier"].get(classifier)
    if model is None:
        return {}
    tables = {name: table["rows"] for name, table in paper["tables"].items()}
    if column not in tables["table_6"]:
        columns = ", ".join(tables["table_6"])
        raise InputError(f"paper_column: {column!r} is no column of the paper's; use {columns}, or null for none")
    if generator == IID:
        return {"acc": tables["table_1"][model][column]["iid"]}
    if model == "BERT":
        return tables["table_2"].get(row, {}).get(column, {})
    if column == paper["tables"]["table_3"]["dataset"] and row in ARMS:
        return tables["table_3"][model][ARMS[row]]
    return {"acc": tables["table_1"][model][column]["cg"]} if row == "No Aug." else {}
