"""Figures 2 and 5: what the generators have for a label, in many combinations."""

from collections.abc import Iterator
from functools import partial

from compaug.evaluation.longtable import pick
from compaug.reports import figures
from compaug.reports.entries import Figure
from compaug.reports.queries import Query, Results

EXPERIMENT = "ablations"
VIEWS = {f"{view}, {score}": f"{score}_{view}" for score in ("probe", "silhouette") for view in ("latent", "state")}
tables = Query(
    experiments=[EXPERIMENT],
    rows={"selection": "top_k", "decoding": "any", "metric": VIEWS.values()},
    columns=VIEWS,
).tables


def figures_of(results: Results) -> Iterator[Figure]:
    """Of the first seed."""
    for _, benchmark, rows in results.of(EXPERIMENT, classifier="bert", selection="top_k"):
        rows, name = pick(rows, metric=VIEWS.values()), f"representations-{benchmark}"
        seed = rows["seed"].min()
        files = {generator: f"{benchmark}-{generator}-{seed}" for generator in results.ordered(rows["generator"])}
        by_generator = {
            key: results.representations[file] for key, file in files.items() if file in results.representations
        }
        if by_generator:
            draw = partial(figures.representations, benchmark, by_generator)
            yield Figure(name, f"Label representations in many combinations, seed {seed}, {benchmark}", draw)
