"""An audit as an object: a file in, a verdict with its numbers and texts out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from compaug.core.files import InputError, read_json
from compaug.core.records import Labels, read_jsonl

SUMMARY, METRICS = "reports/summary.md", "reports/metrics.json"
TEXTS, LABELS = "data/selected/run/augmented.jsonl", "data/splits/run/labels.json"


class Audit:
    """Of one labelled file, in a project folder of its own: `compaug audit` from Python.

    Args:
        file: a table with texts and labels.
        scale: of configs/scales.yaml: tiny, pretrained; None: what suits the file.
        folder: of the project; None: audit-NAME, after the file.
        options: of the reader, such as text_column.
    """

    def __init__(
        self, file: Path | str, scale: str | None = None, folder: Path | str | None = None, **options: Any
    ) -> None:
        self.file, self.scale, self.options = Path(file), scale, options
        self.folder = None if folder is None else Path(folder)

    def run(self) -> Audit:
        """Build what is missing, and return itself; an interrupted run resumes. InputError where a stage fails."""
        from compaug.project import auditing

        self.folder = self.folder or auditing.folder_of(self.file)
        for line in auditing.prepare(self.file, self.folder, "", self.scale or "", self.options):
            print(line)
        if auditing.run(self.folder):
            raise InputError(f"{self.folder}: the audit has not finished; call run() again to resume it")
        return self

    @property
    def verdict(self) -> str:
        """What the page says first: the gap in its parts, and the remedy."""
        _, paragraph, *_ = self._path(SUMMARY).read_text(encoding="utf-8").split("\n\n")
        return paragraph.replace("**", "").replace("`", "").strip()

    @property
    def metrics(self) -> Mapping[str, Mapping[str, float]]:
        """The headline measures of each arm, in percent."""
        return read_json(self._path(METRICS))

    @property
    def texts(self) -> list[tuple[str, list[str]]]:
        """The synthetic texts that were kept, with the names of their labels."""
        names = Labels.read(self._path(LABELS)).names
        return [(e.text, [names[label] for label in e.labels]) for e in read_jsonl(self._path(TEXTS), len(names))]

    def _path(self, name: str) -> Path:
        if self.folder is None or not (path := self.folder / name).is_file():
            raise InputError(f"{self.file}: its audit has no {name} yet; call run()")
        return path
