"""Labels as mappings, as objects, as spans, and as a list of names for each annotator."""

from collections import Counter
from collections.abc import Container, Hashable, Mapping, Sequence

from compaug.data.readers.doubts import Doubt
from compaug.data.readers.label_numbers import numbers, uncut
from compaug.data.readers.label_sets import (
    Answers,
    LabelSets,
    Values,
    cleaned,
    first_line,
    undecided,
    with_inventory,
)
from compaug.data.readers.truth import judgement, number_of, values_of, word_of
from compaug.data.readers.words import WORDS
from compaug.data.rows import BadRow

NAME_FIELDS = ("name", "label", "title", "tag", "text", "value", "class", "category", "topic", "id")
SCORES = ("score", "confidence", "probability", "prob")


def spans(column: str, values: Values, answers: Answers) -> LabelSets:
    what = f"{column!r} holds spans (start, end, name), which label parts of a text, not texts"
    doubt = Doubt(what, "export labels of whole texts, or give --label-column", len(values), first_line(values), True)
    return LabelSets("spans of a text", {key: [] for key in values}, [doubt])


def marks(column: str, values: Values, answers: Answers) -> LabelSets:
    """Mappings from each name to 0 or 1, or to a number with a cut."""
    names = list(dict.fromkeys(str(name) for value, _ in values.values() for name in value))
    words = {word_of(v) for value, _ in values.values() for v in value.values()}
    meaning = values_of("", words, blank_is_no=True)
    if meaning is None or answers.cut is not None:
        if answers.cut is None:
            votes = [[number_of(v) for v in value.values()] for value, _ in values.values()]
            what = uncut(votes, "values of a mapping")
            return undecided("mappings from names to numbers", values, *what, first_line(values))
        cut = answers.cut
        sets = {
            key: [str(name) for name, v in value.items() if (number := number_of(v)) is not None and number > cut]
            for key, (value, _) in values.items()
        }
        form = f"mappings from names to numbers, positive above {cut:g}"
    else:
        sets = {
            key: [str(name) for name, v in value.items() if meaning[word_of(v)]] for key, (value, _) in values.items()
        }
        form = "mappings from names to 0 and 1"
    return with_inventory(LabelSets(form, dict(sets), []), values, answers, tuple(names))


def objects(column: str, values: Values, answers: Answers) -> LabelSets:
    """Objects that hold a name each, by itself or with a number of its class or a score."""
    lists = {key: value if isinstance(value, list) else [value] for key, (value, _) in values.items()}
    objects = [item for items in lists.values() for item in items if isinstance(item, Mapping)]
    line = first_line(values)
    fields = [name for name in objects[0] if all(isinstance(item.get(name), str) for item in objects)]
    fields = [name for name in fields if not _is_verdict(objects, name)]
    present = answers.field or next((name for name in NAME_FIELDS if name in fields), None)
    score = next((name for name in SCORES if all(number_of(item.get(name)) is not None for item in objects)), None)
    if present is None:
        number = next((n for n in ("label", "id") if all(type(item.get(n)) is int for item in objects)), None)
        if number is not None:
            rows = {key: ([item[number] for item in items], values[key][1]) for key, items in lists.items()}
            return numbers(column, rows, answers)
    if answers.field and all(isinstance(item.get(present), list) for item in objects):
        sets = {key: [str(name) for item in items for name in item[present]] for key, items in lists.items()}
        sets = {key: cleaned(names, answers) for key, names in sets.items()}
        return with_inventory(LabelSets(f"objects, each with a list of names in {present!r}", sets), values, answers)
    if present is None or not all(isinstance(item.get(present), str | int) for item in objects):
        there = ", ".join(dict.fromkeys(str(name) for item in objects for name in item))
        what = f"objects of which no field holds a name; their fields are {there}"
        return undecided("objects", values, what, "give --label-field", line)
    form = f"objects, each with its {present!r}"
    switches = _switches(objects, {present, score})
    switch = next((name for name in switches if name in WORDS["switches"]), None)
    doubtful = [name for name in switches if name != switch and _differs(objects, name)]
    if switch is None and doubtful and answers.field is None:
        if answers.cut is None or score is not None or len(doubtful) > 1:
            return undecided(form, values, *_unswitched(doubtful, present, score), line)
        switch = doubtful[0]
    if switch is not None:
        form += f", where {switch} is true"
        yes = switches[switch]
        lists = {key: [item for item in items if yes[word_of(item.get(switch))]] for key, items in lists.items()}
    if score is not None and any(float(item[score]) != 1 for item in objects):
        if answers.cut is None:
            what = uncut([[item[score] for item in objects]], f"{score}s of objects")
            return undecided(form, values, *what, line)
        form += f", where {score} is above {answers.cut:g}"
        lists = {k: [item for item in items if float(item[score]) > answers.cut] for k, items in lists.items()}
    sets = {key: cleaned((str(item[present]) for item in items), answers) for key, items in lists.items()}
    return with_inventory(LabelSets(form, dict(sets)), values, answers)


def is_span(item: Mapping) -> bool:
    """Whether an object says where in a text its label stands."""
    return all(any(type(item.get(name)) is int for name in WORDS[which]) for which in ("starts", "ends"))


def _switches(objects: Sequence[Mapping], others: Container[str]) -> dict[str, Mapping[str, int]]:
    """Fields that say yes or no of their label, with what their words mean."""
    fields = dict.fromkeys(name for item in objects for name in item if name not in others)
    fields = [name for name in fields if name not in WORDS["others"] and not name.endswith("_id")]  # 0 and 1 are keys
    meanings = {name: _meaning(objects, name) for name in fields}
    return {name: meaning for name, meaning in meanings.items() if meaning}


def _meaning(objects: Sequence[Mapping], field: str) -> Mapping[str, int] | None:
    """Word -> 1 or 0 where objects say yes or no in this field; blank is the other of what alone is written."""
    words = {word_of(item.get(field)) for item in objects} - {""}
    meaning = judgement(words) if words else None
    return meaning and {**meaning, "": int(not any(meaning.values()))}


def _is_verdict(objects: Sequence[Mapping], field: str) -> bool:
    """Whether the field says yes of one object and no of another, so that it names no label."""
    meaning = _meaning(objects, field) or {}
    return {meaning.get(word_of(item.get(field))) for item in objects} == {0, 1}


def _differs(objects: Sequence[Mapping], field: str) -> bool:
    return len({word_of(item.get(field)) for item in objects}) > 1


def _unswitched(fields: Sequence[str], present: str, score: str | None) -> tuple[str, str]:
    """What is wrong with fields that may say whether a label fits, or anything else of it; the remedy."""
    remedy = f"--label-field {present} takes all of them"
    if len(fields) == 1 and score is None:
        remedy = f"--positive-above 0.5 takes those where it says yes, {remedy}"
    what = f"objects whose {' and '.join(map(repr, fields))} may say whether their label fits"
    return what, f"{remedy}; else leave out of the file those that do not fit"


def annotators(column: str, values: Values, answers: Answers) -> LabelSets:
    """One list of names for each annotator; where they differ the share of those who chose a name decides."""
    sets: dict[Hashable, list[str] | BadRow | None] = {}
    apart = []
    for key, (lists, cell) in values.items():
        lists = [cleaned(names, answers) for names in lists if names is not None]
        votes = Counter(name for names in lists for name in names)
        if len({frozenset(names) for names in lists}) > 1 and answers.cut is None:
            apart.append(cell)
        cut = answers.cut or 0.0
        sets[key] = [name for name, n in votes.items() if n / len(lists) > cut]
    doubts = []
    if apart:
        rows, line = sum(cell.rows for cell in apart), min(cell.line for cell in apart)
        remedy = "--positive-above 0.5 takes what more than half of them chose, 0 what anybody did"
        doubts.append(Doubt("texts on which annotators differ", remedy, rows, line, True))
    return with_inventory(LabelSets("a list of names for each annotator", sets, doubts), values, answers)
