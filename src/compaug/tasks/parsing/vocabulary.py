"""Words as numbers: those of the training set's sentences and logical forms together (cartography spec, section 4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compaug.tasks.parsing.corpora import Pair

PAD, BEGIN, END, UNKNOWN = range(4)
FIRST = 4  # the number of the first word
SHOWN = "<unknown>"


class Vocabulary:
    """`words` in the order of their numbers, from FIRST.

    A word of a corpus can therefore never be taken for one of the four marks.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.words = list(words)
        self.numbers = {word: number for number, word in enumerate(self.words, start=FIRST)}

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> Vocabulary:
        """Of all words that stand there, sorted."""
        return cls(sorted({word for pair in pairs for _, word in pair.words}))

    def __len__(self) -> int:
        return FIRST + len(self.words)

    def encode(self, text: str) -> list[int]:
        return [self.numbers.get(word, UNKNOWN) for word in text.split()]

    def decode(self, numbers: Sequence[int]) -> str:
        """A text, whose marks are no words of a corpus."""
        return " ".join(self.words[number - FIRST] if number >= FIRST else SHOWN for number in numbers)
