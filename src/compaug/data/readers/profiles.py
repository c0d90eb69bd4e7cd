"""What all rows hold of a column, by which it is told for what it is."""

import re
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from compaug.data.readers.label_sets import Cell, key_of
from compaug.data.readers.truth import number_of, word_of

DISTINCT = 50_000  # values of a column that are told apart
WORDS_OF = 2_000  # rows in which words are counted
SHORT = 3  # words; texts have more
FOR_PROGRAMS = re.compile(
    r"""\w+://\S+|www\.\S+|[\[(]?[-+\d.,;:eE\s]+[\])]?|<(?=\w|!).*</\w+>|\{.*\}|\[[\[{'"].*\]""", re.DOTALL
)


@dataclass
class Column:
    """What all rows hold of a column."""

    name: str
    cells: dict[Hashable, Cell] = field(default_factory=dict)
    rows: int = 0
    filled: int = 0  # rows with a value
    characters: int = 0
    words: int = 0
    counted: int = 0  # rows whose words were counted
    more: bool = False  # values than are told apart

    def add(self, value: Any, line: int) -> None:
        self.rows += 1
        self.filled += is_filled(value)
        if isinstance(value, str):
            self.characters += len(value)
            if self.counted < WORDS_OF and value:
                self.counted += 1
                self.words += len(value.split())
        key = value if isinstance(value, str | int | float | None) else key_of(value)
        if (cell := self.cells.get(key)) is not None:
            cell.rows += 1
        elif len(self.cells) < DISTINCT:
            self.cells[key] = Cell(value, 1, line)
        else:
            self.more = True

    def lack(self, rows: int) -> None:
        """Of so many rows those without a key for it, as JSON may have, are blank, as an empty cell of CSV is."""
        if absent := rows - self.rows:
            cell = self.cells.setdefault(None, Cell(None, 0, 1))
            cell.rows, self.rows = cell.rows + absent, rows

    @property
    def mean_words(self) -> float:
        return self.words / max(self.counted, 1)

    @property
    def is_text(self) -> bool:
        """Whether its values are of several words, or many and long without blanks, as in Chinese or Thai."""
        if not self.characters:
            return False
        if self.mean_words >= SHORT:
            return True
        many = len(self.cells) > 0.5 * self.rows
        shown = [cell.value for cell in list(self.cells.values())[:50] if isinstance(cell.value, str)]
        beyond = sum(c.isalpha() and ord(c) > 0xE00 for value in shown for c in value)
        return many and beyond * 2 > sum(map(len, shown))

    @property
    def is_plain(self) -> bool:
        """Whether it holds one value in all of several rows, or numbers alone."""
        return self.rows > len(self.cells) == 1 or all(number_of(word) is not None for word in self.words_of() if word)

    @property
    def is_for_programs(self) -> bool:
        """Whether its values are links, numbers, lists, objects or markup."""
        shown = [cell.value for cell in list(self.cells.values())[:50] if cell.value not in (None, "")]
        written = sum(isinstance(value, str) and bool(FOR_PROGRAMS.fullmatch(value.strip())) for value in shown)
        return written > 0.5 * len(shown)

    def words_of(self) -> dict[str, int]:
        words: Counter[str] = Counter()
        for cell in self.cells.values():
            words[word_of(cell.value) if not isinstance(cell.value, list | dict) else "\0"] += cell.rows
        return words

    def described(self) -> str:
        example = next((str(cell.value) for cell in self.cells.values() if cell.value not in (None, "")), "")
        example = example if len(example) <= 40 else f"{example[:40]}…"
        return f"{self.name} ({len(self.cells):,}{'+' if self.more else ''} values, such as {example!r})"


def is_filled(value: Any) -> bool:
    return bool(value.strip()) if isinstance(value, str) else value not in (None, [], {})
