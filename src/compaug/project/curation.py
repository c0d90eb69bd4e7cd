"""Synthetic texts in the import shapes of annotation tools: a person looks at them before they are learned.

The requested labels are suggestions, the filter's Jaccard index is their score.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

from compaug.core.files import write_json, write_text
from compaug.core.pages import render
from compaug.core.records import Example, Labels

QUESTION = "labels"  # what the tools call it, and so what their exports do


def write(examples: Sequence[Example], labels: Labels, tool: str, folder: Path) -> None:
    """Files of the tool and a README.md in an empty folder."""
    rows = [(e, [labels.names[label] for label in e.requested_labels or e.labels]) for e in examples]
    TOOLS[tool](rows, labels, folder)
    write_text(folder / "README.md", render("curation_card.md", format=tool, rows=len(rows), names=labels.names))


Rows = Sequence[tuple[Example, list[str]]]  # with the names that are suggested


def _argilla(rows: Rows, labels: Labels, folder: Path) -> None:
    """records.json of argilla 2 (`Dataset.records.from_json`); a score for each of the names."""
    write_json(folder / "records.json", [_record(example, names) for example, names in rows])


def _record(example: Example, names: list[str]) -> Mapping:
    score = None if example.filter_jacc is None else [example.filter_jacc] * len(names)
    suggestion = {QUESTION: {"value": names, "score": score, "agent": example.source}}
    fields = {"text": example.text}
    return {
        "id": example.id,
        "fields": fields,
        "suggestions": suggestion,
        "responses": {},
        "metadata": {},
        "vectors": {},
    }


def _label_studio(rows: Rows, labels: Labels, folder: Path) -> None:
    """tasks.json with predictions, and the labelling interface that they fit."""
    choices = "".join(f"    <Choice value={quoteattr(name)}/>\n" for name in labels.names)
    control = f'  <Choices name="{QUESTION}" toName="text" choice="multiple">\n{choices}  </Choices>\n'
    write_text(folder / "config.xml", f'<View>\n  <Text name="text" value="$text"/>\n{control}</View>\n')
    write_json(folder / "tasks.json", [_task(example, names) for example, names in rows])


def _task(example: Example, names: list[str]) -> Mapping:
    result = {"from_name": QUESTION, "to_name": "text", "type": "choices", "value": {"choices": names}}
    score = {} if example.filter_jacc is None else {"score": example.filter_jacc}
    prediction = {"model_version": example.source, "result": [result], **score}
    return {"data": {"text": example.text, "text_id": example.id}, "predictions": [prediction]}


TOOLS: dict[str, Callable[[Rows, Labels, Path], None]] = {"argilla": _argilla, "label_studio": _label_studio}
