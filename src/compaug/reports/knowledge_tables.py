"""What texts teach: knowledge apart from the operating point, by corpus; README and the page begin with it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pandas as pd

from compaug.core.markdown import NOT_REPORTED, number
from compaug.evaluation.longtable import difference, pick, rows_by, summaries
from compaug.evaluation.statistics import Summary, holm, ratio_interval
from compaug.experiments.cells import NONE, REAL_TEXTS
from compaug.reports import CORPORA, NAMES, figures
from compaug.reports.entries import LEVEL, Entry, Figure, Table, entry, gained
from compaug.reports.gap import Gap, Part, contribution, remedy, remedy_in_brief, sentence, sentence_in_brief
from compaug.reports.queries import FIRST, Results

EXPERIMENT = "knowledge"
EXPERIMENTS = (EXPERIMENT, "real", "small", "encoders")
REPEATING = "oversample"
LARGER = "base"  # the scale whose encoder has the size of the paper's
# Parts of the gap as (arm, over), both at their best constants; the total is over the threshold of no texts.
TOTAL, OPERATING_POINT, KNOWLEDGE = (REAL_TEXTS, "threshold"), (NONE, "threshold"), (REAL_TEXTS, NONE)
SCORES = {
    "Acc unseen, 0.5": ("threshold", "unseen", "acc"),
    "Acc seen, 0.5": ("threshold", "seen", "acc"),
    "H, 0.5": ("threshold", "unseen", "harmonic"),
    "H, stacking": ("stacking", "unseen", "harmonic"),
    "H, best constant": ("best_constant", "unseen", "harmonic"),
    "AUSUC": ("threshold", "unseen", "ausuc"),
    "Acc unseen at equal Acc seen": ("threshold", "unseen", "acc_at_seen"),
}
SCORES_NOTE = (
    "H: harmonic mean of Acc on seen and on unseen combinations. Stacking: one constant for all unseen combinations, "
    "chosen on folds of training and support rows (of `real_texts` on the rows that it held out). Best constant: "
    "chosen on one half of the test rows and applied to the other, both ways; a measure, not a method. AUSUC: area "
    "under the curve of unseen against seen Acc over all constants. In these two, and at equal Acc, all arms answer "
    "from one list, the combinations of training and of the test rows. Equal Acc seen: that of `none` at its best "
    "constant, {level} %."
)
GAINS = {
    "AUSUC": ("threshold", "ausuc"),
    "Acc at equal seen": ("threshold", "acc_at_seen"),
    "H, stacking": ("stacking", "harmonic"),
}
GAINS_NOTE = (
    "Points, paired by seed. Over the matched arm: what is left for texts to teach. Share of the knowledge: what the "
    "arm gives to H at its best constant, over what the matched arm gives, with Fieller's interval; none where it is "
    "not shown that there is knowledge to gain."
)
DECODING_NOTE = (
    "What costs no text: H of the classifier without texts under decodings that know which combinations the target has "
    "(composition prior) or only that they are unseen. Each chooses what it has to choose on the same folds. {points}"
)
DECODINGS = ("threshold", "stacking", "crm", "logit_adjustment", "composition_prior")
ARMS = {REPEATING: "support texts repeated"}
IN_BRIEF = ("corpus", "operating point", "knowledge", "best texts give", "what helps")
IN_BRIEF_NOTE = (
    "Points of H, the harmonic mean of Acc on seen and on unseen combinations. Operating point: what a list of the "
    "combinations that occur and one constant add to the classifier without texts. Knowledge: what the matched arm has "
    "beyond that at its best constant. Best texts: of the generator, of so many, that gives most of the knowledge, "
    "before others one that is shown to give more than repeating the support texts does. °: not significant after "
    "Holm's correction for all that `Every arm` compares."
)
PARTS = ("corpus", "arm", "gap in H", "operating point", "knowledge", "what the arm gives", "over repeating")
PARTS_NOTE = (
    "Points of H, the harmonic mean of Acc on seen and on unseen combinations. Gap: the matched arm at its best "
    "constant, over the classifier without texts at 0.5. Operating point: what a list of the combinations that occur "
    "and one constant close of it. Knowledge: the rest. What the arm gives: of the knowledge, at its best constant, "
    "over no texts. °: not significant after Holm's correction for all comparisons of this table."
)


@dataclass(frozen=True)
class Corpus:
    """The rows and gains of one corpus.

    generators: the arms whose texts are written, in the usual order; shown: which comparisons of H at the best constant
    are not zero, corrected for those of all corpora, as (arm, over).
    """

    benchmark: str
    rows: pd.DataFrame
    gains: pd.DataFrame
    generators: tuple[str, ...]
    shown: frozenset[tuple[str, str]] = frozenset()

    @property
    def name(self) -> str:
        """Without what differs from its file; with the scale where that is of a larger encoder."""
        corpus = self.benchmark.partition("+")[0]
        return f"{corpus}, {LARGER}" if LARGER in set(self.rows["scale"]) else corpus

    @property
    def in_words(self) -> str:
        """With what its texts are, where that is known."""
        words = CORPORA.get(self.benchmark.partition("+")[0])
        return f"{self.name} ({words})" if words else self.name


def corpora(results: Results) -> list[Corpus]:
    """Those of the tables, their comparisons corrected together (docs/spec/acceptance.md, E4)."""
    every = list(_uncorrected(results))
    corrected = holm({(n, *pair): p for n, corpus in enumerate(every) for pair, p in _tests(corpus).items()})
    shown = {key for key, p in corrected.items() if p is not None and p < LEVEL}
    return [
        replace(corpus, shown=frozenset(pair for pair in _tests(corpus) if (n, *pair) in shown))
        for n, corpus in enumerate(every)
    ]


def _tests(corpus: Corpus) -> dict[tuple[str, str], float | None]:
    """p values of what "Every arm" compares, as (arm, over), each once."""
    rows = _at_best_constants(corpus)
    if KNOWLEDGE not in rows:
        return {}
    arms = [(arm, over) for arm in (REPEATING, *corpus.generators) for over in (NONE, REPEATING)]
    tested = {pair: gained(rows[pair]) for pair in (OPERATING_POINT, KNOWLEDGE, *arms) if pair in rows}
    tested[TOTAL] = entry(_total(corpus), sign=True)
    return {pair: points.p for pair, points in tested.items()}


def _at_best_constants(corpus: Corpus) -> Mapping[tuple, pd.Series]:
    """Gains in H by (arm, over)."""
    return rows_by(pick(corpus.gains, metric="harmonic", decoding="best_constant"), "generator", "over")


def _uncorrected(results: Results) -> Iterator[Corpus]:
    for experiment, benchmark, rows in results.of(*EXPERIMENTS, classifier="bert", selection="top_k"):
        gains = pick(results.gains, experiment=experiment, benchmark=benchmark, classifier="bert", selection="top_k")
        if NONE not in set(pick(rows, decoding="best_constant")["generator"]):
            continue  # all others stand beside it
        names = [name for name in results.ordered(rows["generator"]) if name not in (NONE, REPEATING, REAL_TEXTS)]
        yield Corpus(benchmark, rows, gains, tuple(names))


def tables(results: Results) -> list[Table]:
    every = list(corpora(results))
    of_each = [table for corpus in every for table in (_scores(results, corpus), _decodings(corpus))]
    return [_in_brief(every), _parts(every), _gains(every), *of_each]


def _scores(results: Results, corpus: Corpus) -> Table:
    means = summaries(corpus.rows[corpus.rows["decoding"] != "any"], "generator", "decoding", "split", "metric")
    lines = [[arm, *(entry(means.get((arm, *which))) for which in SCORES.values())] for arm in _arms(corpus)]
    level = Entry(means[NONE, "best_constant", "seen", "acc"].mean)
    note = f"{finding(corpus)} {results.setting(corpus.rows)} {SCORES_NOTE.format(level=level.shown)}".strip()
    return Table(corpus.name, note, ["arm", *SCORES], lines)


def _arms(corpus: Corpus) -> list[str]:
    present = set(corpus.rows["generator"])
    return [arm for arm in (NONE, REPEATING, *corpus.generators, REAL_TEXTS) if arm in present]


def _gains(every: Sequence[Corpus]) -> Table:
    """A line for each corpus and arm."""
    overs = {NONE: "over none", REPEATING: "over repeating", REAL_TEXTS: "over the matched arm"}
    columns = [(over, *which) for over in overs for which in GAINS.values()]
    of = {corpus.name: rows_by(corpus.gains, "generator", "over", "decoding", "metric") for corpus in every}
    lines = [
        [corpus.name, arm, *(gained(of[corpus.name].get((arm, *which))) for which in columns), _share(corpus, arm)]
        for corpus in every
        for arm in (REPEATING, *corpus.generators, REAL_TEXTS)
        if (arm, NONE, *GAINS["AUSUC"]) in of[corpus.name]
    ]
    header = [
        "corpus",
        "arm",
        *(f"{words}, {over}" for over in overs.values() for words in GAINS),
        "share of the knowledge",
    ]
    return Table("Gains", GAINS_NOTE, header, lines)


def _share(corpus: Corpus, arm: str) -> Entry:
    """Of the knowledge, in percent, by the H of every seed at its best constant."""
    best = pick(corpus.rows, decoding="best_constant", split="unseen", metric="harmonic")
    by_seed = best.pivot_table(index="seed", columns="generator", values="value")
    if arm == REAL_TEXTS or KNOWLEDGE not in corpus.shown or arm not in by_seed:
        return Entry(words=NOT_REPORTED)
    pairs = by_seed[[arm, NONE, REAL_TEXTS]].dropna()
    interval = ratio_interval(pairs[arm] - pairs[NONE], pairs[REAL_TEXTS] - pairs[NONE])
    if interval is None:
        return Entry(words=NOT_REPORTED)
    share, low, high = (number(100 * value, digits=0) for value in interval)
    return Entry(100 * interval[0], words=f"{share} % [{low}, {high}]")


def _parts(every: Sequence[Corpus]) -> Table:
    """The gap in two parts, a line for each corpus and arm with texts."""
    lines = []
    for corpus in every:
        for arm in (REPEATING, *corpus.generators):
            if gap := gap_of(corpus, arm):
                parts = (gap.total, gap.operating_point, gap.knowledge, gap.texts, gap.texts_over_repeating)
                lines.append([corpus.name, ARMS.get(arm, f"texts of `{arm}`"), *map(_entry, parts)])
    return Table("Every arm", PARTS_NOTE, PARTS, lines)


def _in_brief(every: Sequence[Corpus]) -> Table:
    """A line for each corpus that has a matched arm; at most 100 characters, for README."""
    lines = []
    for corpus in every:
        if gap := best_of(corpus)[1]:
            decoding = Entry(gap.operating_point.mean, words=number(gap.operating_point.mean, digits=1))
            give = f"{gap.texts}{_of_how_many(corpus, ' of {}')}" if gap.texts else NOT_REPORTED
            of_one = f"{number(gap.knowledge.mean, digits=1)}, one seed"
            knowledge = of_one if gap.knowledge.over_rows else str(gap.knowledge)
            lines.append([corpus.name, decoding, knowledge, give, remedy_in_brief(gap)])
    return Table("", IN_BRIEF_NOTE, IN_BRIEF, lines)


def best_of(corpus: Corpus) -> tuple[str, Gap | None]:
    """The generator whose texts give most, before others one that is shown to beat repeating, and its gap.

    Without generators "" and the gap without texts; no gap without a matched arm.
    """
    gaps = {arm: gap for arm in _no_controls(corpus) if (gap := gap_of(corpus, arm))}
    if gaps:
        return max(gaps.items(), key=lambda item: (_beats_repeating(item[1]), item[1].texts.mean))
    gap = gap_of(corpus, REAL_TEXTS)
    return "", gap and replace(gap, texts=None, texts_over_repeating=None)


def finding(corpus: Corpus) -> str:
    """The gap in two parts, what the best texts give, and the remedy; "" without a matched arm."""
    arm, gap = best_of(corpus)
    if gap is None:
        return ""
    parts = [sentence(gap)]
    if arm:
        parts = [f"{parts[0]}; {contribution(gap, f'the texts of {_named(arm)}')}"]
    if (n := len(_no_controls(corpus))) > 1:
        better = [
            _named(name) for name in _no_controls(corpus) if (of := gap_of(corpus, name)) and _beats_repeating(of)
        ]
        parts.append(f"Of {n} generators {', '.join(better) or 'none'} is shown to teach more than repeating")
    return f"{'. '.join(parts)}. Remedy: {remedy(gap)}."


def finding_in_brief(corpus: Corpus) -> str:
    """The same in a sentence and the remedy's name."""
    arm, gap = best_of(corpus)
    if gap is None:
        return ""
    texts = f"those of {_named(arm)}{_of_how_many(corpus)}" if arm else ""
    return f"{sentence_in_brief(gap, texts)}. What helps: {remedy_in_brief(gap)}."


def _of_how_many(corpus: Corpus, words: str = " (best of {})") -> str:
    """The best of several is named with their number."""
    return words.format(n) if (n := len(_no_controls(corpus))) > 1 else ""


def _no_controls(corpus: Corpus) -> list[str]:
    """Its generators but for real texts under wrong labels."""
    return [arm for arm in corpus.generators if arm not in FIRST]


def _beats_repeating(gap: Gap) -> bool:
    return gap.texts_over_repeating is not None and gap.texts_over_repeating.is_gain


def _named(arm: str) -> str:
    return NAMES.get(arm, f"`{arm}`")


def _entry(part: Part | None) -> Entry:
    if part is None:
        return Entry(words=NOT_REPORTED)
    if part.low is None or part.over_rows:
        return Entry(part.mean, sign=True, over_rows=(part.low, part.high) if part.over_rows else None)
    value = Entry(part.mean, (part.high - part.low) / 2, sign=True)
    return replace(value, words=f"{value}{part.mark}") if part.mark else value


def gap_of(corpus: Corpus, arm: str) -> Gap | None:
    """The gap of the corpus with what the arm's texts give; None where the matched arm is missing."""
    rows = _at_best_constants(corpus)
    if KNOWLEDGE not in rows or (arm, NONE) not in rows:
        return None

    def part(*pair: str) -> Part | None:
        return _part(gained(rows[pair]), pair in corpus.shown) if pair in rows else None

    total = _total(corpus)
    return Gap(
        total=_part(entry(total), TOTAL in corpus.shown),
        operating_point=part(*OPERATING_POINT),
        knowledge=part(*KNOWLEDGE),
        texts=part(arm, NONE),
        repeating=part(REPEATING, NONE),
        texts_over_repeating=part(arm, REPEATING),
    )


def _part(points: Entry, shown: bool) -> Part:
    if points.over_rows:
        return Part(points.ours, *points.over_rows, shown, over_rows=True)
    if points.ci95 is None:
        return Part(points.ours, None, None, shown)
    return Part(points.ours, points.ours - points.ci95, points.ours + points.ci95, shown)


def _total(corpus: Corpus) -> Summary:
    """H of the matched arm at its best constant, over H without texts at 0.5, paired by seed."""
    rows = pick(corpus.rows, metric="harmonic")
    best = pick(rows, generator=REAL_TEXTS, decoding="best_constant")
    return difference(best, pick(rows, generator=NONE, decoding="threshold"))


def _decodings(corpus: Corpus) -> Table:
    rows = pick(corpus.rows, generator=NONE, decoding=DECODINGS)
    means = summaries(pick(rows, metric=("acc", "harmonic")), "decoding", "split", "metric")
    harmonic = pick(rows, metric="harmonic")
    prior, lines, points = pick(harmonic, decoding="composition_prior"), [], []
    for decoding in DECODINGS:
        if (decoding, "unseen", "harmonic") not in means:
            continue
        columns = (("unseen", "acc"), ("seen", "acc"), ("unseen", "harmonic"))
        apart = difference(prior, pick(harmonic, decoding=decoding)) if decoding != "composition_prior" else None
        lines.append([decoding, *(entry(means[decoding, *which]) for which in columns), entry(apart, sign=True)])
        if decoding in ("stacking", "crm", "logit_adjustment") and apart:
            points.append(f"{entry(apart, sign=True)} over {decoding}")
    note = DECODING_NOTE.format(points=f"The composition prior has {', '.join(points)}." if points else "")
    header = ["decoding", "Acc unseen", "Acc seen", "H", "composition prior over it, H"]
    return Table(f"{corpus.name}: decodings without texts", note, header, lines)


# ---------------------------------------------------------------- the headline


def figures_of(results: Results) -> list[Figure]:
    """What each arm adds to H at the best constant, beside what real texts add: one figure for all corpora."""
    panels = {}
    for corpus in corpora(results):
        gaps = {arm: gap for arm in (REPEATING, *corpus.generators) if (gap := gap_of(corpus, arm))}
        if REPEATING in gaps:
            seeds = corpus.rows.groupby("generator")["seed"].nunique()
            fewer = {arm: f" ({n} seeds)" for arm, n in seeds.items() if n < seeds.max()}
            parts = {ARMS.get(arm, _named(arm)) + fewer.get(arm, ""): _interval(gap.texts) for arm, gap in gaps.items()}
            gap = gaps[REPEATING]
            free = f"{number(gap.operating_point.mean, digits=1)} of {number(gap.total.mean, digits=1)}"
            heading = f"{corpus.in_words}, {seeds.max()} seeds"
            panels[heading] = (f"decoding closes {free} points", _interval(gap.knowledge), parts)
    if not panels:
        return []
    caption = "What texts add to H, the harmonic mean of Acc on seen and unseen combinations, beyond the best constant"
    return [Figure("knowledge", caption, partial(figures.what_texts_teach, panels))]


def _interval(part: Part) -> tuple[float, float, float]:
    return (part.mean, part.mean, part.mean) if part.low is None else (part.mean, part.low, part.high)
