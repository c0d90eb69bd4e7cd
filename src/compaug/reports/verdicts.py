"""What every remedy gains at the threshold of 0.5: one line for each corpus and remedy."""

from collections.abc import Iterator

import pandas as pd

from compaug.evaluation.longtable import pick, rows_by, summaries
from compaug.reports.entries import Entry, Table, gained
from compaug.reports.queries import FIRST, Results

EXPERIMENT = "paper"
# Experiments that compare generators: of each benchmark the first that has it.
COMPARISONS = ("paper", "fidelity", "pretrained", "pretrained_full", "pretrained_open", "small")
HEAD = ("corpus", "what is added", "Acc without", "with", "gain", "over repeating")
REPEATING = "oversample"  # the control that repeats the support texts
MATCHED = "real_texts"
OFTEN = {"generator": "ls_pt", "classifier": "bert+synthetic_repeat=4"}
MANY = OFTEN | {"generator": "ls_pt+requested=8000", "selection": "k=4000"}
HARD_HALF = {"generator": "none", "classifier": "bert+region=hard+epochs=4"}
FOUR_TIMES = "texts of `ls_pt`, each four times an epoch"
# What is added, experiment, the cell that has it, and the value of the column `over` that it is compared with.
EMPHASIS = (
    (FOUR_TIMES, "emphasis", OFTEN, "none"),
    (FOUR_TIMES, "emphasis_pretrained", OFTEN, "none"),
    (FOUR_TIMES, "pretrained_full", OFTEN, "none"),
    ("four times as many texts of `ls_pt`, each four times", "pretrained_full", MANY, "none"),
)
SYSTEMS = (
    ("the hard half alone (cartography)", "cartography", HARD_HALF, "bert"),
    ("texts of `coda`", "coda", {"generator": "coda+max_tokens=40"}, "none"),
    ("texts of `linda`", "linda", {"generator": "linda"}, "none"),
    ("texts of `linda_prefix`", "linda_pretrained", {"generator": "linda_prefix"}, "none"),
    ("texts of `masked_joint`", "joint", {"generator": "masked_joint"}, "none"),
    ("texts of `masked_joint_lora`", "joint_pretrained", {"generator": "masked_joint_lora"}, "none"),
    ("guidance beside `ls_pt`", "guidance", {"generator": "ls_pt+guidance=2"}, "ls_pt"),
    ("mixout beside `ld_vae`", "mixout", {"generator": "ld_vae", "classifier": "bert+mixout=0.3"}, "bert"),
)


def tables(results: Results) -> list[Table]:
    first = [*best_of_each(results), *of_cells(results, EMPHASIS)]
    systems = list(of_cells(results, SYSTEMS))
    return [Table("", "", HEAD, first), Table("The systems that join the paper's", "", HEAD, systems)]


def _line(words: str, acc: float, row: pd.Series, repeating: pd.Series | None) -> list[str | Entry]:
    """A row of HEAD.

    Args: what is added, its Acc, its row of gains.csv and that over repeating, None where that was not compared.
    """
    return [row["benchmark"], words, Entry(acc - row["mean"]), Entry(acc), gained(row), gained(repeating)]


def best_of_each(results: Results) -> Iterator[list]:
    """A row for the generator of the highest Acc of every benchmark, in words that say of how many it is the best."""
    usual = {"metric": "acc", "decoding": "threshold", "selection": "top_k", "classifier": "bert"}
    covered: set[str] = set()
    for experiment, benchmark, rows in results.of(*COMPARISONS, **usual, split="unseen"):
        gains = pick(results.gains, experiment=experiment, benchmark=benchmark, **usual)
        over = rows_by(gains, "generator", "over")
        means = summaries(rows, "generator")
        arms = [name for name in means if name not in (*FIRST, MATCHED) and (name, "none") in over]
        if benchmark in covered or not arms:
            continue
        covered.add(benchmark)
        most = max(over[name, "none"]["seeds"] for name in arms)
        arms = [name for name in arms if over[name, "none"]["seeds"] == most]  # one seed may be luck
        best = max(arms, key=lambda name: means[name].mean)
        words = f"texts of `{best}`, best of {len(arms)}" if len(arms) > 1 else f"texts of `{best}`"
        yield _line(words, means[best].mean, over[best, "none"], over.get((best, REPEATING)))


def of_cells(results: Results, cells: tuple) -> Iterator[list]:
    """A row for each of the cells, written as in SYSTEMS, that has results."""
    usual = {"selection": "top_k", "classifier": "bert", "decoding": "threshold", "metric": "acc"}
    for words, experiment, cell, over in cells:
        where = usual | {"experiment": experiment} | cell
        against = rows_by(pick(results.gains, **where, over=REPEATING), "benchmark") if over == "none" else {}
        for _, row in pick(results.gains, **where, over=over).iterrows():
            acc = pick(results.frame, **where, split="unseen", benchmark=row["benchmark"])["value"].mean()
            yield _line(words, acc, row, against.get((row["benchmark"],)))
