"""Figures: one style, PNG, readable in grey."""

import contextlib
import io
import itertools
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no display is needed
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MultipleLocator
from PIL import Image

from compaug.core.files import atomic_path
from compaug.core.markdown import number
from compaug.evaluation.statistics import Summary

COLOURS = 64
STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.dpi": 150,
    "hatch.linewidth": 0.6,
}
KINDS = {  # kind: words, colour, hatch; the lightness alone tells them apart
    "exact": ("right", "#17415e", ""),
    "subset": ("labels missing", "#3f86b5", ""),
    "empty": ("nothing said", "#8fbfdc", "...."),
    "superset": ("too many labels", "#e0a84c", "////"),
    "overlap": ("some right, some wrong", "#eed9b0", ""),
    "disjoint": ("all wrong", "#f7f3ea", "xxxx"),
}


@contextlib.contextmanager
def drawn(path: Path, *grid: int, **more) -> Iterator[tuple]:
    """A figure and its axes in the project's style, saved afterwards; arguments as those of `plt.subplots`."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(*grid, **more)
        yield figure, axes
        save(figure, path)


def save(figure, path: Path) -> None:
    """`path`.png with a palette, which is a third of its bytes."""
    drawing = io.BytesIO()
    figure.savefig(drawing, format="png", bbox_inches="tight")
    with Image.open(drawing) as image, atomic_path(path.with_suffix(".png")) as temporary:
        few = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        few.save(temporary, "PNG", optimize=True)
    plt.close(figure)


def _means(summaries: Iterable[Summary]) -> tuple[np.ndarray, np.ndarray]:
    """Means and half widths of the 95 % t intervals over seeds, 0 where there is none."""
    return tuple(np.array([(s.mean, s.ci95 or 0.0) for s in summaries]).reshape(-1, 2).T)


def _curve(axes, places: Sequence[float], summaries: Iterable[Summary], alpha: float, band: str, *line, **style):
    """Means by place, and the intervals as a band of that colour and `alpha`."""
    means, half = _means(summaries)
    axes.fill_between(places, means - half, means + half, color=band, alpha=alpha, linewidth=0)
    axes.plot(places, means, *line, **style)


def kinds_of_answers(benchmark: str, arms: Mapping[str, Mapping[str, Mapping[str, float]]], path: Path) -> None:
    """Stacked bars: {classifier: {arm in words: {kind of answer: its share}}}."""
    n_bars = sum(len(rows) for rows in arms.values())
    outline = {"height": 0.86, "edgecolor": "#444444", "linewidth": 0.4}
    with drawn(path, figsize=(7.2, 0.27 * n_bars + 0.22 * len(arms) + 1.3)) as (_, axes):
        at, ticks = 0.0, {}
        for classifier, rows in arms.items():
            axes.text(0.6, at - 0.72, classifier, ha="left", va="center", fontweight="bold")
            for arm, shares in rows.items():
                left = 0.0
                for kind, share in shares.items():
                    words, colour, hatch = KINDS[kind]
                    label = None if ticks else words  # once in the legend
                    axes.barh(at, share, left=left, color=colour, hatch=hatch, label=label, **outline)
                    if kind == "exact" and share >= 4:
                        axes.text(left + share / 2, at, f"{share:.0f}", ha="center", va="center", color="white")
                    left += share
                ticks[at] = arm
                at += 1
            at += 0.8
        axes.set_yticks([*ticks], ticks.values())
        axes.set_ylim(at - 1.1, -1.1)
        axes.set_xlim(0, 100)
        axes.set_xlabel("% of the test texts")
        axes.set_title(f"{benchmark}: what the classifiers answer", loc="left", pad=44)
        above = {"loc": "lower left", "bbox_to_anchor": (0, 1.0)}
        axes.legend(ncols=3, frameon=False, handlelength=1.4, columnspacing=1.2, **above)


def seen_against_unseen(
    benchmark: str, points: Mapping[str, Mapping[str, tuple[float, float]]], words: Sequence[str], path: Path
) -> None:
    """The plane of seen and unseen accuracy, with curves of equal harmonic mean.

    Every generator has an arrow from the first of its two decodings to the second; `words` are the two decodings in
    words.
    """
    markers = itertools.product(("#17415e", "#b5651d"), "osD^vP*X")  # a second colour from the ninth generator on
    head = {"arrowstyle": "->", "color": "#666666", "shrinkA": 5, "shrinkB": 5}
    with drawn(path, figsize=(5.6, 4.6)) as (_, axes):
        every = np.array([pair for arrows in points.values() for pair in arrows.values()])
        limits = 1.15 * every.max(axis=0) + 2
        grid = np.meshgrid(*(np.linspace(0.1, limit, 200) for limit in limits))
        harmonic = 2 * grid[0] * grid[1] / (grid[0] + grid[1])
        lines = axes.contour(*grid, harmonic, levels=6, colors="#bbbbbb", linewidths=0.7)
        axes.clabel(lines, fmt="H = %.0f", fontsize=7)
        for (generator, arrow), (colour, marker) in zip(points.items(), itertools.cycle(markers), strict=False):
            start, end = arrow.values()
            axes.annotate("", end, start, arrowprops=head)
            axes.plot(*start, marker, color="white", markeredgecolor=colour, markersize=7)
            axes.plot(*end, marker, color=colour, markersize=7, label=generator, linestyle="none")
        axes.set(xlim=(0, limits[0]), ylim=(0, limits[1]))
        axes.set_xlabel("accuracy on seen combinations, %")
        axes.set_ylabel("accuracy on unseen combinations, %")
        axes.set_title(f"{benchmark}\nhollow {words[0]}, filled {words[1]}", loc="left")
        axes.legend(frameon=False)


WRITTEN, REPEATED, REAL = "#17415e", "#8fbfdc", "#e0a84c"  # texts of a generator, the support texts, the matched arm


def what_texts_teach(
    panels: Mapping[str, tuple[str, tuple[float, float, float], Mapping[str, tuple[float, float, float]]]], path: Path
) -> None:
    """Points that each arm adds to H at the best constant, as intervals, a panel for each corpus.

    Narrow, so that its words can be read on a telephone too.

    panels: {heading: (a line below it, what real texts add, {arm in words: what it adds})}, each as (mean, low, high),
    the low and high of a 95 % interval; the support texts repeated are the first arm.
    """
    heights = [len(arms) + 0.2 for *_, arms in panels.values()]
    size = (4.3, 0.21 * sum(heights) + 0.58 * len(panels) + 0.4)
    with drawn(path, len(panels), 1, figsize=size, squeeze=False, sharex=True, height_ratios=heights) as (figure, grid):
        for axes, (heading, (line, real, arms)) in zip(grid[:, 0], panels.items(), strict=True):
            axes.axvspan(real[1], real[2], color=REAL, alpha=0.25, linewidth=0)
            axes.axvline(real[0], color=REAL, linewidth=1.6)
            axes.axvline(0, color="#8a8a8a", linewidth=0.8)
            for at, (mean, low, high) in enumerate(arms.values()):
                colour = WRITTEN if at else REPEATED
                axes.plot([low, high], [at, at], color=colour, linewidth=2.2, solid_capstyle="butt")
                axes.plot([mean], [at], "o" if at else "s", color=colour, markersize=5)
            axes.set(ylim=(len(arms) - 0.4, -0.6), yticks=range(len(arms)))
            axes.set_yticklabels(list(arms))
            axes.tick_params(axis="y", length=0)
            axes.set_title(heading, loc="left", fontsize=9, fontweight="bold", pad=16)
            axes.annotate(line, (0, 1), (0, 4), xycoords="axes fraction", textcoords="offset points")
        grid[-1, 0].xaxis.set_major_locator(MultipleLocator(2))
        grid[-1, 0].set_xlabel("points of H over no texts, at the best constant\namber: real texts of the combinations")
        figure.tight_layout()


def accuracy_by_size(benchmark: str, curves: Mapping[str, Mapping[int, Summary]], path: Path) -> None:
    """Figure 4: accuracy against the number of synthetic texts, a small panel for every generator.

    The others are in grey behind it; the band is the 95 % t interval over seeds.
    """
    columns = min(4, len(curves))
    rows = -(-len(curves) // columns)
    size = (1.9 * columns + 0.6, 1.7 * rows + 0.6)
    with drawn(path, rows, columns, figsize=size, sharex=True, sharey=True, squeeze=False) as (figure, grid):
        for panel in grid.flat[len(curves) :]:
            panel.set_visible(False)
        for panel, (generator, curve) in zip(grid.flat, curves.items(), strict=False):
            for other in curves.values():
                panel.plot([*other], [s.mean for s in other.values()], color="#d5d5d5", linewidth=0.8)
            style = {"color": "#17415e", "markersize": 3.5, "linewidth": 1.3}
            _curve(panel, [*curve], curve.values(), 0.5, "#8fbfdc", "o-", **style)
            panel.set_title(generator, fontsize=9)
            panel.set_xticks([*curve])
            panel.tick_params(labelsize=7)
        for column in range(columns):  # the last row may be short: each column has its numbers below its own last panel
            grid[(len(curves) - 1 - column) // columns, column].tick_params(labelbottom=True)
        grid.flat[0].set_ylim(bottom=0)  # shared, so only when every band is drawn: it fixes the top as well
        figure.supxlabel("synthetic texts", fontsize=9)
        figure.supylabel("accuracy on unseen combinations, %", fontsize=9)
        title = f"{benchmark}: mean and 95 % interval over seeds; grey: the other generators"
        figure.suptitle(title, fontsize=9, x=0.02, ha="left")
        figure.tight_layout()


def accuracy_by_share(
    benchmark: str,
    curves: Mapping[str, Mapping[str, Mapping[float, tuple[Summary, Summary]]]],
    without: tuple[Summary, Summary],
    words: Sequence[str],
    path: Path,
) -> None:
    """Accuracy on unseen and on seen combinations, by the percentage of an epoch that texts make up.

    Each of the two has a panel with its `words`. curves: {generator: {number of texts in words: {percentage: both}}};
    every curve begins `without` texts. Bars: 95 % t intervals of three seeds or more.
    """
    colours = itertools.cycle(zip(("#17415e", "#b5651d", "#3f86b5", "#888888"), "osD^", strict=True))
    n_curves, at = sum(map(len, curves.values())), 0
    with drawn(path, 1, 2, figsize=(7.6, 3.6)) as (figure, panels):
        for (generator, by_number), (colour, marker) in zip(curves.items(), colours, strict=False):
            for (number_of, curve), style in zip(by_number.items(), itertools.cycle(("-", "--")), strict=False):
                # a little apart, so that bars at one percentage can be told from each other
                shares = [0.0, *(share + 0.7 * (at - (n_curves - 1) / 2) for share in curve)]
                for panel, which in zip(panels, zip(without, *curve.values(), strict=True), strict=True):
                    means, half = [s.mean for s in which], [s.ci95 if s.n > 2 else 0.0 for s in which]
                    panel.errorbar(shares, means, half, color=colour, alpha=0.4, linestyle="none", linewidth=1)
                    label = f"{generator}, {number_of}"
                    panel.plot(shares, means, marker, linestyle=style, color=colour, markersize=4, label=label)
                at += 1
        for panel, title in zip(panels, words, strict=True):
            panel.set_title(title, fontsize=9, loc="left")
            panel.set_ylim(bottom=0)
            panel.set_xlabel("synthetic texts, % of an epoch")
        panels[0].set_ylabel("accuracy, %")
        panels[1].legend(frameon=False, fontsize=8, loc="lower left")
        figure.suptitle(f"{benchmark}: mean and 95 % interval over seeds", fontsize=9, x=0.02, ha="left")
        figure.tight_layout()


def accuracy_by_fidelity(
    benchmark: str,
    curve: Mapping[float, Summary],
    points: Mapping[str, tuple[Summary, Summary]],
    without: Summary | None,
    path: Path,
) -> None:
    """What texts of a given fidelity are worth: the oracle's curve with the generators (fidelity, Acc) beside it.

    All have 95 % intervals over seeds; no texts is a line.
    """
    markers = itertools.product(("#b5651d", "#3f86b5"), "osD^vP*X")
    with drawn(path, figsize=(6.4, 4.4)) as (_, axes):
        style = {"color": "#17415e", "marker": ".", "label": "oracle's texts, so many of them right"}
        _curve(axes, [*curve], curve.values(), 0.4, "#8fbfdc", "-", **style)
        if without:
            axes.axhline(without.mean, color="#666666", linestyle=":", linewidth=1, label="no texts")
        for (name, (fidelity, acc)), (colour, marker) in zip(points.items(), itertools.cycle(markers), strict=False):
            style = {"color": colour, "elinewidth": 0.8, "linestyle": "none", "markeredgecolor": "#333333"}
            both = (fidelity.mean, acc.mean, acc.ci95, fidelity.ci95)
            axes.errorbar(*both, fmt=marker, label=name, markersize=6, **style)
        axes.set_xlim(-3, 103)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("added texts that say what was asked for, %")
        axes.set_ylabel("accuracy on unseen combinations, %")
        axes.set_title(f"{benchmark}: mean and 95 % interval over seeds", loc="left")
        axes.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1.01, 0.5))


def between(curves: Mapping[str, Mapping[str, Sequence[tuple[float, Summary]]]], path: Path) -> None:
    """What is written between two texts, by the weight of the first.

    curves: {generator: {measure and source, "precision_a": [(alpha, mean)]}}. The band is the 95 % t interval over
    seeds.
    """
    measures = {"precision": "words that are in it, share", "similarity": "cosine with it"}
    styles = {"a": ("-", "#17415e", "first text"), "b": ("--", "#b5651d", "second text")}
    size = (3.0 * len(curves) + 0.6, 4.6)
    with drawn(path, 2, len(curves), figsize=size, sharex=True, sharey="row", squeeze=False) as (figure, grid):
        for column, (generator, parts) in enumerate(curves.items()):
            for panel, (measure, words) in zip(grid[:, column], measures.items(), strict=True):
                for source, (line, colour, label) in styles.items():
                    points = parts.get(f"{measure}_{source}", [])
                    alphas, means = [alpha for alpha, _ in points], [summary for _, summary in points]
                    _curve(panel, alphas, means, 0.2, colour, line, color=colour, marker=".", label=label)
                panel.set_ylabel("" if column else words)
                panel.set_ylim(0, 1.02)  # a model that does not read its sources must not look as if it did
            title = generator.replace(",", ", ").replace("+", " ")  # options have no blanks, at which a line could end
            grid[0, column].set_title("\n".join(textwrap.wrap(title, 40)), fontsize=9)
            grid[1, column].set_xlabel("alpha, weight of the first text")
        grid[0, 0].legend(frameon=False, fontsize=7)
        figure.tight_layout()


def representations(benchmark: str, generators: Mapping[str, Mapping], path: Path) -> None:
    """Figures 2 and 5: t-SNE of the labels' representations in many combinations.

    The label's initial stands for it, so that the figure reads in grey.
    """
    names, centred = {"latent": "latent", "state": "decoder state"}, {"ha": "center", "va": "center"}
    with drawn(path, 2, len(generators), figsize=(2.1 * len(generators), 4.6), squeeze=False) as (figure, grid):
        for column, (generator, first) in enumerate(generators.items()):
            marks = initials(first["labels"])
            few = len(marks) <= 10
            colours = plt.get_cmap("tab10" if few else "turbo")(range(10) if few else np.linspace(0, 1, len(marks)))
            for panel, view in zip(grid[:, column], names, strict=True):
                panel.set(xticks=[], yticks=[], xlim=(-0.05, 1.05), ylim=(-0.05, 1.05))
                for spine in panel.spines.values():
                    spine.set_visible(view in first["views"])
                if view not in first["views"]:
                    why = "no decoder state:\nencoder-decoder"
                    panel.text(0.5, 0.5, why, fontsize=7, color="#666666", **centred)
                    continue
                for (x, y), label in zip(first["views"][view]["points"], first["pair_labels"], strict=True):
                    panel.text(x, y, marks[label], color=colours[label], fontsize=6, **centred)
                score = first["views"][view]["silhouette"]
                silhouette = "" if score is None else f", silhouette {number(score)}"
                panel.set_title(f"{generator}: {names[view]}{silhouette}", fontsize=7)
        key = ", ".join(f"{mark} {label}" for mark, label in zip(marks, first["labels"], strict=True))
        figure.text(0.01, -0.01, key, fontsize=7, wrap=True)
        figure.tight_layout()


def initials(labels: Sequence[str]) -> list[str]:
    """The shortest beginnings that tell the labels apart, three letters at most; else the label's number."""
    marks = []
    for place, label in enumerate(labels):
        others = [other for other in labels if other != label]
        heads = (label[:length] for length in (1, 2, 3))
        marks.append(next((head for head in heads if not any(o.startswith(head) for o in others)), str(place)))
    return marks


# ---------------------------------------------------------------- the root cell

SHOWN = 20  # combinations in a figure
PARTS = {  # words, marker, filled; of training, which should have none, the title gives the number
    "support": ("support", "|", True),
    "requested": ("asked for", "o", False),
    "kept": ("kept", "o", True),
    "test": ("test", "D", False),
}


@contextlib.contextmanager
def _by_composition(rows: Sequence[Mapping], xlabel: str, n: int, path: Path) -> Iterator:
    """A row for each of n combinations, the first at the top."""
    more = f"\nthe {SHOWN} of {n} combinations with the most test texts" if n > SHOWN else ""
    with drawn(path, figsize=(6.6, 0.28 * len(rows) + 1.2)) as (_, axes):
        yield axes
        axes.invert_yaxis()
        axes.grid(axis="x", color="#eeeeee")
        axes.set_axisbelow(True)
        axes.set_xlabel(f"{xlabel}{more}")


def composition_counts(rows: Sequence[Mapping], path: Path) -> None:
    """Which combinations support, requests, kept texts and D_test have, each as a share of its own texts.

    `rows` come with the most test texts first.
    """
    shown = rows[:SHOWN]
    with _by_composition(shown, "share of the part's texts, %", len(rows), path) as axes:
        for part, (words, marker, filled) in PARTS.items():
            if total := sum(row[part] for row in rows):
                shares = [100 * row[part] / total for row in shown]
                style = {"color": "#17415e", "markerfacecolor": "#17415e" if filled else "white", "markersize": 7}
                axes.plot(shares, range(len(shown)), marker, label=words, **style)
        axes.set_yticks(range(len(shown)), [row["composition"] for row in shown])
        in_train = int(sum(row["train"] for row in shown))
        who = "1 training text has" if in_train == 1 else f"{in_train} training texts have"
        axes.set_title(f"Combinations wanted, written and tested ({who} one of them)", loc="left", fontsize=9)
        axes.legend(frameon=False)


def filter_scores(histogram: Mapping[str, Mapping[str, int]], path: Path) -> None:
    """How the filter scored all texts and those that were kept."""
    with drawn(path, figsize=(5.2, 2.6)) as (_, axes):
        bins = list(histogram["before"])
        for name, colour, width in (("before", "#c9dbe8", 0.85), ("kept", "#17415e", 0.5)):
            axes.bar(range(len(bins)), [histogram[name][key] for key in bins], width, color=colour, label=name)
        axes.set_xticks(range(len(bins)), bins)
        axes.set_xlabel("Jaccard index of the filter's label set and the requested one (tenths; 1.0: equal)")
        axes.set_ylabel("texts")
        axes.legend(frameon=False)


def before_and_after(rows: Sequence[Mapping], path: Path) -> None:
    """Accuracy on the combinations of D_test without and with synthetic texts.

    Of more than SHOWN combinations those with the most test texts.
    """
    shown = sorted(sorted(rows, key=lambda row: -row["texts"])[:SHOWN], key=lambda row: -row["augmented"])
    with _by_composition(shown, "accuracy, % (in brackets: test texts)", len(rows), path) as axes:
        for at, row in enumerate(shown):
            axes.plot([row["baseline"], row["augmented"]], [at, at], color="#8fbfdc", linewidth=2, zorder=1)
        places = range(len(shown))
        axes.plot(
            [r["baseline"] for r in shown], places, "o", color="#17415e", markerfacecolor="white", label="without"
        )
        axes.plot([r["augmented"] for r in shown], places, "o", color="#17415e", label="with synthetic texts")
        axes.set_yticks(places, [f"{row['composition']} ({row['texts']:.0f})" for row in shown])
        axes.legend(frameon=False, loc="lower right")


# share of the epochs that were right: words, colour, marker; lightness and shape tell them apart without colour
CORRECTNESS = (
    (0.0, "right in none", "#17415e", "x"),
    (0.5, "right in up to half", "#3f86b5", "s"),
    (0.999, "right in more than half", "#e0a84c", "^"),
    (1.0, "right in all epochs", "#f1e2c0", "o"),
)


def data_map(title: str, measure: str, points: Mapping[str, Sequence], path: Path) -> None:
    """Confidence against variability, coloured by correctness, with the histograms of the three beside it.

    Synthetic rows have a dark edge.
    """
    columns = {name: np.asarray(points[name]) for name in ("confidence", "variability", "correctness")}
    synthetic, words = np.asarray(points["synthetic"], dtype=bool), measure.replace("_", " ")
    with drawn(path, 3, 2, figsize=(7.2, 4.4), width_ratios=(3, 1)) as (figure, grid):
        for panel in grid[:, 0]:
            panel.remove()
        axes = figure.add_subplot(grid[0, 0].get_gridspec()[:, 0])
        _scatter(axes, columns, synthetic)
        axes.set_xlabel(f"variability: standard deviation of {words} over epochs")
        axes.set_ylabel(f"confidence: mean of {words} over epochs")
        axes.set_title(title, loc="left", fontsize=9, pad=26)
        above = {"loc": "lower left", "bbox_to_anchor": (-0.02, 0.995), "ncols": 4, "columnspacing": 0.5}
        axes.legend(frameon=False, fontsize=6.5, handletextpad=0.0, **above)
        if synthetic.any():
            corner = {"transform": axes.transAxes, "ha": "right", "va": "bottom"}
            axes.text(0.99, 0.01, "black edge or cross: synthetic", fontsize=7, **corner)
        for panel, (name, values) in zip(grid[:, 1], columns.items(), strict=True):
            limits = (0, 1) if name == "correctness" else None
            panel.hist(values, bins=20, range=limits, color="#8fbfdc", edgecolor="#17415e", linewidth=0.4)
            panel.set_title(name, fontsize=8, loc="left")
            panel.tick_params(labelsize=7)
            panel.set_yticks([])
            panel.spines["left"].set_visible(False)
        figure.tight_layout()


def _scatter(axes, columns: Mapping[str, np.ndarray], synthetic: np.ndarray) -> None:
    """The rows of a data map; those that are right most often first, so that rare kinds lie on top."""
    kind = np.searchsorted([limit for limit, *_ in CORRECTNESS], columns["correctness"])
    for at, (_, words, colour, marker) in reversed([*enumerate(CORRECTNESS)]):
        for is_synthetic, edge in ((False, "#8a8a8a"), (True, "#000000")):
            group = (kind == at) & (synthetic == is_synthetic)
            if marker == "x":
                look = {"color": edge if is_synthetic else colour, "linewidth": 1.1 if is_synthetic else 0.9}
            else:
                look = {"facecolor": colour, "edgecolor": edge, "linewidth": 0.9 if is_synthetic else 0.3}
            label = words if not is_synthetic and (kind == at).any() else None
            places = columns["variability"][group], columns["confidence"][group]
            axes.scatter(*places, s=13, marker=marker, label=label, **look)
