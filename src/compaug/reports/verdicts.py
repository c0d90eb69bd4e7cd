"""Does it help? One line for each corpus and remedy; README and the page begin with them."""

from __future__ import annotations

import pandas as pd

from compaug.evaluation.longtable import pick, rows_by, summaries
from compaug.reports import number
from compaug.reports.entries import LEVEL, Entry, Table, gain, gained
from compaug.reports.queries import FIRST, Results

TITLE = "Does it help?"
EXPERIMENT = "paper"
# Experiments that compare generators: of each benchmark the first that has it.
COMPARISONS = ("paper", "fidelity", "pretrained", "pretrained_full", "pretrained_open", "small")
INTRO = (
    "Accuracy on new combinations in percent, mean over seeds; gain with its 95 % interval over seeds, of fewer than three seeds over test rows. The best generator is the best of all, and the "
    "tests are corrected for that. The composition prior adds no text: it tells the decoding which combinations the target has. The systems "
    "that join the paper's stand each at one setting: half of D_train, CoDa without overgeneration, guidance 2, mixout 0.3."
)
OFTEN = {"generator": "ls_pt", "classifier": "bert+synthetic_repeat=4"}
# What is added, experiment, the cell that has it, and the value of the column `over` that it is compared with.
EMPHASIS = tuple(
    (words, experiment, OFTEN, over)
    for experiment in ("emphasis", "emphasis_pretrained", "pretrained_full")
    for words, over in (
        ("texts of `ls_pt`, each four times an epoch", "none"),
        ("the same, over repeating as often", "oversample"),
    )
)
MANY = OFTEN | {"generator": "ls_pt+requested=8000", "selection": "k=4000"}
EMPHASIS += (("four times as many texts of `ls_pt`, each four times", "pretrained_full", MANY, "none"),)
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
    augmented, decoded, lines = of_augmentation(results), of_decoding(results), []
    for one in augmented:
        acc = pick(
            one["rows"], metric="acc", decoding="threshold", selection="top_k", classifier="bert", split="unseen"
        )
        lines.append(
            [
                one["benchmark"],
                f"texts of `{one['best']}`",
                Entry(one["none"]),
                Entry(one["acc"]),
                one["gained"],
                one["helped"],
            ]
        )
        if one["over"]:
            said = [
                Entry(summaries(acc, "generator")["oversample"].mean),
                Entry(one["acc"]),
                one["over_gained"],
                one["beats"],
            ]
            lines.append([one["benchmark"], "the same, over repeating the support texts", *said])
    lines += of_cells(results, EMPHASIS)
    for one in decoded:
        unseen = [Entry(float(value)) for value in one["unseen"].split(" to ")]
        words = f"the gain is of H, the harmonic mean with known combinations: {one['harmonic']}"
        lines.append([one["benchmark"], "composition prior, no text", *unseen, one["gain"][0], words])
    commits = sorted({one["commit"] for one in (*augmented, *decoded)} - {""})
    note = (
        f"Numbers of the first grids ([archive](../archive/README.md)), made at {', '.join(commits)}."
        if commits
        else ""
    )
    head = ["corpus", "what is added", "Acc without", "with", "gain", "shown?"]
    return [
        Table("", note, head, lines),
        Table("The systems that join the paper's", "", head, of_cells(results, SYSTEMS)),
    ]


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
        verdict |= {"gain": gain(over_none), "gained": gained(over_none), "helped": sure(over_none)}
        verdict |= {"commit": over_none["commit"], "over": None}
        if over_repeating is not None:
            verdict |= {
                "over": gain(over_repeating),
                "beats": either_way(over_repeating, "it is worse"),
                "over_gained": gained(over_repeating),
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
            made.append(pairs | {"benchmark": benchmark, "gain": gain(row), "commit": row["commit"]})
    return made


def of_emphasis(results: Results) -> dict[str, list[dict]]:
    """For every benchmark of EMPHASIS its lines: what more of the texts, or the same ones more often, are worth."""
    made: dict[str, list[dict]] = {}
    for benchmark, *line in of_cells(results, EMPHASIS):
        names = ("added", "without", "acc", "gained", "shown")
        made.setdefault(benchmark, []).append(dict(zip(names, line, strict=True)))
    return made


def of_cells(results: Results, wanted: tuple) -> list[list]:
    """A line for each of the wanted cells, given as in SYSTEMS, that has results."""
    made, usual = [], {"selection": "top_k", "classifier": "bert", "decoding": "threshold", "metric": "acc"}
    for words, experiment, cell, over in wanted:
        where = usual | {"experiment": experiment} | cell
        for _, row in pick(results.gains, **where, over=over).iterrows():
            acc = pick(results.frame, **where, split="unseen", benchmark=row["benchmark"])["value"].mean()
            said = either_way(row, "it harms")
            made.append([row["benchmark"], words, Entry(acc - row["mean"]), Entry(acc), gained(row), said])
    return made


def either_way(row: pd.Series, loss: str) -> str:
    """`sure` of a gain, or of a loss, with these words in the place of yes."""
    return sure(row) if row["mean"] > 0 else sure(row, -1).replace("yes", loss, 1)


def sure(row: pd.Series, way: int = 1) -> str:
    """In words, what the two tests allow of a gain, or with `way` -1 of a loss. Their p values are Holm-corrected over the generators: the best of many was picked."""
    # a missing test is not passed
    by_rows, by_seeds = (way * row["mean"] > 0 and row[name] < LEVEL for name in ("p_rows", "p_seeds"))
    if pd.isna(row["p_seeds"]):
        return f"{'yes, by the test over test rows' if by_rows else 'not shown'}; one seed, so no test over seeds"
    if by_rows and by_seeds:
        return "yes, by the tests over test rows and over seeds"
    passed, failed = ("test rows", "seeds") if by_rows else ("seeds", "test rows")
    return f"yes by the test over {passed}, not by that over {failed}" if by_rows or by_seeds else "not shown"
