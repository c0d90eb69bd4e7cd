"""The one page, reports/index.html: what texts teach, every table and figure, sample texts, provenance."""

import base64
import io
from collections.abc import Mapping
from pathlib import Path

from PIL import Image

from compaug.core.files import InputError
from compaug.core.markdown import NOT_REPORTED, number
from compaug.core.pages import render
from compaug.evaluation.longtable import digest_of
from compaug.reports import cartography_tables, contents, knowledge_tables
from compaug.reports.queries import Results


def samples(quality: Mapping[str, Mapping]) -> dict | None:
    """{"files", "texts": [[file number, combination, text, whether the oracle finds it faithful]]} for the search.

    Of a generator or selection that differs from params.yaml there is the first seed alone, for the page has no room
    for all.
    """
    by_file: dict[str, list] = {}
    varied = set()
    for name in sorted(name for name, facts in quality.items() if facts.get("samples")):
        words = name.rpartition("-")[0]  # the seed stands last
        if words not in varied:
            by_file[name] = quality[name]["samples"]
        if "=" in words:
            varied.add(words)
    texts = [
        [at, row["requested"], row["text"], row["faithful"]] for at, rows in enumerate(by_file.values()) for row in rows
    ]
    return {"files": list(by_file), "texts": texts} if by_file else None


def sections(results: Results, figures: Path) -> list[dict]:
    """Every query with its tables and figures, or the command that makes what it has nothing for."""
    sections = []
    for name, query in contents.TABLES.items():
        tables = contents.tables(name, results)
        drawn = (
            figure for figure in contents.figures(name, results) if figure.on_page and query is not knowledge_tables
        )
        shown = [(figure.caption, data_uri(figures / f"{figure.name}.png")) for figure in drawn]
        section = contents.SECTIONS[name] | {"anchor": name, "tables": tables, "figures": shown}
        sections.append(section | {"missing": "" if tables else contents.missing(name)})
    return sections


def provenance(results: Results, costs: Mapping[str, Mapping]) -> list[dict]:
    """A row for every experiment. `costs`: of reports/provenance.json, which count only for the very same numbers."""
    lines = []
    for (experiment, commit), rows in results.frame.groupby(["experiment", "commit"]):
        cost, digest = costs.get(experiment, {}), digest_of(rows)
        if cost.get("digest") != digest:
            cost = {}
        row = {"experiment": experiment, "commit": cost.get("commit", commit), "digest": digest[:12]}
        row["settings"] = [f"{benchmark}: {results.setting(group)}" for benchmark, group in rows.groupby("benchmark")]
        row["hardware"] = "; ".join(cost.get("hardware", [])) or NOT_REPORTED
        row["seconds"], row["cost"] = cost.get("seconds", ""), NOT_REPORTED
        if row["seconds"]:
            row["cost"] = f"{number(row['seconds'] / 3600)} h"
            if cost.get("timed", 0) < cost.get("stages", 0):
                row["cost"] += f", {cost['stages'] - cost['timed']} of {cost['stages']} stages by others like them"
        lines.append(row)
    return lines


def data_uri(path: Path) -> str:
    """A figure as WebP, which is smaller; InputError for a file that is no whole image."""
    small = io.BytesIO()
    try:
        with Image.open(path) as image:
            image.convert("RGB").save(small, "WEBP", lossless=True, quality=100, method=6)
    except FileNotFoundError:
        raise InputError(f"{path}: no such figure; `make tables` draws it") from None
    except (OSError, SyntaxError):  # no image at all, a truncated one, a broken chunk
        raise InputError(f"{path}: not a readable image; `make tables` draws it again") from None
    return f"data:image/webp;base64,{base64.b64encode(small.getvalue()).decode()}"


def headline(results: Results, figures: Path) -> tuple[str, str] | None:
    """Caption and picture of what the page begins with; None without results of that experiment."""
    return next(((f.caption, data_uri(figures / f"{f.name}.png")) for f in knowledge_tables.figures_of(results)), None)


def page(results: Results, figures: Path, quality: Mapping[str, Mapping], provenance: list[dict]) -> str:
    """One self-contained page: no file, font or script from elsewhere."""
    return render(
        "page.html",
        headline=headline(results, figures),
        findings=[(c.in_words, knowledge_tables.finding_in_brief(c)) for c in knowledge_tables.corpora(results)],
        sections=sections(results, figures),
        samples=samples(quality),
        maps=cartography_tables.interactive(results),
        provenance=provenance,
    )
