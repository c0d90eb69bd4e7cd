"""What LINDA writes between two texts, by the weight of the first (figures 2 to 4 of its article; ours are of held-out texts of D_cg)."""

from __future__ import annotations

from functools import partial

from compaug.evaluation.longtable import difference, pick, summaries
from compaug.evaluation.statistics import Summary
from compaug.reports import METRICS, figures
from compaug.reports.entries import Entry, Figure, Table, entry
from compaug.reports.queries import Results

TITLE = "LINDA: texts between two texts"
EXPERIMENT = "linda"
EXPERIMENTS = (EXPERIMENT, "linda_pretrained")
OF = {
    "decoding": "any",
    "split": "unseen",
    "selection": "top_k",
    "classifier": "bert",
}  # a generator's facts stand at each of its cells
INTRO = (
    "Pairs of texts that the model was not trained on; alpha is the weight of the first. Precision: share of the words of the new text that are "
    "in a source, each as often as it is there at most. Similarity: cosine of the encoder's mean states. Copies: new texts that are one of their "
    "sources; novel: that are no text of D_cg. Perplexity: of the decoder backbone, without a prompt. Prefers the first: pairs whose first text "
    "is the likelier one. Both texts: probability of the two sources together, which is near 1 where a model knows nothing between them."
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
    "As many synthetic texts as training texts, and none is filtered: each training text once more, or texts between two that were drawn at random. "
    "`mixup` writes no text: it mixes the states of texts, and their labels, while the classifier learns."
)
IID, BY = "iid", ("generator", "classifier")
CURVES = ("precision_a", "precision_b", "similarity_a", "similarity_b")


def tables(results: Results) -> list[Table]:
    made = []
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
        made.append(Table(benchmark, results.setting(shown), ["generator", "alpha", *MEASURES], lines))
    return made + plain(results)


def plain(results: Results) -> list[Table]:
    """Plain augmentation: what more texts, and mixed states, are worth without compositional shift."""
    made = []
    columns = {words: (IID, metric) for metric, words in METRICS.items()}
    for _, benchmark, rows in results.of(EXPERIMENT, decoding="threshold", split=IID):
        acc = pick(rows, metric="acc")
        lines = results.lines(rows, BY, columns)
        for line in lines:
            own, none = (pick(acc, **dict(zip(BY, cell, strict=True))) for cell in (line[:2], ("none", "bert")))
            line.append(Entry() if own.equals(none) else entry(difference(own, none), sign=True))
        title = f"{benchmark}: plain augmentation, training and test split at random"
        made.append(Table(title, f"{results.setting(rows)} {PLAIN}", [*BY, *columns, "Acc over none"], lines))
    return made


def figures_of(results: Results) -> list[Figure]:
    made = []
    for experiment, benchmark, rows in results.of(*EXPERIMENTS, **OF):
        found = summaries(rows, "generator", "metric")
        curves = {name: curves_of(found, name) for name in results.ordered({name for name, _ in found})}
        curves = {name: parts for name, parts in curves.items() if parts}
        if curves:
            caption = f"Between two held-out texts, {benchmark}: nearer to the first as its weight grows"
            made.append(Figure(f"{experiment}-{benchmark}", caption, partial(figures.between, curves)))
    return made


def curves_of(found: dict[tuple, Summary], generator: str) -> dict[str, list[tuple[float, Summary]]]:
    """{"precision_a": [(alpha, its mean and interval)]} of a generator, in the order of alpha; {} where nothing was measured."""
    made: dict[str, list[tuple[float, Summary]]] = {}
    for (name, metric), summary in found.items():
        measure, _, alpha = metric.removeprefix("between_").rpartition("_")
        if name == generator and metric.startswith("between_") and measure in CURVES:
            made.setdefault(measure, []).append((float(alpha), summary))
    return {measure: sorted(points, key=lambda point: point[0]) for measure, points in sorted(made.items())}
