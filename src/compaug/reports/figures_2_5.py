"""Figures 2 and 5: what the generators have for a label, in many compositions."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

from compaug.reports import figures
from compaug.reports.cells import Figure, Table, cell
from compaug.reports.longtable import Results, pick, summaries

TITLE = "Figures 2 and 5: label representations"
EXPERIMENT = "ablations"
INTRO = (
    "Every label in every composition of D_cg: latent is what the generator itself has for it (z_y of LD-VAE, the prefix of LS-PT, which is one "
    "for all compositions by construction, so 1, the states of its phrase for Flan-T5 and GPT2-PT); state is the frozen decoder's last state "
    "of its phrase behind the generator's prefix. Silhouette by label with the cosine distance, from -1 to 1."
)
VIEWS = ("latent", "state")


def tables(results: Results) -> list[Table]:
    made = []
    for _, benchmark, rows in results.of(EXPERIMENT):
        rows = pick(rows, decoding="any", metric=[f"silhouette_{view}" for view in VIEWS])
        found = summaries(rows, "generator", "metric")
        lines = [
            [name, *(cell(found.get((name, f"silhouette_{view}"))) for view in VIEWS)]
            for name in results.ordered(rows["generator"])
        ]
        made += [Table(benchmark, results.setting(rows), ["generator", *VIEWS], lines)] if lines else []
    return made


def figures_of(results: Results) -> list[Figure]:
    """Of the first seed; where the points were not kept, the archive's figure."""
    made = []
    for _, benchmark, rows in results.of(EXPERIMENT):
        seeds = sorted(pick(rows, metric=[f"silhouette_{view}" for view in VIEWS])["seed"])
        found = (
            {
                name: results.representations.get(f"{benchmark}-{name}-{seeds[0]}")
                for name in results.ordered(rows["generator"])
            }
            if seeds
            else {}
        )
        found = {name: one for name, one in found.items() if one}
        name = f"representations-{benchmark}"
        archived = results.archive / EXPERIMENT / "figures" / f"{name}.png"
        if found:
            draw = partial(figures.representations, benchmark, found)
        elif seeds and archived.exists():
            draw = partial(_copied, archived)
        else:
            continue
        made.append(Figure(name, f"Label representations in many combinations, seed {seeds[0]}, {benchmark}", draw))
    return made


def _copied(figure: Path, path: Path) -> None:
    shutil.copyfile(figure, path.with_suffix(".png"))
