"""Write the one page with every table and figure of the paper beside ours: self-contained, no network.

python -m stages.page --reports reports --selected data/selected --labels data/splits/diagnostic/labels.json \
    --benchmark diagnostic --seed 13 --out reports/index.html

A grid without results has its place on the page, with the command that makes them. The searchable texts are those of one benchmark,
which must be free to publish.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from compaug import params
from compaug.records import InputError, Labels, file_digest, read_json, read_jsonl, write_text
from compaug.reports import index, index_sections
from compaug.reports.paper import read_paper_values
from compaug.reports.tables import cell_name
from stages import parser, run

PARAMS = ["paper.seeds", "by_classifier.seeds", "prior.seeds", "ablations.seeds"]
TEXTS = 60  # of every generator, the best ones
LIMIT = 1_000_000  # bytes of the page


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    axes = {key.partition(".")[0]: params.load(args.params, [key])["seeds"] for key in PARAMS}
    seeds = {grid: axes[blocks[0]] for grid, blocks in index.GRIDS.items()}
    sources = index.read_sources(args.reports, read_paper_values(args.reports / "paper_values.yaml"), seeds)
    labels = Labels.read(args.labels)
    if (made := sources.grids.get("paper")) and args.benchmark not in made:
        raise InputError(
            f"--benchmark {args.benchmark}: not in {args.reports / 'paper/metrics.json'}; see page in params.yaml"
        )
    selected = {}
    for generator in sources.grids.get("paper", {}).get(args.benchmark, {}):
        path = args.selected / cell_name(args.benchmark, generator, args.seed).replace(".json", ".jsonl")
        if path.exists() and (rows := read_jsonl(path, len(labels))):
            selected[generator] = rows
            if not all(row.requested_labels for row in rows):
                raise InputError(f"{path}: a row without `requested_labels`; it has no kept texts")
    samples = index.samples_of(selected, labels, TEXTS) | {"benchmark": args.benchmark} if selected else None
    sections = index_sections.sections(sources, figures_of(args.reports), samples)
    page = index.render(sources, sections, provenance(args.reports, sources, seeds))
    if len(page.encode()) > LIMIT:
        raise InputError(
            f"{args.out}: the page has {len(page.encode()):,} bytes, more than {LIMIT:,}; show fewer texts or figures"
        )
    write_text(args.out, page)
    texts = (
        f"texts of {', '.join(selected)}"
        if selected
        else f"no texts: {args.selected} has none of {args.benchmark}, seed {args.seed}"
    )
    print(f"{args.out}: {len(page.encode()) / 1000:.0f} kB, {texts}")


def figures_of(reports: Path) -> dict[str, Path]:
    """{caption: PNG} of the grids' figures, in the order of the paper."""
    captions = {
        "ablations/figures/representations-": "Figures 2 and 5: label representations in many combinations, {}",
        "ablations/figures/synthetic-size-": "Figure 4: accuracy by number of synthetic texts, {}",
        "classifiers/figures/": "Kinds of errors of every classifier, {}",
        "prior/figures/seen-unseen-": "Seen against unseen accuracy under two decodings, {}",
    }
    found = {}
    for start, caption in captions.items():
        folder, name = (reports / start).parent, Path(start).name
        if start.endswith("/"):
            folder, name = reports / start, ""
        for path in sorted(folder.glob(f"{name}*.png")):
            found[caption.format(path.stem.removeprefix(name))] = path
    return found


def provenance(reports: Path, sources: index.Sources, seeds: Mapping[str, Sequence[int]]) -> list[dict]:
    """A row for every grid with results; cost, hardware and commit are of provenance.json, if that is of the same numbers."""
    kept = read_json(path) if (path := reports / "provenance.json").exists() else {}
    rows = []
    for grid, axes in index.GRIDS.items():
        if grid not in sources.grids:
            continue
        digest = file_digest(reports / grid / "metrics.json")
        known = kept.get(grid, {})
        if known.get("digest") != digest:
            known = {}
        cost = f"{known['seconds'] / 3600:.1f} h, {known['timed']} of {known['stages']} stages timed" if known else "–"
        rows.append(
            {
                "grid": grid,
                "command": f"dvc repro reports/{grid}/dvc.yaml",
                "axes": ", ".join(axes),
                "digest": digest[:12],
                "commit": known.get("commit", ""),
                "setting": index.setting_of(reports / grid, seeds[grid]) or "as the grid paper",
                "cost": cost,
                "seconds": known.get("seconds", ""),
                "hardware": "; ".join(known.get("hardware", [])) or "–",
            }
        )
    return rows


def _parser():
    made = parser(__doc__)
    made.add_argument("--reports", type=Path, default=Path("reports"), help="folder of the grids' results")
    made.add_argument("--selected", type=Path, required=True, help="folder of the kept texts")
    made.add_argument("--labels", type=Path, required=True, help="labels.json of the benchmark whose texts are shown")
    made.add_argument("--benchmark", required=True, help="benchmark whose texts are shown")
    made.add_argument("--seed", type=int, required=True, help="seed whose texts are shown")
    made.add_argument("--out", type=Path, required=True, help="page to write")
    return made


if __name__ == "__main__":
    run(main)
