"""Constraints in words: one instruction with a numbered list, or a list that a model continues (docs/spec/coda.md, 4).

In the list every exemplar stands behind a line with the constraints that it keeps, and the requested text would come
next: small models continue a pattern better than they follow instructions.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from compaug.generators.coda.constraints import Constraints

END = "\n"  # of a text in the list


def instruction(task, constraints: Constraints) -> str:
    """Conditions, numbered: keywords, labels with exemplars, pattern, length, one for each concept.

    The first line names the labels as the corpus puts them, so that without any condition this is the plain prompt.
    """
    description = task.source(constraints.labels).strip().rstrip(" :")
    lines = [f"Write one short text of one or more sentences that fits this description: {description}."]
    if conditions := [*_conditions(task, constraints)]:
        lines.append("It must meet all of these conditions:")
        lines += [f"{number}. {condition}" for number, condition in enumerate(conditions, start=1)]
    lines.append("Answer with the text alone: no title, no remark, no quotation marks.")
    return "\n".join(lines)


def _conditions(task, constraints: Constraints):
    names = task.labels.phrases
    if several := [(names[label], keywords) for label, keywords in (constraints.keywords or {}).items() if keywords]:
        if len(constraints.labels) == 1:
            yield f"It contains all of these keywords: {_quoted(several[0][1])}."
        else:
            of_labels = "; ".join(f'for "{name}" {_quoted(keywords)}' for name, keywords in several)
            yield f"It contains all of these keywords: {of_labels}."
    if constraints.named:
        labels = _quoted([names[label] for label in constraints.labels])
        what = "this label" if len(constraints.labels) == 1 else "all of these labels"
        yield "\n".join([f"It expresses {what}, and no other label: {labels}.", *_shown(names, constraints)])
    if constraints.tags:
        yield f"One of its sentences has exactly this pattern of parts of speech: {' '.join(constraints.tags)}."
    if constraints.length:
        yield f"It has {_range(constraints.length)} words."
    for concept in constraints.concepts:
        yield f'It does not express the concept "{concept.name}".'


def _shown(names: Sequence[str], constraints: Constraints) -> list[str]:
    """The exemplars, a line each: those with exactly the labels, and those that stand for a part of them."""
    whole = [f'   "{exemplar.text}"' for exemplar in constraints.shown if exemplar.keeps.labels == constraints.labels]
    parts = [exemplar for exemplar in constraints.shown if exemplar.keeps.labels != constraints.labels]
    alone = [
        f'   A text that expresses {_quoted([names[y] for y in exemplar.keeps.labels])} alone: "{exemplar.text}"'
        for exemplar in parts
    ]
    return [*(["   Texts that do:"] if whole else []), *whole, *alone]


def listing(task, constraints: Constraints) -> str:
    """The exemplars, each behind the constraints that it keeps, and the constraints of the text that is to follow."""
    parts = [f"{_line(task, exemplar.keeps)} {exemplar.text}\n" for exemplar in constraints.shown]
    return "\n".join([*parts, _line(task, constraints)])


def _line(task, constraints: Constraints) -> str:
    """Constraints, and below them the words that the corpus puts before a text."""
    parts = []
    if words := constraints.words:
        parts.append(f"Keywords: {', '.join(words)}.")
    if constraints.tags:
        parts.append(f"Parts of speech: {' '.join(constraints.tags)}.")
    if constraints.length:
        parts.append(f"Words: {_range(constraints.length)}.")
    if constraints.concepts:
        parts.append(f"Not about: {', '.join(concept.name for concept in constraints.concepts)}.")
    return "\n".join(filter(None, [" ".join(parts), task.source(constraints.labels).strip()]))


def _quoted(words: Sequence[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)


def _range(length: tuple[int, int]) -> str:
    low, high = length
    return f"{low} to {high}" if high > low else f"{low}"


FORMS: dict[str, Callable[..., str]] = {"instruction": instruction, "list": listing}


def fitted(
    form: str, task, constraints: Constraints, n_tokens: Callable[[str], int], room: int
) -> tuple[str, Constraints]:
    """The prompt, of at most `room` tokens, and the constraints that are in it; ("", constraints) where none fits.

    A prompt that is too long loses the constraints of the exemplars, which the list alone has, then the exemplars, the
    last one first, then the pattern.
    """
    while True:
        prompt = FORMS[form](task, constraints)
        if n_tokens(prompt) <= room:
            return prompt, constraints
        bare = tuple(replace(exemplar, keeps=Constraints(exemplar.keeps.labels)) for exemplar in constraints.shown)
        if form == "list" and bare != tuple(constraints.shown):
            constraints = replace(constraints, shown=bare)
        elif constraints.shown:
            constraints = replace(constraints, shown=constraints.shown[:-1])
        elif constraints.tags:
            constraints = replace(constraints, tags=())
        else:
            return "", constraints
