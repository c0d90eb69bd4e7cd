"""Labels as numbers: vectors as long as the inventory, class numbers, and votes that need a cut."""

from collections.abc import Hashable, Iterable, Mapping, Sequence

from compaug.data.readers.label_sets import Answers, LabelSets, Values, first_line, numbered, undecided
from compaug.data.rows import BadRow


def numbers(column: str, values: Values, answers: Answers) -> LabelSets:
    """Vectors as long as the inventory, or class numbers."""
    rows = {key: value if isinstance(value, list) else [value] for key, (value, _) in values.items()}
    lengths = {len(row) for row in rows.values()}
    every = {float(item) for row in rows.values() for item in row if item is not None}
    whole = every <= {0.0, 1.0}
    if (
        len(lengths) == 1
        and (n := min(lengths)) > 1
        and min(every) >= 0
        and (whole or any(item % 1 for item in every) or _votes(rows))
    ):
        return _vectors(n, rows, whole, values, answers)
    return _classes(rows, values, answers)


def _votes(rows: Mapping[Hashable, Sequence]) -> bool:
    """Whether numbers repeat within rows, as those of classes never do."""
    return any(len(set(row)) < len(row) for row in rows.values())


def _vectors(n: int, rows: Mapping, whole: bool, values: Values, answers: Answers) -> LabelSets:
    form = f"vectors of {n} " + ("zeros and ones" if whole else "numbers")
    names = answers.labels
    line = first_line(values)
    if names is None or len(names) != n:
        lack = f"; --labels has {len(names)}" if names else ""
        remedy = f"give their {n} names in order with --labels a,b,...{lack}"
        return undecided(form, rows, f"{form} without names", remedy, line)
    if not whole and answers.cut is None:
        return undecided(form, rows, *uncut(rows.values(), form), line, names)
    cut = 0.0 if answers.cut is None else answers.cut
    sets = {
        key: [name for name, item in zip(names, row, strict=True) if item is not None and float(item) > cut]
        for key, row in rows.items()
    }
    return LabelSets(form if whole else f"{form}, positive above {cut:g}", sets, [], names)


def uncut(rows: Iterable[Iterable], what: str) -> tuple[str, str]:
    """What is wrong with numbers that nothing cuts, and the remedy."""
    every = [float(item) for row in rows for item in row if item is not None]
    low, high = min(every), max(every)
    remedy = "--positive-above 0.5" if high <= 1 else f"--positive-above {low:g} takes all above the least"
    if high > 2:
        remedy += f", --positive-above {(low + high) // 2:g} the upper half"
    return f"{what} from {low:g} to {high:g}: votes or probabilities, without a cut", remedy


def _themselves(numbers: Iterable[float], answers: Answers) -> dict[int, str] | None:
    """Number -> name where a person has listed the numbers themselves."""
    listed = {int(label): label for label in answers.labels or () if label.isdecimal()}
    return listed if len(listed) == len(answers.labels or ()) and set(numbers) <= listed.keys() else None


def _classes(rows: Mapping, values: Values, answers: Answers) -> LabelSets:
    form, line = "class numbers", first_line(values)
    every = sorted({item for row in rows.values() for item in row if item is not None})
    if any(item % 1 for item in every):
        what = f"numbers that are no classes, such as {next(item for item in every if item % 1):g}"
        return undecided("numbers", rows, what, "give --label-column", line)
    names = _themselves(every, answers) or numbered(answers.labels)
    if names is None:
        remedy = (
            f"give their names with --labels, from 0 on, or as --labels {int(every[0])}=NAME,..., "
            "where they start elsewhere, or the numbers where these are the names"
        )
        what = f"labels are numbers from {int(every[0])} to {int(every[-1])}, {len(every)} of them"
        return undecided(form, rows, what, remedy, line)
    if every and every[0] == 1 and every[-1] == len(names) and min(names) == 0:
        remedy = "give --labels 1=NAME,2=NAME,... where the first label is 1"
        what = f"class numbers run from 1 to {len(names)}, and --labels from 0 to {len(names) - 1}"
        return undecided(form, rows, what, remedy, line, tuple(names.values()))
    sets: dict[Hashable, list[str] | BadRow | None] = {}
    for key, row in rows.items():
        strange = [item for item in row if item is not None and int(item) not in names]
        if strange:
            shown = ", ".join(names.values())
            sets[key] = BadRow(
                "unknown class number", f"unknown class number {strange[0]:g}; options.labels has {shown}"
            )
        else:
            sets[key] = list(dict.fromkeys(names[int(item)] for item in row if item is not None))
    return LabelSets(form, sets, [], tuple(dict.fromkeys(names.values())))
