"""What was read of a file, in the lines that a person sees: on success and before a refusal alike."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from compaug.data.readers.doubts import Doubt

EXAMPLES, COMMONEST = 3, 10
LONGEST = 80  # characters of a text that are shown


@dataclass
class Account:
    """`examples`: (line, text, what is shown of the labels) of the first rows; `times`: label names with their rows."""

    source: str
    file: str  # kind, encoding, delimiter, quoting, header
    text_column: str
    labels: str  # columns and form
    examples: list[tuple[int, str, Sequence[str]]] = field(default_factory=list)
    times: Counter[str] = field(default_factory=Counter)
    doubts: list[Doubt] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        yield f"{self.source}: {self.file}"
        yield f"texts: {self.text_column}; labels: {self.labels}"
        for line, text, names in self.examples:
            shown = " ".join(text.split())
            shown = shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…"
            yield f"  line {line}: {shown!r} -> {', '.join(names) or 'no label'}"
        if self.times:
            listed = ", ".join(f"{quoted(name)} {n:,}" for name, n in self.times.most_common(COMMONEST))
            yield f"commonest of {len(self.times)} labels: {listed}"
        for doubt in self.doubts:
            yield f"note: {doubt}"


def quoted(name: str) -> str:
    """In quotes where it holds a comma, as options take it."""
    return f'"{name}"' if "," in name else name
