"""The one page, reports/index.html: the verdict, then every table and figure as the queries make them, sample texts, provenance."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from PIL import Image

from compaug.evaluation.longtable import digest_of, pick, rows_by, summaries
from compaug.records import InputError
from compaug.reports import NOT_REPORTED, contents, number
from compaug.reports.entries import LEVEL, gain
from compaug.reports.queries import FIRST, Results
from compaug.reports.rendering import render


def verdicts(results: Results) -> list[dict]:
    """For every benchmark: did augmentation help, by how much, how sure; the best generator against both controls."""
    gains = pick(results.gains, metric="acc", decoding="threshold", selection="top_k", classifier="bert")
    shown = ["paper"] if "paper" in set(gains["experiment"]) else sorted(set(gains["experiment"]))
    made = []
    for experiment, benchmark, rows in results.of(*shown):
        acc = pick(rows, metric="acc", decoding="threshold", selection="top_k", classifier="bert")
        found = summaries(pick(acc, split=("iid", "unseen")), "split", "generator")
        own = rows_by(pick(gains, experiment=experiment, benchmark=benchmark), "generator", "over")
        others = [name for name, over in own if over == "none" and name not in FIRST and ("unseen", name) in found]
        if not others:
            continue
        best = max(others, key=lambda name: found["unseen", name].mean)
        over_none, over_repeating = own[best, "none"], own.get((best, "oversample"))
        none, acc = found["unseen", "none"].mean, found["unseen", best].mean
        iid = found["iid", "none"].mean if ("iid", "none") in found else None
        verdict = {"benchmark": benchmark, "best": best, "none": none, "acc": acc, "iid": iid}
        verdict |= {"gain": gain(over_none), "helped": sure(over_none), "commit": over_none["commit"], "over": None}
        if over_repeating is not None:
            verdict |= {"over": gain(over_repeating), "beats": sure(over_repeating)}
        made.append(verdict)
    return made


def corrected(results: Results) -> list[dict]:
    """For every benchmark of the generalised protocol: what the composition prior does for the classifier without augmentation."""
    made, cell = [], {"generator": "none", "classifier": "bert", "selection": "top_k"}
    keys = {"harmonic": ("unseen", "harmonic"), "seen": ("seen", "acc"), "unseen": ("unseen", "acc")}
    gains = pick(results.gains, experiment="prior", metric="harmonic", over="threshold", decoding="composition_prior")
    for _, benchmark, rows in results.of("prior", **cell, metric=("acc", "harmonic")):
        found = summaries(rows, "decoding", "split", "metric")
        for _, row in pick(gains, benchmark=benchmark, **cell).iterrows():
            pairs = {
                name: " to ".join(number(found[decoding, *key].mean) for decoding in (row["over"], row["decoding"]))
                for name, key in keys.items()
            }
            made.append(pairs | {"benchmark": benchmark, "gain": gain(row), "commit": row["commit"]})
    return made


def sure(row: pd.Series) -> str:
    """In words, what the two tests allow. Their p values are Holm-corrected over the generators: the best of many was picked."""
    by_rows, by_seeds = (
        row["mean"] > 0 and row[name] < LEVEL for name in ("p_rows", "p_seeds")
    )  # a missing test is not passed
    if pd.isna(row["p_seeds"]):
        return f"{'yes, by the test over test rows' if by_rows else 'not shown'}; one seed, so no test over seeds"
    if by_rows and by_seeds:
        return "yes, by the tests over test rows and over seeds"
    passed, failed = ("test rows", "seeds") if by_rows else ("seeds", "test rows")
    return f"yes by the test over {passed}, not by that over {failed}" if by_rows or by_seeds else "not shown"


def samples(quality: Mapping[str, Mapping]) -> dict | None:
    """{"files", "texts": [[file number, composition, text, whether the oracle finds it faithful]]} for the search."""
    found = {name: one["samples"] for name, one in quality.items() if one.get("samples")}
    texts = [
        [at, row["requested"], row["text"], row["faithful"]] for at, rows in enumerate(found.values()) for row in rows
    ]
    return {"files": list(found), "texts": texts} if found else None


def sections(results: Results, figures: Path) -> list[dict]:
    """Every query with its tables and figures, or the command that makes what it has nothing for."""
    made = []
    for name, query in contents.TABLES.items():
        tables = contents.tables(name, results)
        shown = [(one.caption, data_uri(figures / f"{one.name}.png")) for one in contents.figures(name, results)]
        section = {"anchor": name, "title": query.TITLE, "intro": query.INTRO, "tables": tables, "figures": shown}
        made.append(section | {"missing": "" if tables else contents.missing(name)})
    return made


def provenance(results: Results, costs: Mapping[str, Mapping], archived: Mapping[str, Mapping]) -> list[dict]:
    """A row for every experiment. `costs`: of reports/provenance.json, which count only for the very same numbers; `archived`: of the archive."""
    made = []
    for (experiment, commit), rows in results.frame.groupby(["experiment", "commit"]):
        known, digest = (archived if commit else costs).get(experiment, {}), digest_of(rows)
        if not commit and known.get("digest") != digest:
            known = {}
        row = {"experiment": experiment, "commit": known.get("commit", commit), "digest": digest[:12]}
        row["settings"] = [f"{benchmark}: {results.setting(some)}" for benchmark, some in rows.groupby("benchmark")]
        row["hardware"] = "; ".join(known.get("hardware", [])) or NOT_REPORTED
        row["seconds"], row["cost"] = known.get("seconds", ""), NOT_REPORTED
        if row["seconds"]:
            row["cost"] = f"{number(row['seconds'] / 3600)} h"
        made.append(row)
    return made


def data_uri(path: Path) -> str:
    """A figure with a palette of 64 colours, which is a third of its bytes; InputError for a file that is no whole image."""
    small = io.BytesIO()
    try:
        with Image.open(path) as image:
            image.convert("RGB").quantize(64, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    except FileNotFoundError:
        raise InputError(f"{path}: no such figure; `make tables` draws it") from None
    except (OSError, SyntaxError):  # no image at all, a truncated one, a broken chunk
        raise InputError(f"{path}: not a readable image; `make tables` draws it again") from None
    return f"data:image/png;base64,{base64.b64encode(small.getvalue()).decode()}"


def page(results: Results, figures: Path, quality: Mapping[str, Mapping], provenance: list[dict]) -> str:
    """One self-contained page: no file, font or script from elsewhere."""
    return render(
        "page.html",
        verdicts=verdicts(results),
        corrected=corrected(results),
        sections=sections(results, figures),
        samples=samples(quality),
        provenance=provenance,
    )
