"""Exports of annotation tools: each row by its shape as one with a text, and a column for each question.

doccano, spaCy and Label Studio's JSON-MIN and CSV need nothing of this: their cells are forms of labels like others.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from compaug.data.readers.label_forms import UNANNOTATED
from compaug.data.readers.words import WORDS

BOOKKEEPING = frozenset(WORDS["bookkeeping"])


def tool_of(rows: Sequence[Mapping[str, Any]]) -> str | None:
    """The tool whose shape all of these rows have."""
    return next((name for name, (fits, _) in TOOLS.items() if rows and all(map(fits, rows))), None)


def flattened(tool: str, row: Mapping[str, Any], whole: bool = True) -> dict[str, Any]:
    """A row of the tool's export as one with a text and a column for each question.

    `whole`: of a taxonomy whole paths are names, else their ends.
    """
    return TOOLS[tool][1](row) if whole else _label_studio(row, whole)


def share_ends(rows: Iterable[Mapping[str, Any]]) -> bool:
    """Whether whole paths of a taxonomy differ of which the ends are the same."""
    lists = (names for row in rows for question in row.get(QUESTIONS, ()) for names in row[question])
    paths = {name for names in lists for name in names if isinstance(name, str)}
    return len({path.rpartition(BELOW)[2] for path in paths}) < len(paths)


def questions(tool: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns of flattened rows that hold labels."""
    if tool in ("Label Studio", "argilla"):
        return list(dict.fromkeys(c for row in rows for c in row if c in row.get(QUESTIONS, ())))
    return ["labels"]


QUESTIONS = "\0questions"  # key of the names of a row's label columns
BELOW = " > "  # between the names of a path
NOBODY = "\0nobody"  # key of whether nobody has annotated a row
TASK_LISTS = ("annotations", "completions")


def _is_label_studio(row: Mapping[str, Any]) -> bool:
    return isinstance(row.get("data"), Mapping) and any(isinstance(row.get(key), list) for key in TASK_LISTS)


def _label_studio(row: Mapping[str, Any], whole: bool = True) -> dict[str, Any]:
    """`data` as it is, and for each control a list of names from every annotator."""
    annotations = next((row[key] for key in TASK_LISTS if isinstance(row.get(key), list)), [])
    kept = [a for a in annotations if isinstance(a, Mapping) and not a.get("was_cancelled") and not a.get("skipped")]
    answers: dict[str, list[list[Any]]] = {}
    for at, annotation in enumerate(kept):
        for result in annotation.get("result") or ():
            value = result.get("value") if isinstance(result, Mapping) else None
            kind = result.get("type") if isinstance(result, Mapping) else None
            if not isinstance(value, Mapping):
                continue
            paths = [path if whole else path[-1:] for path in value.get("taxonomy") or () if path]
            chosen = value.get("choices") or [BELOW.join(path) for path in paths]
            if chosen or kind in ("choices", "taxonomy"):
                name = str(result.get("from_name", "labels"))
                answers.setdefault(name, [[] for _ in kept])[at] += chosen
            elif kind == "labels":
                spans = [value.get("start", 0), value.get("end", 0), str((value.get("labels") or [""])[0])]
                answers.setdefault(str(result.get("from_name", "labels")), []).append(spans)
    flat = {key: value for key, value in row["data"].items() if key not in answers}
    return flat | {"id": row.get("id")} | answers | {QUESTIONS: tuple(answers), NOBODY: not kept}


def _is_prodigy(row: Mapping[str, Any]) -> bool:
    return row.get("answer") in ("accept", "reject", "ignore") and ("accept" in row or "label" in row)


def _prodigy(row: Mapping[str, Any]) -> dict[str, Any]:
    """What was accepted; a rejected single label says that it does not fit, a rejected choice says nothing."""
    if row["answer"] == "ignore" or (row["answer"] == "reject" and "accept" in row):
        labels: Any = UNANNOTATED
    elif "accept" in row:
        labels = [str(name) for name in row["accept"] or ()]
    else:
        labels = [str(row["label"])] if row["answer"] == "accept" else []
    return {key: value for key, value in row.items() if isinstance(value, str) and key != "label"} | {"labels": labels}


def _is_argilla(row: Mapping[str, Any]) -> bool:
    records = isinstance(row.get("fields"), Mapping) and isinstance(row.get("responses"), Mapping)
    suggested = any(f"{key}-suggestion" in row and isinstance(value, list) for key, value in row.items())
    return (
        records or suggested or any(k.endswith(".responses") for k in row) or {"annotation", "prediction"} <= row.keys()
    )


def _with_responses(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A record of argilla's to_json, or a row of its feedback data sets, with the columns of its to_datasets."""
    if isinstance(row.get("fields"), Mapping):
        answers, others = row["responses"], {"id": str(row.get("id")), **row["fields"]}
    else:
        answers = {key: value for key, value in row.items() if f"{key}-suggestion" in row}
        others = {key: value for key, value in row.items() if key not in answers and "-suggestion" not in key}
    columns = dict(others)
    for question, responses in answers.items():
        columns[f"{question}.responses"] = [answer["value"] for answer in responses or ()]
        columns[f"{question}.responses.status"] = [answer.get("status") for answer in responses or ()]
    return columns


def _argilla(row: Mapping[str, Any]) -> dict[str, Any]:
    """The responses of each question; of the old format its annotation, never its prediction."""
    if "annotation" in row and "prediction" in row:
        inputs = row.get("inputs")
        flat = {key: value for key, value in row.items() if isinstance(value, str)}
        flat |= inputs if isinstance(inputs, Mapping) else {}
        chosen = row["annotation"]
        return flat | {"annotation": UNANNOTATED if chosen is None else chosen, QUESTIONS: ("annotation",)}
    row = _with_responses(row)
    flat = {key: value for key, value in row.items() if isinstance(value, str)}
    for key in [key for key in row if key.endswith(".responses")]:
        states = row.get(f"{key}.status") or [None] * len(row[key] or ())
        abandoned = ("discarded", "draft")
        kept = [answer for answer, state in zip(row[key] or (), states, strict=False) if state not in abandoned]
        answers = [answer if isinstance(answer, list) else [answer] for answer in kept if answer is not None]
        flat[key.removesuffix(".responses")] = answers or UNANNOTATED
    names = tuple(key.removesuffix(".responses") for key in row if key.endswith(".responses"))
    return flat | {QUESTIONS: names, NOBODY: not names}


TOOLS: dict[str, tuple[Callable[[Mapping], bool], Callable[[Mapping], dict[str, Any]]]] = {
    "Label Studio": (_is_label_studio, _label_studio),
    "Prodigy": (_is_prodigy, _prodigy),
    "argilla": (_is_argilla, _argilla),
}
