"""The gap on unseen combinations over draws of those that are held out, for a linear classifier."""

from collections.abc import Iterator, Mapping

from compaug.reports.by_seed import count, over, summary, tree, values
from compaug.reports.entries import Entry, Table, entry
from compaug.reports.queries import Results

EXPERIMENT = "draws"
PARTS = {"total": "gap in H", "operating_point": "operating point", "knowledge": "knowledge"}
HEADER = ["corpus", "held out", "draws", "unseen rows", *PARTS.values()]
RANDOM, HARDEST = "random", "hardest"


def tables(results: Results) -> Iterator[Table]:
    lines = []
    for facts in results.draws.values():
        rules = tree(facts["draws"], "rule", "seed")
        for rule, draws in rules.items():
            lines.append([facts["benchmark"], rule, *_counts(draws), *(_level(draws, part) for part in PARTS)])
        apart = (over(values(rules[HARDEST], part), values(rules[RANDOM], part)) for part in PARTS)
        differences = [entry(difference, sign=True) for difference in apart]
        lines.append([facts["benchmark"], "hardest over random", *_counts(rules[RANDOM]), *differences])
    yield Table("", "", HEADER, lines)


def _counts(draws: Mapping[int, Mapping]) -> list[Entry]:
    return [Entry(len(draws)), count(values(draws, "n_unseen"))]


def _level(draws: Mapping[int, Mapping], part: str) -> Entry:
    """The gap is no difference of arms that is to be tested; its parts are."""
    return entry(summary(values(draws, part)), sign=part != "total")
