"""Seen against unseen compositions: decoding with the composition prior (beyond the paper)."""

from collections.abc import Iterator
from functools import partial

import pandas as pd

from compaug.evaluation.longtable import difference, pick, rows_by, summaries
from compaug.reports import figures
from compaug.reports.entries import Entry, Figure, Table, entry, gained
from compaug.reports.queries import Results

EXPERIMENT = "prior"
DECODINGS = {
    "threshold": "labels above 0.5 (the paper)",
    "joint": "best known composition, uncorrected",
    "composition_prior": "corrected by the composition prior",
    "uncalibrated": "the same without calibration",
    "stacking": (
        "control: one constant for all unseen compositions, chosen like weight and strength (calibrated stacking)"
    ),
    "crm": (
        "control: the extrapolated bias of Compositional Risk Minimization under the mixed prior, its weight chosen "
        "likewise"
    ),
    "logit_adjustment": (
        "control: a share of log P_train taken from every composition, chosen likewise (Menon et al. 2021)"
    ),
    "em": "weight and strength of composition_prior, P_t re-estimated from the texts of both test sets",
    "map_em": "the same with a Dirichlet prior: the support rows, and as many of training, count as read already",
}
PAIR = ("threshold", "composition_prior")
SPLITS = ("seen", "unseen")
# the composition prior is never shown without them (docs/spec/acceptance.md, E3)
BASELINES = ("stacking", "crm", "logit_adjustment")
GAINS = {
    "threshold": "H with another decoding, over thresholds",
    "none": "H over no augmentation, same decoding",
}
SCORES = {
    "seen": ("seen", "acc"),
    "unseen": ("unseen", "acc"),
    "H": ("unseen", "harmonic"),
    "AUSUC": ("unseen", "ausuc"),
    "H, told": ("unseen", "told"),
}
CEILINGS = {
    ("bayes", "training_prior"): "Bayes, compositions of training",
    ("bayes", "mixed_prior"): "Bayes, mixed with those of the test set",
    ("real_texts", "threshold"): "real texts, threshold",
    ("real_texts", "stacking"): "real texts, stacking",
    ("real_texts", "composition_prior"): "real texts, composition_prior",
}
CEILING_NOTE = (
    "These rows have seen what no method may see. Real texts, the matched arm: half of the unseen test set was learned "
    "once, and the other half is the test, both ways; what a decoding chooses it chooses on the rows that were held "
    "out for validation. Bayes: the exact classifier of the known grammar, under the compositions of training, and "
    "under those mixed with the test set's own at the weight that does best there."
)
POSTERIOR_NOTE = (
    "The same number of texts, kept by the filter's probability of exactly the requested labels (the default) or by "
    "the one that it gives them under the composition prior. The decoding's weight and strength are those of the "
    "default's cell."
)
CHOSEN_NOTE = (
    "Weight and strength by seed. The best H is the best of all that were tried, so it is optimistic. In reach: "
    "percent of the unseen test rows whose composition training, synthetic texts or support show; the others are left "
    "to independent labels."
)


def tables(results: Results) -> Iterator[Table]:
    for experiment, benchmark, rows in results.of(*_experiments(results)):
        title = _title(experiment, benchmark)
        bert = pick(rows, classifier="bert", decoding=DECODINGS)
        cells = pick(bert[bert["generator"] != "real_texts"], selection="top_k")
        others = pick(rows[~rows["classifier"].isin(["bert", "bayes"])], decoding=PAIR)
        note = "; ".join(f"`{name}`: {words}" for name, words in DECODINGS.items())
        yield from [
            _scores(results, title, cells, "generator", f"{note}."),
            *_gains(results, title, experiment, benchmark),
            _chosen(results, title, pick(rows, classifier="bert", selection="top_k")),
            _posterior(results, title, pick(bert, decoding=PAIR)),
            _scores(results, f"{title}: other classifiers, without augmentation", others, "classifier"),
            _ceilings(results, title, rows),
        ]


def _experiments(results: Results) -> list[str]:
    """This one first, then others with halves of the support set, by which weight and strength are chosen.

    Your own corpus's are among them, for instance.
    """
    others = results.choosing() - {EXPERIMENT, "knowledge", "real"}  # the last two have tables of their own
    return [EXPERIMENT, *sorted(others)]


def _title(experiment: str, benchmark: str) -> str:
    return benchmark if experiment == EXPERIMENT else f"{experiment}: {benchmark}"


def _scores(results: Results, title: str, rows: pd.DataFrame, column: str, note: str = "") -> Table:
    lines = results.lines(rows, [column, "decoding"], SCORES)
    return Table(title, f"{results.setting(rows)} {note}", [column, "decoding", *SCORES], lines)


def _gains(results: Results, title: str, experiment: str, benchmark: str) -> Iterator[Table]:
    where = {"experiment": experiment, "benchmark": benchmark, "selection": "top_k", "classifier": "bert"}
    gains = pick(results.gains, **where, metric="harmonic", decoding=(*PAIR, *BASELINES))
    for over, words in GAINS.items():
        rows = pick(gains, over=over)
        of = rows_by(rows, "generator", "decoding")
        lines = [[*key, gained(of[key])] for key in sorted(of, key=lambda key: [*map(results.rank, key)])]
        yield Table(f"{title}: {words}", "", ["generator", "decoding", "gain in H"], lines)


def _chosen(results: Results, title: str, rows: pd.DataFrame) -> Table:
    lines = []
    for name in results.ordered(rows["generator"]):
        cells = pick(rows, generator=name)
        chosen = pick(cells, decoding="composition_prior", metric=("weight", "strength"))
        pairs = chosen.pivot(index="seed", columns="metric", values="value").sort_index()
        means = summaries(pick(cells, metric=("held_out", "known"), decoding=("composition_prior", "any")), "metric")
        if len(pairs):
            words = ", ".join(f"({row.weight:g}, {row.strength:g})" for row in pairs.itertuples())
            lines.append([name, words, *(entry(means.get(metric)) for metric in ("held_out", "known"))])
    header = ["generator", "chosen (weight, strength)", "best H on held-out rows", "unseen rows in reach"]
    return Table(f"{title}: the correction that was chosen", CHOSEN_NOTE, header, lines)


def _posterior(results: Results, title: str, rows: pd.DataFrame) -> Table:
    ways, lines = ("top_k", "score=posterior"), []
    for name in results.ordered(pick(rows, selection=ways[1])["generator"]):
        for decoding in PAIR:
            line: list[str | Entry] = [name, decoding]
            for split, metric in (SCORES["unseen"], SCORES["H"]):
                scores = pick(rows, generator=name, decoding=decoding, split=split, metric=metric)
                means = summaries(scores, "selection")
                moved = difference(pick(scores, selection=ways[1]), pick(scores, selection=ways[0]))
                line += [*(entry(means.get(way)) for way in ways), entry(moved, sign=True)]
            lines.append(line)
    header = [f"{metric}{what}" for metric in ("unseen", "H") for what in (", default", ", posterior", ", gain")]
    return Table(f"{title}: selection by the posterior", POSTERIOR_NOTE, ["generator", "decoding", *header], lines)


def _ceilings(results: Results, title: str, rows: pd.DataFrame) -> Table:
    entries = results.entries(pick(rows, generator=("real_texts", "bayes")), ["generator", "decoding"], SCORES)
    lines = [[words, *entries[which]] for which, words in CEILINGS.items() if which in entries]
    return Table(f"{title}: ceilings", CEILING_NOTE, ["ceiling", *SCORES], lines)


def figures_of(results: Results) -> Iterator[Figure]:
    for experiment, benchmark, rows in results.of(*_experiments(results)):
        name = _title(experiment, benchmark).replace(": ", "-")
        rows = pick(rows, classifier="bert", selection="top_k", decoding=PAIR, metric="acc", split=SPLITS)
        rows = rows[rows["generator"] != "real_texts"]
        means = summaries(rows, "generator", "decoding", "split")
        points = {
            generator: {
                decoding: tuple(means[generator, decoding, split].mean for split in SPLITS) for decoding in PAIR
            }
            for generator in results.ordered(rows["generator"])
            if all((generator, decoding, split) in means for decoding in PAIR for split in SPLITS)
        }
        if not points:
            continue
        draw = partial(figures.seen_against_unseen, benchmark, points, ["thresholds", "composition prior"])
        caption = f"Seen against unseen accuracy under two decodings, {benchmark}"
        yield Figure(f"seen-unseen-{name}", caption, draw, on_page=False)  # the table says it
