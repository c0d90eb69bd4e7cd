"""The second task, parsing: what subsets and curricula of COGS or CFQ are worth.

They stand beside the numbers of the cartography paper's Table 3.
"""

import statistics
from collections.abc import Iterator, Mapping

from compaug.core.markdown import NOT_REPORTED, number
from compaug.evaluation.statistics import Summary
from compaug.reports import by_seed
from compaug.reports.entries import Entry, Table, bounds, entry
from compaug.reports.queries import Results

EXPERIMENT = "parsing"
ALL, RANDOM = "all", "random"  # the region that is no subset, and the one that needs no map
PAPER = "paper"  # the scale whose levels can be compared
HALF, THIRD = 0.5, 0.33  # ratio of the paper's Table 3, and of its Table 10
JUDGED = {"cogs": "gen", "cfq": "test"}  # the part that the paper prints
ORDER = (ALL, RANDOM, "hard", "ambiguous", "easy", "hard_ambiguous", "hard_easy", "ambiguous_easy")
Choice = tuple  # region, ratio, measure, pacing, first: what a training learned from
EVERYTHING: Choice = (ALL, None, None, None, None)


def tables(results: Results) -> Iterator[Table]:
    for (corpus, scale), files in by_seed.by_cell(results.parsing.values(), "corpus", "scale"):
        of = by_seed.tree([facts | {"choice": _choice(facts["choice"])} for facts in files], "choice", "seed")
        runs: dict[Choice, dict[int, Mapping]] = {choice: of[choice] for choice in sorted(of, key=_rank)}
        printed, title = results.paper.get("cartography", {}), f"{corpus}, {scale}: subsets and curricula"
        note = by_seed.note(files, "{} parameters; chosen from {} pairs.", "parameters", "of")
        yield Table(title, note, *_subsets(corpus, scale, runs, printed.get(corpus, {})))
        yield from _categories(corpus, scale, runs, printed.get("categories", {}))


def _choice(facts: Mapping) -> Choice:
    """What made a difference: all pairs have no ratio, and random ones no measure."""
    region, first = facts["region"], facts["first"]
    ratio = None if region == ALL else facts["ratio"]
    measure = facts["measure"] if first or region not in (ALL, RANDOM) else None
    return region, ratio, measure, facts["pacing"], first


def _rank(choice: Choice) -> tuple:
    region, ratio, measure, pacing, first = choice
    return pacing or "", -(ratio or 1), ORDER.index(region), measure or "", first or ""


def _words(choice: Choice) -> str:
    region, ratio, measure, pacing, first = choice
    words = "all pairs" if region == ALL else f"{region}, {100 * ratio:.0f} %"
    words += f", {pacing} pacing, {first} first" if pacing else ""
    return f"{words}, by {measure}" if measure else words


def _values(runs: Mapping[int, Mapping], part: str) -> dict[int, float]:
    """Exact match by seed."""
    return {seed: facts["parts"][part]["exact"] for seed, facts in runs.items() if part in facts["parts"]}


def _subsets(
    corpus: str, scale: str, runs: Mapping[Choice, Mapping], printed: Mapping
) -> tuple[list[str], list[list[str | Entry]]]:
    """Header and rows: a line for each choice: how many pairs it is, and exact match by part.

    Also that over a random subset of its size and over all pairs.
    """
    parts = sorted({part for of_choice in runs.values() for facts in of_choice.values() for part in facts["parts"]})
    judged = JUDGED.get(corpus, parts[0])
    lines = []
    for choice, of_choice in runs.items():
        random, paper = (RANDOM, choice[1], None, None, None), _printed(choice, printed)
        of_part = {part: _values(of_choice, part) for part in parts}
        line = [_words(choice), by_seed.count(by_seed.values(of_choice, "rows"))]
        for part, values in of_part.items():
            theirs = paper if part == judged else None
            line.append(entry(by_seed.summary(values), theirs, other_corpus=scale != PAPER))
        over = {
            other: {
                part: by_seed.over(values, _values(runs.get(other, {}), part)) if other != choice else None
                for part, values in of_part.items()
            }
            for other in (random, EVERYTHING)
        }
        line += [entry(difference, sign=True) for differences in over.values() for difference in differences.values()]
        lines.append([*line, _direction(over[random].get(judged), paper, _printed(random, printed))])
    differences = [f"{part} over {other}" for other in (RANDOM, ALL) for part in parts]
    return ["learned from", "pairs", *parts, *differences, "direction"], lines


def _printed(choice: Choice, printed: Mapping) -> float | None:
    """Of the paper's Table 3, which has halves, and all pairs."""
    region, ratio, measure, pacing, _ = choice
    if pacing or ratio not in (None, HALF):
        return None
    numbers = printed.get(region)
    return numbers.get(measure) if isinstance(numbers, Mapping) else numbers


def _direction(ours: Summary | None, paper: float | None, paper_random: float | None) -> str:
    """Whether ours and the paper's subset lie on the same side of a random one."""
    if ours is None or paper is None or paper_random is None:
        return NOT_REPORTED
    if not ours.excludes_zero:
        return "open"
    return "as printed" if (ours.mean > 0) == (paper > paper_random) else "the other way"


def _categories(corpus: str, scale: str, runs: Mapping[Choice, Mapping], printed: Mapping) -> Iterator[Table]:
    """Of every part that has more than one category: a line for each, a column for each subset or curriculum."""
    parts = sorted({part for of_choice in runs.values() for facts in of_choice.values() for part in facts["parts"]})
    for part in parts:
        scores: dict[str, dict[Choice, list[float]]] = {}
        for choice, of_choice in runs.items():
            for facts in of_choice.values():
                for name, value in facts["parts"].get(part, {}).get("categories", {}).items():
                    scores.setdefault(name, {}).setdefault(choice, []).append(value)
        lines = []
        for name in [*(name for name in printed if name in scores), *sorted(set(scores) - set(printed))]:
            paper = printed.get(name, {})
            entries = [_ranged(scores[name].get(choice), paper.get(_in_table_10(choice)), scale) for choice in runs]
            lines.append([f"{paper.get('section', '')} {name}".strip(), *entries])
        if len(lines) > 1:
            note = "Mean over seeds, in brackets the lowest and the highest of them."
            note += " Before each name the section of COGS' paper; paper: Table 10." if part == "gen" else ""
            header = ["category", *map(_words, runs)]
            yield Table(f"{corpus}, {scale}: {part} by category", note, header, lines)


def _ranged(values: list[float] | None, paper: float | None, scale: str) -> Entry:
    """A category's mean with its lowest and highest seed.

    A seed learns some categories whole and others not at all, so that a t interval would leave 0 to 100.
    """
    if not values:
        return entry(None, paper)
    mean = statistics.fmean(values)
    spread = f"{number(mean)} {bounds(min(values), max(values))}" if len(values) > 1 else ""
    return Entry(mean, paper=paper, words=spread, other_corpus=scale != PAPER)


def _in_table_10(choice: Choice) -> str | None:
    """Its column: all pairs, or the measure of the hardest third."""
    region, ratio, measure, pacing, _ = choice
    if pacing or (region, ratio) not in ((ALL, None), ("hard", THIRD)):
        return None
    return measure or ALL
