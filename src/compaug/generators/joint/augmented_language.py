"""Augmented language: a text together with its labels as one string that a language model can write.

Paper "Joint Text and Label Generation for Spoken Language Understanding", §2.2.

    (( play music )) listen to [ westbam | artist ] on [ google music | service ]
    (( joy ; love )) what a day

A marker names what the text is about, brackets name spans of words. Marks are words of their own; a word of the text
that looks like one is written in full-width form. Writing loses nothing: `read(write(s)) == s` for every sentence.
Reading is strict: a string that is not of this form is refused with one of `REASONS`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from compaug.core.files import InputError

OPEN, CLOSE, NEXT = "((", "))", ";"  # the marker
BEGIN, END, BAR = "[", "]", "|"  # a span
NOTHING = "none"  # the marker of no name
MARKS = (OPEN, CLOSE, NEXT, BEGIN, END, BAR)
FULL_WIDTH = str.maketrans({mark: chr(ord(mark) + 0xFEE0) for mark in "();[]|"})
WIDE = tuple(mark.translate(FULL_WIDTH) for mark in MARKS)
ESCAPE = "＼"  # before a word that is in full-width form by itself

REASONS = (
    "no marker",  # or not at the beginning
    "unknown name",  # in the marker
    "repeated name",
    "not one name",  # where a text has exactly one intent
    "unbalanced brackets",
    "nested brackets",
    "no bar",  # or several in one span
    "empty span",
    "unknown slot",
    "no words",
)
OTHER = "other labels"  # a fate beside these: it can be read, and says other labels than were asked for


class Unreadable(ValueError):
    """The string is no augmented language; the message is one of REASONS."""


@dataclass(frozen=True)
class Follows:
    """What may stand behind the beginning of a sentence.

    The beginning of one of `phrases`, or, where there are none, words, and `mark` as a word of its own; `end`: nothing,
    for it is a whole sentence.
    """

    phrases: tuple[str, ...] = ()
    mark: str = ""
    end: bool = False


@dataclass(frozen=True)
class Sentence:
    """Words, what they are about, and spans of them: (first word, behind the last, slot), in order and apart."""

    names: tuple[str, ...]  # an intent, or labels in the order of the inventory
    words: tuple[str, ...]
    spans: tuple[tuple[int, int, str], ...] = ()


# ---------------------------------------------------------------- tags


def spans_of(tags: Sequence[str]) -> tuple[tuple[int, int, str], ...]:
    """Spans of BIO tags. InputError for an I- that continues nothing: it could not be given back."""
    spans: list[tuple[int, int, str]] = []
    for at, tag in enumerate(tags):
        kind, _, slot = tag.partition("-")
        goes_on = bool(spans) and spans[-1][1] == at and spans[-1][2] == slot
        if kind == "B" and slot:
            spans.append((at, at + 1, slot))
        elif kind == "I" and goes_on:
            spans[-1] = (spans[-1][0], at + 1, slot)
        elif tag != "O":
            raise InputError(f"tag {at + 1}, {tag!r}: is no O, no B-slot and continues no span; mend the tags")
    return tuple(spans)


def bio_tags(n: int, spans: Iterable[tuple[int, int, str]]) -> list[str]:
    """Of n words, of which these spans (first, behind the last, slot) have one; inverse of `spans_of`."""
    tags = ["O"] * n
    for first, behind, slot in spans:
        tags[first:behind] = [f"B-{slot}", *[f"I-{slot}"] * (behind - first - 1)]
    return tags


# ---------------------------------------------------------------- words for names


def in_words(name: str) -> str:
    """`AddToPlaylist` -> add to playlist, `object_name` -> object name."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return " ".join(re.sub(r"[\W_]+", " ", apart).lower().split())


class Language:
    """Names and slots, each with its phrase; `single`: a sentence has exactly one name, its intent.

    InputError where two share a phrase, or one has none.
    """

    def __init__(self, names: Iterable[tuple[str, str]], slots: Iterable[tuple[str, str]] = (), single: bool = False):
        self.single = single
        self.phrase_of, self.name_of = _both_ways("name", names)
        self.slot_phrase_of, self.slot_of = _both_ways("slot", slots)
        self.rank = {name: at for at, name in enumerate(self.phrase_of)}
        if _key(NOTHING) in self.name_of and not single:
            raise InputError(
                f"the name {self.name_of[_key(NOTHING)]!r}: its phrase stands for no name; set another one"
            )

    def marker(self, names: Iterable[str]) -> str:
        """What stands before a text with these names."""
        phrases = [_spelled(self.phrase_of[name]) for name in sorted(names, key=self.rank.get)]
        return f"{OPEN} {f' {NEXT} '.join(phrases) or NOTHING} {CLOSE}"

    def write(self, sentence: Sentence) -> str:
        """The sentence as a string."""
        words = [*map(_escaped, sentence.words)]
        for first, behind, slot in sentence.spans:
            words[first] = f"{BEGIN} {words[first]}"
            words[behind - 1] = f"{words[behind - 1]} {BAR} {_spelled(self.slot_phrase_of[slot])} {END}"
        return " ".join([self.marker(sentence.names), *words])

    def read(self, text: str) -> Sentence:
        """The sentence that a string says; Unreadable with the reason where it says none."""
        tokens = text.split()
        if not tokens or tokens[0] != OPEN or CLOSE not in tokens:
            raise Unreadable("no marker")
        close = tokens.index(CLOSE)
        names = self._names(tokens[1:close])
        words: list[str] = []
        spans: list[tuple[int, int, str]] = []
        first, slot = None, None  # of the open span: its first word; the words of its slot, from the bar on
        for token in tokens[close + 1 :]:
            if token == BEGIN:
                if first is not None:
                    raise Unreadable("nested brackets")
                first = len(words)
            elif token == BAR:
                if first is None or slot is not None:
                    raise Unreadable("unbalanced brackets" if first is None else "no bar")
                slot = []
            elif token == END:
                spans.append(self._span(first, len(words), slot))
                first, slot = None, None
            elif token in (OPEN, CLOSE):
                raise Unreadable("unbalanced brackets")
            else:
                (words if slot is None else slot).append(_plain(token))
        if first is not None:
            raise Unreadable("unbalanced brackets")
        if not words:
            raise Unreadable("no words")
        return Sentence(names, tuple(words), tuple(spans))

    def follows(self, text: str) -> Follows:
        """What may stand behind the beginning of a sentence, whose last word may be unfinished.

        A string that is written by these rules alone can be read.
        """
        _, closed, rest = text.partition(f" {CLOSE}")
        if not closed:
            return Follows(tuple(whole[len(text) :] for whole in self._markers(text) if whole.startswith(text)))
        span, slot, words = False, False, 0  # within a span, behind its bar; words of the span, or outside
        for token in rest.split():
            if token in (BEGIN, END):
                span, slot, words = token == BEGIN, False, 0 if token == BEGIN else 1
            elif token == BAR:
                slot = True
            else:
                words += 1
        if slot:
            typed = rest[rest.rindex(f" {BAR}") + len(BAR) + 1 :]
            ends = (f" {_spelled(phrase)} {END}" for phrase in self.slot_phrase_of.values())
            return Follows(tuple(end[len(typed) :] for end in ends if end.startswith(typed)))
        if span:
            return Follows(mark=BAR if words else "")
        return Follows(mark=BEGIN if self.slot_of else "", end=words > 0)

    def alphabet(self) -> str:
        """The letters of its phrases as they are written."""
        return "".join(map(_spelled, (*self.phrase_of.values(), *self.slot_phrase_of.values())))

    def _markers(self, text: str) -> Iterator[str]:
        """The markers that begin as `text`, as far as their next phrase."""
        head, _, _ = text.rpartition(f" {NEXT} ")
        before = [part.strip() for part in head.removeprefix(OPEN).split(f" {NEXT} ")] if head else []
        for phrase in map(_spelled, self.phrase_of.values()):
            if phrase not in before:
                whole = f"{OPEN} {f' {NEXT} '.join([*before, phrase])}"
                yield f"{whole} {CLOSE}"
                if not self.single and len(before) + 1 < len(self.phrase_of):
                    yield f"{whole} {NEXT} "
        if not self.single:
            yield f"{OPEN} {NOTHING} {CLOSE}"

    def _names(self, tokens: Sequence[str]) -> tuple[str, ...]:
        phrases: list[list[str]] = [[]]
        for token in tokens:
            phrases.append([]) if token == NEXT else phrases[-1].append(_plain(token))
        keys = [_key(" ".join(phrase)) for phrase in phrases]
        if keys == [_key(NOTHING)] and not self.single:
            return ()
        if unknown := [key for key in keys if key not in self.name_of]:
            raise Unreadable("unknown name" if any(unknown) else "no marker")
        if len(set(keys)) < len(keys):
            raise Unreadable("repeated name")
        if self.single and len(keys) > 1:
            raise Unreadable("not one name")
        return tuple(sorted((self.name_of[key] for key in keys), key=self.rank.get))

    def _span(self, first: int | None, behind: int, slot: Sequence[str] | None) -> tuple[int, int, str]:
        if first is None:
            raise Unreadable("unbalanced brackets")
        if slot is None:
            raise Unreadable("no bar")
        if first == behind:
            raise Unreadable("empty span")
        if (key := _key(" ".join(slot))) not in self.slot_of:
            raise Unreadable("unknown slot")
        return first, behind, self.slot_of[key]


def _both_ways(what: str, pairs: Iterable[tuple[str, str]]) -> tuple[dict[str, str], dict[str, str]]:
    phrase_of, name_of = {}, {}
    for name, phrase in pairs:
        if not (key := _key(phrase)):
            raise InputError(f"the {what} {name!r} has no words; give it a phrase")
        if key in name_of:
            raise InputError(f"the {what}s {name_of[key]!r} and {name!r} are the same in words, {phrase!r}; rename one")
        phrase_of[name], name_of[key] = " ".join(phrase.split()), name
    return phrase_of, name_of


def _spelled(phrase: str) -> str:
    return " ".join(map(_escaped, phrase.split()))


def _key(phrase: str) -> str:
    return " ".join(phrase.split()).casefold()


def _escaped(word: str) -> str:
    if word in MARKS:
        return word.translate(FULL_WIDTH)
    return ESCAPE + word if word.lstrip(ESCAPE) in WIDE else word


def _plain(token: str) -> str:
    if token in WIDE:
        return MARKS[WIDE.index(token)]
    return token[1:] if token[0] == ESCAPE and token.lstrip(ESCAPE) in WIDE else token
