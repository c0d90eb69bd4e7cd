"""Constraints in words: one instruction with a numbered list, or a list that a model continues (docs/spec/coda.md, 4).

The instruction is for models that follow one. In the list every exemplar stands behind a line with the constraints that it keeps itself, and
the text that is asked for would be the next one: small models go on with a pattern better than they do what they are told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from compaug.generators.coda.constraints import Constraints

END = "\n"  # of a text in the list


def instruction(task, asked: Constraints) -> str:
    """The conditions that there are, numbered in the order keywords, required spans, labels with exemplars, pattern, length, one for each
    concept. The first line names the labels as the corpus puts them, so that without any condition this is the plain prompt."""
    lines = [f"Write one short text of one or more sentences that fits this description: {description(task, asked)}"]
    if conditions := [*_conditions(task, asked)]:
        lines.append("It must meet all of these conditions:")
        lines += [f"{number}. {condition}" for number, condition in enumerate(conditions, start=1)]
    lines.append("Answer with the text alone: no title, no remark, no quotation marks.")
    return "\n".join(lines)


def _conditions(task, asked: Constraints):
    names = task.labels.phrases
    if several := [(names[label], some) for label, some in (asked.keywords or {}).items() if some]:
        if len(asked.labels) == 1:
            yield f"It contains all of these keywords: {_quoted(several[0][1])}."
        else:
            of_labels = "; ".join(f'for "{name}" {_quoted(some)}' for name, some in several)
            yield f"It contains all of these keywords: {of_labels}."
    if asked.required_spans:
        yield f"It contains, word for word: {_quoted(asked.required_spans)}."
    if asked.named:
        wanted = _quoted([names[label] for label in asked.labels])
        what = "this label" if len(asked.labels) == 1 else "all of these labels"
        yield "\n".join([f"It expresses {what}, and no other label: {wanted}.", *_shown(names, asked)])
    if asked.tags:
        yield f"One of its sentences has exactly this pattern of parts of speech: {' '.join(asked.tags)}."
    if asked.length:
        yield f"It has {_range(asked.length)} words."
    for concept in asked.concepts:
        yield f'It does not express the concept "{concept.name}".'


def _shown(names: Sequence[str], asked: Constraints) -> list[str]:
    """The exemplars, a line each: those with exactly the labels, and those that stand for a part of them."""
    whole = [f'   "{one.text}"' for one in asked.shown if one.keeps.labels == asked.labels]
    parts = [one for one in asked.shown if one.keeps.labels != asked.labels]
    alone = [
        f'   A text that expresses {_quoted([names[y] for y in one.keeps.labels])} alone: "{one.text}"' for one in parts
    ]
    return [*(["   Texts that do:"] if whole else []), *whole, *alone]


def listing(task, asked: Constraints) -> str:
    """The exemplars, each behind the constraints that it keeps, and those of the text that is to follow, up to where it begins."""
    parts = [f"{_line(task, one.keeps)} {one.text}\n" for one in asked.shown]
    return "\n".join([*parts, _line(task, asked)])


def _line(task, asked: Constraints) -> str:
    """Constraints, and below them the words that the corpus puts before a text."""
    said = []
    if words := asked.words:
        said.append(f"Keywords: {', '.join(words)}.")
    if asked.required_spans:
        said.append(f"Word for word: {_quoted(asked.required_spans)}.")
    if asked.tags:
        said.append(f"Parts of speech: {' '.join(asked.tags)}.")
    if asked.length:
        said.append(f"Words: {_range(asked.length)}.")
    if asked.concepts:
        said.append(f"Not about: {', '.join(concept.name for concept in asked.concepts)}.")
    return "\n".join(filter(None, [" ".join(said), task.source(asked.labels).strip()]))


def description(task, asked: Constraints) -> str:
    return f"{task.source(asked.labels).strip().rstrip(' :')}."


def _quoted(words: Sequence[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)


def _range(length: tuple[int, int]) -> str:
    low, high = length
    return f"{low} to {high}" if high > low else f"{low}"


FORMS: dict[str, Callable[..., str]] = {"instruction": instruction, "list": listing}


def fitted(form: str, task, asked: Constraints, n_tokens: Callable[[str], int], room: int) -> tuple[str, Constraints]:
    """The prompt and the constraints that are in it. Until it has at most `room` tokens it loses what exemplars say of themselves, which the
    list alone has, then exemplars, the last one first, then the pattern; ("", asked) where even that is too long."""
    while True:
        prompt = FORMS[form](task, asked)
        if n_tokens(prompt) <= room:
            return prompt, asked
        bare = tuple(replace(one, keeps=Constraints(one.keeps.labels)) for one in asked.shown)
        if form == "list" and bare != tuple(asked.shown):
            asked = replace(asked, shown=bare)
        elif asked.shown:
            asked = replace(asked, shown=asked.shown[:-1])
        elif asked.tags:
            asked = replace(asked, tags=())
        else:
            return "", asked
