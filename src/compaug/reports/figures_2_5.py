"""Figures 2 and 5: what the generators have for a label, in many compositions."""

from collections.abc import Iterator
from functools import partial

from compaug.evaluation.longtable import pick
from compaug.reports import figures
from compaug.reports.entries import Figure
from compaug.reports.queries import Query, Results

TITLE = "Figures 2 and 5: label representations"
EXPERIMENT = "ablations"
INTRO = (
    "Every label in every composition of D_cg: latent is what the generator itself has for it (z_y of LD-VAE, the "
    "prefix of LS-PT, which is one for all compositions by construction, so 1, the states of its phrase for Flan-T5 "
    "and GPT2-PT); state is the frozen decoder's last state of its phrase behind the generator's prefix. Probe: share "
    "of the pairs whose label has the nearest mean over the other compositions. Silhouette by label with the cosine "
    "distance, from -1 to 1; LD-VAE's vectors are sampled, which lowers it whatever they say. The means of its "
    "posteriors are no better witness: every label has an encoder of its own, so that they lie apart before anything "
    "is learned. So nothing here shows that its labels are disentangled by training."
)
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
