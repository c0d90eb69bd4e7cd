"""Does it help? One line for each corpus and remedy; README and the page begin with them."""

from __future__ import annotations

import pandas as pd

from compaug.evaluation.longtable import pick, rows_by, summaries
from compaug.reports import NOT_REPORTED, number
from compaug.reports.entries import LEVEL, Entry, Table, gain, gained
from compaug.reports.queries import FIRST, Results

TITLE = "Does it help?"
EXPERIMENT = "paper"
# Experiments that compare generators: of each benchmark the first that has it.
COMPARISONS = ("paper", "fidelity", "pretrained", "pretrained_full", "pretrained_open", "small")
INTRO = (
    "Accuracy on new combinations in percent, mean over seeds; gain with its 95 % interval over seeds, of fewer than three seeds over test rows. *Shown by*: which of the two tests it passes, over test "
    "rows and over seeds, corrected for the best generator being the best of all; `worse` where it is the loss. *Over repeating*: where the support texts are repeated instead, as often as the texts are shown. "
    "The composition prior adds no text: it tells the decoding which combinations the target has; its gain is of H, the harmonic mean with known combinations, of which there is no test over rows. The systems that join the "
    "paper's stand each at one setting: half of D_train, CoDa without overgeneration, guidance 2, mixout 0.3."
)
HEAD = ("corpus", "what is added", "Acc without", "with", "gain", "shown by", "over repeating", "that shown by")
REPEATING = "oversample"  # the control that repeats the support texts
OFTEN = {"generator": "ls_pt", "classifier": "bert+synthetic_repeat=4"}
MANY = OFTEN | {"generator": "ls_pt+requested=8000", "selection": "k=4000"}
# What is added, experiment, the cell that has it, and the value of the column `over` that it is compared with.
EMPHASIS = (
    *(
        ("texts of `ls_pt`, each four times an epoch", experiment, OFTEN, "none")
        for experiment in ("emphasis", "emphasis_pretrained", "pretrained_full")
    ),
    ("four times as many texts of `ls_pt`, each four times", "pretrained_full", MANY, "none"),
)
SYSTEMS = (
    (
        "the hard half alone (cartography)",
        "cartography",
        {"generator": "none", "classifier": "bert+region=hard+epochs=4"},
        "bert",
    ),
    ("texts of `coda`", "coda", {"generator": "coda+max_tokens=40"}, "none"),
    ("texts of `linda`", "linda", {"generator": "linda"}, "none"),
    ("texts of `linda_prefix`", "linda_pretrained", {"generator": "linda_prefix"}, "none"),
    ("texts of `masked_joint`", "joint", {"generator": "masked_joint"}, "none"),
    ("texts of `masked_joint_lora`", "joint_pretrained", {"generator": "masked_joint_lora"}, "none"),
    ("guidance beside `ls_pt`", "guidance", {"generator": "ls_pt+guidance=2"}, "ls_pt"),
    ("mixout beside `ld_vae`", "mixout", {"generator": "ld_vae", "classifier": "bert+mixout=0.3"}, "bert"),
)


def tables(results: Results) -> list[Table]:
    augmented, decoded = of_augmentation(results), of_decoding(results)
    lines = [_line(f"texts of `{one['best']}`", one["acc"], *one["gains"]) for one in augmented]
    lines += [_line(*cell) for cell in of_cells(results, EMPHASIS)]
    for one in decoded:
        unseen = [Entry(float(value)) for value in one["unseen"].split(" to ")]
        words, (own, *_) = f"composition prior, no text; H {one['harmonic']}", one["gain"]
        of_h = [Entry(own.ours, own.ci95, words=f"H {own}"), passed(one["row"]), *[NOT_REPORTED] * 2]
        lines.append([one["benchmark"], words, *unseen, *of_h])
    commits = sorted({one["commit"] for one in (*augmented, *decoded)} - {""})
    note = (
        f"Numbers of the first grids ([archive](../archive/README.md)), made at {', '.join(commits)}."
        if commits
        else ""
    )
    systems = [_line(*cell) for cell in of_cells(results, SYSTEMS)]
    return [Table("", note, HEAD, lines), Table("The systems that join the paper's", "", HEAD, systems)]


def _line(words: str, acc: float, own: pd.Series, repeating: pd.Series | None) -> list[str | Entry]:
    """A row of HEAD: the gain of a cell with that Acc, and its gain over repeating, each with the tests that it passes."""
    over = [Entry(words=NOT_REPORTED), NOT_REPORTED] if repeating is None else [gained(repeating), passed(repeating)]
    return [own["benchmark"], words, Entry(acc - own["mean"]), Entry(acc), gained(own), passed(own), *over]


def of_augmentation(results: Results) -> list[dict]:
    """For every benchmark: did augmentation help, by how much, how sure; the best generator against both controls."""
    gains = pick(results.gains, metric="acc", decoding="threshold", selection="top_k", classifier="bert")
    there = set(gains["experiment"])
    shown, made, told = [name for name in COMPARISONS if name in there] or sorted(there), [], set()
    current = {benchmark.partition("+")[0] for benchmark in pick(gains, experiment=shown, commit="")["benchmark"]}
    for experiment, benchmark, rows in results.of(*shown):
        archived = set(rows["commit"]) != {""}
        if benchmark in told or (archived and benchmark.partition("+")[0] in current):
            continue
        acc = pick(rows, metric="acc", decoding="threshold", selection="top_k", classifier="bert")
        found = summaries(pick(acc, split=("iid", "unseen")), "split", "generator")
        own = rows_by(pick(gains, experiment=experiment, benchmark=benchmark), "generator", "over")
        others = [name for name, over in own if over == "none" and name not in FIRST and ("unseen", name) in found]
        if not others:
            continue
        most = max(own[name, "none"]["seeds"] for name in others)
        if archived and most < 2:
            continue  # one seed of the first grids shows nothing, and no test can be made with it
        others = [name for name in others if own[name, "none"]["seeds"] == most]  # one seed may be luck
        best = max(others, key=lambda name: found["unseen", name].mean)
        over_none, over_repeating = own[best, "none"], own.get((best, "oversample"))
        none, acc = found["unseen", "none"].mean, found["unseen", best].mean
        iid = found["iid", "none"].mean if ("iid", "none") in found else None
        verdict = {"benchmark": benchmark, "best": best, "none": none, "acc": acc, "iid": iid, "rows": rows}
        verdict |= {"gain": gain(over_none), "helped": sure(over_none)}
        verdict |= {"commit": over_none["commit"], "over": None, "gains": (over_none, over_repeating)}
        if over_repeating is not None:
            verdict |= {
                "over": gain(over_repeating),
                "beats": either_way(over_repeating, "it is worse"),
            }
        made.append(verdict)
        told.add(benchmark)
    return sorted(made, key=lambda one: bool(one["commit"]))  # current numbers first


def of_decoding(results: Results) -> list[dict]:
    """For every benchmark of the generalised protocol: what the composition prior does for the classifier without augmentation."""
    made, cell = [], {"generator": "none", "classifier": "bert", "selection": "top_k"}
    keys = {"harmonic": ("unseen", "harmonic"), "seen": ("seen", "acc"), "unseen": ("unseen", "acc")}
    gains = pick(results.gains, metric="harmonic", over="threshold", decoding="composition_prior")
    for experiment, benchmark, rows in results.of("prior", "pretrained_prior", **cell, metric=("acc", "harmonic")):
        found = summaries(rows, "decoding", "split", "metric")
        for _, row in pick(gains, experiment=experiment, benchmark=benchmark, **cell).iterrows():
            pairs = {
                name: " to ".join(number(found[decoding, *key].mean) for decoding in (row["over"], row["decoding"]))
                for name, key in keys.items()
            }
            made.append(pairs | {"benchmark": benchmark, "gain": gain(row), "row": row, "commit": row["commit"]})
    return made


def of_emphasis(results: Results) -> dict[str, list[dict]]:
    """For every benchmark of EMPHASIS its lines: what more of the texts, or the same ones more often, are worth."""
    made: dict[str, list[dict]] = {}
    for words, acc, own, repeating in of_cells(results, EMPHASIS):
        for added, row in ((words, own), ("the same, over repeating as often", repeating)):
            if row is not None:
                line = {"added": added, "without": Entry(acc - row["mean"]), "acc": Entry(acc), "gained": gained(row)}
                made.setdefault(own["benchmark"], []).append(line | {"shown": either_way(row, "it harms")})
    return made


def of_cells(results: Results, wanted: tuple) -> list[tuple]:
    """Of each of the wanted cells, given as in SYSTEMS, that has results: its words, its Acc, its gain, and that over repeating or None."""
    made, usual = [], {"selection": "top_k", "classifier": "bert", "decoding": "threshold", "metric": "acc"}
    for words, experiment, cell, over in wanted:
        where = usual | {"experiment": experiment} | cell
        against = rows_by(pick(results.gains, **where, over=REPEATING), "benchmark") if over == "none" else {}
        for _, row in pick(results.gains, **where, over=over).iterrows():
            acc = pick(results.frame, **where, split="unseen", benchmark=row["benchmark"])["value"].mean()
            made.append((words, acc, row, against.get((row["benchmark"],))))
    return made


def either_way(row: pd.Series, loss: str) -> str:
    """`sure` of a gain, or of a loss, with these words in the place of yes."""
    return sure(row) if row["mean"] > 0 else sure(row, -1).replace("yes", loss, 1)


def sure(row: pd.Series, way: int = 1) -> str:
    """In words, what the two tests allow of a gain, or with `way` -1 of a loss. Their p values are Holm-corrected over the generators: the best of many was picked."""
    by_rows, by_seeds = _tests(row, way)
    if pd.isna(row["p_seeds"]):
        return f"{'yes, by the test over test rows' if by_rows else 'not shown'}; one seed, so no test over seeds"
    if by_rows and by_seeds:
        return "yes, by the tests over test rows and over seeds"
    by, not_by = ("test rows", "seeds") if by_rows else ("seeds", "test rows")
    return f"yes by the test over {by}, not by that over {not_by}" if by_rows or by_seeds else "not shown"


def passed(row: pd.Series) -> str:
    """The same in the fewest words, of a gain or of a loss: the tests that show it."""
    way = 1 if row["mean"] > 0 else -1
    found = [name for name, is_passed in zip(("rows", "seeds"), _tests(row, way), strict=True) if is_passed]
    said = ("" if way > 0 else "worse: ") + ", ".join(found) if found else "neither"
    return f"{said} (one seed)" if pd.isna(row["p_seeds"]) else said


def _tests(row: pd.Series, way: int) -> tuple[bool, bool]:
    """Whether the test over rows and that over seeds are passed; a missing one is not."""
    return tuple(bool(way * row["mean"] > 0 and row[name] < LEVEL) for name in ("p_rows", "p_seeds"))
