"""What is odd about a file: how often, where first, and the option that answers it."""

import csv
import io
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from compaug.core.records import EMPTY_KEY, text_key
from compaug.data.readers.words import WORDS

MISSING = frozenset(WORDS["missing"])
SHOWN = 3  # names in a line
SCORED = re.compile(r".*\S\s*[:=(]\s*(?:0?[.,]\d+|1[.,]0+|\d+\s*%)\s*\)?")  # delay:0.93, delay (93 %)
ANSWERED = re.compile(r"(.*\S)\s*[:=]\s*(0|1|no|yes|false|true)", re.IGNORECASE)  # delay=0 and delay=1
DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2212"), "-")  # which look alike
JOINERS = "\u200c\u200d"  # that some scripts write words with


@dataclass(frozen=True)
class Doubt:
    """`remedy`: the option that answers it. `fatal`: it would change labels, so that an answer is waited for."""

    what: str
    remedy: str = ""
    count: int = 0
    line: int = 0
    fatal: bool = False

    def __str__(self) -> str:
        count = f"{self.count:,} x " if self.count else ""
        place = f" (first in line {self.line})" if self.line else ""
        return f"{count}{self.what}{place}" + (f": {self.remedy}" if self.remedy else "")


def bare(name: str) -> str:
    """A name without what cannot be seen, in one way of composing accents, its white space collapsed."""
    name = unicodedata.normalize("NFC", name)
    return " ".join("".join(c for c in name if unicodedata.category(c) != "Cf" or c in JOINERS).split())


def alike(name: str) -> str:
    """Two names that are equal in this are hard to tell apart."""
    return bare(name).translate(DASHES).casefold()


def of_names(names: Mapping[str, tuple[int, int]], settled: frozenset[str]) -> Iterator[Doubt]:
    """Of label names, each with its count and first line; `settled`: those that a person has listed."""
    words = {name: place for name, place in names.items() if name.casefold() in MISSING and name not in settled}
    if words:
        remedy = f"--missing {listed(words)} if it means that no label fits, or list every label in --labels"
        yield _counted(f"the label name {_shown(words)}, which often says that there is no value", remedy, words)
    collisions = defaultdict(list)
    for name in names:
        collisions[alike(name)].append(name)
    if pairs := [sorted(spellings) for spellings in collisions.values() if len(spellings) > 1]:
        by_case = any(len({name.casefold() for name in spellings}) < len(spellings) for spellings in pairs)
        more = f", and {len(pairs) - 1} more such" if len(pairs) > 1 else ""
        right = [max(spellings, key=lambda name: names[name][0]) for spellings in collisions.values()]
        yield _counted(
            f"the label names {' and '.join(map(ascii_of, pairs[0][:2]))} collide{more}: they differ in "
            f"{'case' if by_case else 'what can hardly be seen'} alone",
            f"--labels {listed(map(bare, right))} reads all as these, or mend the file",
            {name: names[name] for spellings in pairs for name in spellings},
        )
    if reserved := {name: place for name, place in names.items() if name == EMPTY_KEY}:
        yield _counted(
            f"the label name {EMPTY_KEY!r}, which stands for no label in reports",
            f"--missing {EMPTY_KEY!r} if it means that, or rename it",
            reserved,
        )
    odd = {name: place for name, place in names.items() if name not in {*settled, *words} and _is_broken(name)}
    if odd:
        yield _counted(
            f"label names with brackets or quotes at their ends, such as {_shown(odd)}",
            "list every label in --labels if they are meant, or give --label-delimiter, --delimiter or --quoting",
            odd,
        )
    answers = Counter(match[1] for name in names if (match := ANSWERED.fullmatch(name)))
    scored = {
        name: place
        for name, place in names.items()
        if name not in settled
        and (SCORED.fullmatch(name) or ((match := ANSWERED.fullmatch(name)) and answers[match[1]] > 1))
    }
    if len(scored) * 2 > len(names):
        remedy = 'write {"delay": 1, "price": 0} or a column for each label, or list every label in --labels'
        yield _counted(f"label names with scores or answers, such as {_shown(scored)}", remedy, scored)
    hidden = {name: place for name, place in names.items() if bare(name) != " ".join(name.split())}
    hidden = {name: place for name, place in hidden.items() if len(collisions[alike(name)]) == 1}
    if hidden:
        yield _counted(f"label names with characters that cannot be seen, such as {_shown(hidden)}", "", hidden, False)
    long = {name: place for name, place in names.items() if len(name) > 60 or len(name.split()) > 8}
    if long:
        yield _counted(
            f"label names as long as a text, such as {min(long, key=len)[:60]!r}",
            "give --label-column if these are no labels",
            long,
            False,
        )


def of_texts(texts: Sequence[str], lines: Sequence[int], label_sets: Sequence[Sequence[str]]) -> Iterator[Doubt]:
    """Of texts that repeat, with the same labels or with others."""
    first: dict[str, int] = {}
    repeated = other = at_line = 0
    for at, text in enumerate(texts):
        before = first.setdefault(text_key(text), at)
        if before != at:
            repeated += 1
            at_line = at_line or lines[at]
            other += label_sets[before] != label_sets[at]
    if repeated:
        remedy = "--join-rows if each row has one label of its text" if other else ""
        yield Doubt(f"texts that repeat, {other:,} of them with other labels", remedy, repeated, at_line)
    broken = [line for text, line in zip(texts, lines, strict=True) if "\n" in text]
    if broken:
        yield Doubt("texts that hold line breaks", "", len(broken), broken[0])


def _is_broken(name: str) -> bool:
    """A quote at an end, or a bracket without its other half, as is left of a list that was cut at commas."""
    counts = Counter(name)
    unpaired = any(counts[left] != counts[right] for left, right in ("()", "[]", "{}"))
    return name[0] in "\"'`{[(" and (unpaired or name[0] in "\"'`{[") or name[-1] in '"`' or unpaired


def _counted(what: str, remedy: str, names: Mapping[str, tuple[int, int]], fatal: bool = True) -> Doubt:
    return Doubt(what, remedy, sum(n for n, _ in names.values()), min(line for _, line in names.values()), fatal)


def _shown(names: Iterable[str]) -> str:
    sorted_names = sorted(names)
    more = "" if len(sorted_names) <= SHOWN else " and others"
    return ", ".join(map(ascii_of, sorted_names[:SHOWN])) + more


def listed(names: Iterable[str]) -> str:
    """As an option takes them, in the quotes of a shell."""
    return "'" + row_of(names).replace("'", "'\\''") + "'"


def row_of(names: Iterable[str]) -> str:
    """Between commas, and a name with a comma in double quotes."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="").writerow(names)
    return stream.getvalue()


def ascii_of(name: str) -> str:
    """In quotes, what cannot be seen as its code."""
    return repr(name) if name.isprintable() else ascii(name)


def refusal(doubts: Iterable[Doubt]) -> str:
    """Those that wait for an answer, in one line."""
    return "; ".join(re.sub(r"\s+", " ", str(doubt)) for doubt in doubts if doubt.fatal)
