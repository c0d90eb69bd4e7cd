"""What LINDA writes between two texts, by the weight of the first, and what its texts are worth.

Figures 2 to 4 of its article; ours are of held-out texts of D_cg.
"""

from collections.abc import Iterator
from functools import partial

from compaug.evaluation.longtable import difference, pick, rows_by, summaries
from compaug.evaluation.statistics import Summary
from compaug.reports import METRICS, figures
from compaug.reports.entries import Entry, Figure, Table, entry, gained
from compaug.reports.queries import UNSEEN, Results

EXPERIMENT = "linda"
EXPERIMENTS = (EXPERIMENT, "linda_pretrained", "linda_reading")
# a generator's facts stand at each of its cells
OF = {"decoding": "any", "split": "unseen", "selection": "top_k", "classifier": "bert"}
BETWEEN = (
    "Pairs of texts that the model was not trained on; alpha is the weight of the first. Precision: share of the words "
    "of the new text that are in a source, each as often as it is there at most. Similarity: cosine of the encoder's "
    "mean states. Copies: new texts that are one of their sources; novel: that are no text of D_cg. Perplexity: of the "
    "decoder backbone, without a prompt. Prefers the first: pairs whose first text is the likelier one. Both texts: "
    "probability of the two sources together, which is near 1 where a model knows nothing between them."
)
SHOWN = (0, 0.3, 0.5, 0.7, 1)  # of the eleven that were measured
MEASURES = {
    "precision, first": "precision_a",
    "precision, second": "precision_b",
    "similarity, first": "similarity_a",
    "similarity, second": "similarity_b",
    "copies": "copies",
    "novel": "novel",
    "perplexity": "perplexity",
    "prefers the first": "prefers_a",
    "both texts": "mass",
}
PLAIN = (
    "Each training text once more, or as many texts asked for between two that were drawn at random, of which copies "
    "of known texts are dropped; no filter. `mixup` writes no text: it mixes the states of texts, and their labels, "
    "while the classifier learns."
)
WAYS = {  # values of `selection`: whose labels the classifier learns
    "top_k": "the request's",
    "labels=soft": "both texts'",
    "labels=soft,sharpening=0.5": "both texts', sharpened",
    "labels=teacher": "a teacher's",
    "mode=random,labels=teacher": "a teacher's, of random texts",
}
LABELLED = (
    "Percent, classifier `bert`, on unseen combinations. Labels of a text: the requested ones; those of the two real "
    "texts that it lies between, in their proportion (sharpened: moved from the middle); or the probabilities of a "
    "classifier that was trained on real texts alone. Fidelity: kept texts with all requested labels and no other, "
    "where the grammar is known. Gains are paired by seed, with the interval over seeds; of one seed it is that over "
    "test rows, which says so."
)
IID, BY = "iid", ("generator", "classifier")
CURVES = ("precision_a", "precision_b", "similarity_a", "similarity_b")


def tables(results: Results) -> list[Table]:
    return [*labelled(results), *between(results), *plain(results)]


def labelled(results: Results) -> Iterator[Table]:
    """What LINDA's texts are worth beside those of others, under each way to label them."""
    columns = {"fidelity": ("unseen", "fidelity_kept")} | UNSEEN
    for experiment, benchmark, rows in results.of(*EXPERIMENTS, classifier="bert", split="unseen", selection=[*WAYS]):
        rows = pick(rows, decoding=("threshold", "any"), metric=("fidelity_kept", *METRICS))
        acc, lines = pick(rows, metric="acc"), []
        where = {"experiment": experiment, "benchmark": benchmark, "classifier": "bert", "decoding": "threshold"}
        tested = rows_by(pick(results.gains, **where, metric="acc"), "generator", "selection", "over")
        cells = results.entries(rows, ["generator", "selection"], columns)
        for (generator, selection), entries in sorted(
            cells.items(), key=lambda item: (results.rank(item[0][0]), [*WAYS].index(item[0][1]))
        ):
            scores = pick(acc, generator=generator, selection=selection)
            gains = []
            for over, name in {"none": "none", "oversample": "oversample", "top_k": generator}.items():
                other = pick(acc, generator=name, selection="top_k")
                if other.equals(scores) or other.empty:
                    gains.append(Entry())
                else:
                    row = tested.get((generator, selection, over)) if len(scores) == 1 else None
                    gains.append(entry(difference(scores, other), sign=True) if row is None else gained(row))
            lines.append([generator, WAYS[selection], *entries, *gains])
        header = ["generator", "labels", *columns, "Acc over none", "over oversample", "over the request's labels"]
        yield Table(f"{experiment}: {benchmark}", f"{results.setting(rows)} {LABELLED}", header, lines)


def between(results: Results) -> Iterator[Table]:
    """How texts change from the one source to the other."""
    for _, benchmark, rows in results.of(*EXPERIMENTS, **OF):
        lines = []
        for alpha in SHOWN:
            columns = {words: ("unseen", f"between_{name}_{alpha:g}") for words, name in MEASURES.items()}
            lines += [
                [key, f"{alpha:g}", *entries]
                for (key,), entries in results.entries(rows, ["generator"], columns).items()
            ]
        lines.sort(key=lambda line: results.rank(line[0]))
        shown = rows[rows["metric"].str.startswith("between_")]
        yield Table(
            f"{benchmark}: between two texts",
            f"{results.setting(shown)} {BETWEEN}",
            ["generator", "alpha", *MEASURES],
            lines,
        )


def plain(results: Results) -> Iterator[Table]:
    """Plain augmentation: what more texts, and mixed states, are worth without compositional shift."""
    columns = {words: (IID, metric) for metric, words in METRICS.items()}
    for _, benchmark, rows in results.of(EXPERIMENT, decoding="threshold", split=IID):
        acc = pick(rows, metric="acc")
        lines = results.lines(rows, BY, columns)
        for line in lines:
            scores, none = (pick(acc, **dict(zip(BY, cell, strict=True))) for cell in (line[:2], ("none", "bert")))
            line.append(Entry() if scores.equals(none) else entry(difference(scores, none), sign=True))
        title = f"{benchmark}: plain augmentation, training and test split at random"
        yield Table(title, f"{results.setting(rows)} {PLAIN}", [*BY, *columns, "Acc over none"], lines)


def figures_of(results: Results) -> Iterator[Figure]:
    for experiment, benchmark, rows in results.of(*EXPERIMENTS, **OF):
        means = summaries(rows, "generator", "metric")
        curves = {name: curves_of(means, name) for name in results.ordered({name for name, _ in means})}
        curves = {name: parts for name, parts in curves.items() if parts}
        if curves:
            caption = f"Between two held-out texts, {benchmark}: nearer to the first as its weight grows"
            yield Figure(f"{experiment}-{benchmark}", caption, partial(figures.between, curves))


def curves_of(means: dict[tuple, Summary], generator: str) -> dict[str, list[tuple[float, Summary]]]:
    """{"precision_a": [(alpha, its mean and interval)]} of a generator, in the order of alpha.

    {} where nothing was measured.
    """
    curves: dict[str, list[tuple[float, Summary]]] = {}
    for (name, metric), summary in means.items():
        measure, _, alpha = metric.removeprefix("between_").rpartition("_")
        if name == generator and metric.startswith("between_") and measure in CURVES:
            curves.setdefault(measure, []).append((float(alpha), summary))
    return {measure: sorted(points, key=lambda point: point[0]) for measure, points in sorted(curves.items())}
