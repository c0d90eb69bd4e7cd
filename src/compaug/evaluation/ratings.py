"""Human evaluation of synthetic texts (Table 10 of the paper): a blind sheet, filled sheets read back, scores, ranks, agreement.

A rater sees a text and ticks the labels that it expresses, not knowing which generator wrote it or what was asked. Per text
Acc, Corr and Comp compare the ticked labels with the requested ones, as everywhere (spec section 3).
"""

from __future__ import annotations

import csv
import html
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import scipy  # its parts are loaded when they are first used: half a second

from compaug.evaluation.metrics import instance_scores, label_matrix, percent
from compaug.records import Example, InputError, Labels, digest, label_ids, read_json, sub_seed

COLUMNS = ("text_id", "text", "labels")
NOTHING, SEPARATOR = "none", ";"  # a text that expresses no label; between two labels
METRICS = ("acc", "corr", "comp")


@dataclass(frozen=True)
class Item:
    """One text to rate; who wrote it and what was asked stay in the key."""

    text_id: str
    text: str
    generator: str
    requested: tuple[int, ...]


def draw(selected: Mapping[str, Sequence[Example]], n: int, seed: int) -> list[Item]:
    """n random texts of every generator, mixed; the same seed draws the same. Their ids are those of this export alone, so that a sheet of
    another one is not taken for it. InputError when a generator has fewer, or texts of which
    nobody asked anything."""
    if n < 1:
        raise InputError(f"--texts {n}: at least one text of each generator is to be rated")
    drawn = []
    for generator, examples in selected.items():
        if len(examples) < n:
            raise InputError(f"{generator}: {n} texts are to be rated but it has {len(examples)}; lower --texts")
        if not all(example.requested_labels for example in examples):
            raise InputError(
                f"{generator}: a row without `requested_labels`; give the kept texts, data/selected/*.jsonl"
            )
        rng = np.random.default_rng(sub_seed(seed, "ratings", generator))
        drawn += [(generator, examples[row]) for row in rng.choice(len(examples), size=n, replace=False)]
    order = np.random.default_rng(sub_seed(seed, "ratings")).permutation(len(drawn))
    export = digest([drawn[row][1].text for row in order])[:4]
    return [
        Item(f"T{export}-{place + 1:03d}", drawn[row][1].text, drawn[row][0], drawn[row][1].requested_labels)
        for place, row in enumerate(order)
    ]


# ---------------------------------------------------------------- the sheet


def sheet_rows(items: Sequence[Item], labels: Labels) -> list[dict[str, str]]:
    """Rows of the CSV. InputError for a label whose name could not be written there."""
    for name in labels.names:
        if SEPARATOR in name or name.casefold() == NOTHING:
            raise InputError(
                f"label {name!r}: a rating sheet separates labels by {SEPARATOR!r} and has {NOTHING!r}; rename it"
            )
    return [{"text_id": item.text_id, "text": _plain(item.text), "labels": ""} for item in items]


def _plain(text: str) -> str:
    """A spreadsheet takes a text that begins like a formula for one: an apostrophe before it. Texts are not read back."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def sheet_page(items: Sequence[Item], labels: Labels, title: str) -> str:
    """A form for a browser, one file, no network: ticks are kept in the browser; a button saves them as the CSV that `read` takes."""
    boxes = "".join(
        f'<label><input type="checkbox" value="{html.escape(name)}">{html.escape(phrase)}</label>'
        for name, phrase in (*zip(labels.names, labels.phrases, strict=True), (NOTHING, "none of these"))
    )
    texts = "".join(
        f'<li id="{item.text_id}"><p id="{item.text_id}-text">{html.escape(item.text)}</p>'
        f'<div role="group" aria-labelledby="{item.text_id}-text">{boxes}</div></li>'
        for item in items
    )
    data = json.dumps({item.text_id: item.text for item in items}).replace("<", "\\u003c")
    key = json.dumps(f"{title}-{sub_seed(0, *labels.names, *(item.text for item in items))}")
    return _PAGE.format(
        title=html.escape(title),
        texts=texts,
        n=len(items),
        data=data,
        key=key,
        nothing=json.dumps(NOTHING),
        separator=SEPARATOR,
    )


_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.45 system-ui, sans-serif; max-width: 46rem; margin: 0 auto; padding: 1rem 1rem 5rem; color: #1b2a33; }}
li {{ border-top: 1px solid #d5dde2; padding: .8rem 0; }} li.rated::marker {{ color: #9aa7ae; }}
p {{ margin: 0 0 .5rem; }} li div label {{ display: inline-block; margin: 0 .9rem .3rem 0; white-space: nowrap; }}
input {{ margin-right: .35rem; }}
footer {{ position: fixed; inset: auto 0 0 0; background: #17415e; color: #fff; padding: .7rem 1rem; display: flex; gap: 1rem; align-items: center; }}
button {{ font: inherit; padding: .3rem .9rem; }}
</style>
<h1>{title}</h1>
<p>For each text tick every label that it expresses, or &ldquo;none of these&rdquo;. Ticks stay in this browser until you clear its data. When you
are done, save the file and send it back; texts that you leave untouched count as not rated.</p>
<ol>{texts}</ol>
<footer><span id="count" aria-live="polite">0 of {n} rated</span><button id="save">Save as CSV</button></footer>
<script>
const texts = {data}, key = {key}, nothing = {nothing};
let ticks = {{}};
try {{ ticks = JSON.parse(localStorage.getItem(key)) || {{}}; }} catch (error) {{ /* a browser without storage still works */ }}
const boxesOf = id => [...document.getElementById(id).querySelectorAll("input")];
function show() {{
  let rated = 0;
  for (const id in texts) {{
    const chosen = ticks[id] || [];
    boxesOf(id).forEach(box => box.checked = chosen.includes(box.value));
    document.getElementById(id).classList.toggle("rated", chosen.length > 0);
    rated += chosen.length > 0;
  }}
  document.getElementById("count").textContent = `${{rated}} of {n} rated`;
}}
document.addEventListener("change", event => {{
  const id = event.target.closest("li").id;
  let chosen = boxesOf(id).filter(box => box.checked).map(box => box.value);
  if (event.target.checked) chosen = event.target.value === nothing ? [nothing] : chosen.filter(name => name !== nothing);
  ticks[id] = chosen;
  try {{ localStorage.setItem(key, JSON.stringify(ticks)); }} catch (error) {{ /* see above */ }}
  show();
}});
const quoted = cell => `"${{cell.replaceAll('"', '""')}}"`;
function sheet() {{
  const rows = Object.keys(texts).map(id => [id, texts[id], (ticks[id] || []).join("{separator}")].map(quoted).join(","));
  return ["text_id,text,labels", ...rows].join("\\r\\n") + "\\r\\n";
}}
document.getElementById("save").addEventListener("click", () => {{
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([sheet()], {{ type: "text/csv" }}));
  link.download = "ratings.csv";
  link.click();
}});
show();
</script>
</html>
"""


def key_of(items: Sequence[Item], labels: Labels) -> dict:
    """What the raters do not see."""
    return {"labels": {"names": labels.names, "phrases": labels.phrases}, "items": [asdict(item) for item in items]}


def read_key(path: Path) -> tuple[list[Item], Labels]:
    """The items in the order of the sheet, and the labels. InputError for another file."""
    try:
        key = read_json(path)
        labels = Labels(tuple(key["labels"]["names"]), tuple(key["labels"]["phrases"]))
        items = [Item(**(item | {"requested": label_ids(item["requested"], len(labels))})) for item in key["items"]]
    except (KeyError, TypeError, AttributeError):
        raise InputError(f"{path}: not the key.json of an export; `python -m stages.rating_sheet` writes one") from None
    except InputError as error:  # of a label that the key does not name, say
        raise error if str(path) in str(error) else InputError(f"{path}: {error}") from None
    return items, labels


# ---------------------------------------------------------------- filled sheets


def read(path: Path, items: Sequence[Item], labels: Labels) -> dict[str, tuple[int, ...]]:
    """{text_id: label set} of one rater's CSV; rows with an empty `labels` cell are not rated. InputError names file and line."""
    try:
        return _read(path, {item.text_id for item in items}, labels)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; give the sheets that the raters sent back") from None
    except (UnicodeDecodeError, csv.Error):
        raise InputError(
            f"{path}: not a CSV in UTF-8; save the sheet again as 'CSV UTF-8', separated by commas"
        ) from None


def _read(path: Path, known: Collection[str], labels: Labels) -> dict[str, tuple[int, ...]]:
    name_of = {name.casefold(): label for label, name in enumerate(labels.names)}
    rated: dict[str, tuple[int, ...]] = {}
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = csv.DictReader(stream)
        if missing := [name for name in ("text_id", "labels") if name not in (rows.fieldnames or ())]:
            raise InputError(
                f"{path}: has no column {missing[0]!r}; the columns are {', '.join(COLUMNS)}, separated by commas"
            )
        seen = set()
        for row in rows:
            if not any(isinstance(cell, str) and cell.strip() for cell in row.values()):
                continue  # spreadsheets leave empty rows
            where, text_id = f"{path}:{rows.line_num}", (row["text_id"] or "").strip()
            if text_id not in known:
                raise InputError(f"{where}: {text_id!r} is not in the key; the sheet belongs to another export")
            if text_id in seen:
                raise InputError(f"{where}: {text_id!r} comes twice; remove one of its rows")
            seen.add(text_id)
            words = [word.strip() for word in (row["labels"] or "").split(SEPARATOR) if word.strip()]
            if not words:
                continue
            chosen = [word for word in words if word.casefold() != NOTHING]
            if unknown := [word for word in chosen if word.casefold() not in name_of]:
                raise InputError(f"{where}: unknown label {unknown[0]!r}; write {', '.join(labels.names)} or {NOTHING}")
            if len(chosen) < len(words) and chosen:
                raise InputError(f"{where}: {NOTHING!r} stands beside other labels; keep one or the other")
            rated[text_id] = tuple(sorted({name_of[word.casefold()] for word in chosen}))
    if not rated:
        raise InputError(f"{path}: no text is rated; fill the column `labels`")
    return rated


def summary(items: Sequence[Item], sheets: Sequence[Mapping[str, tuple[int, ...]]], labels: Labels) -> dict:
    """Per generator acc, corr, comp (percent over all ratings), n and the average rank over raters; Krippendorff's alpha over all
    (text, label) decisions, None with one rater. A rater ranks generators by the mean Jaccard index; ties share a rank."""
    by_generator: dict[str, list[Item]] = {}
    for item in items:
        by_generator.setdefault(item.generator, []).append(item)

    def scored(some: Sequence[Item], sheet: Mapping[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
        pairs = [(item.requested, sheet[item.text_id]) for item in some if item.text_id in sheet]
        requested, ticked = (label_matrix([pair[side] for pair in pairs], len(labels)) for side in (0, 1))
        return instance_scores(requested, ticked)

    generators, scores = list(by_generator), {}
    ranks = []
    for sheet in sheets:
        found = {generator: scored(some, sheet) for generator, some in by_generator.items()}
        for generator, values in found.items():
            scores.setdefault(generator, []).append(values)
        jaccard = [
            found[generator]["jacc"].mean() if len(found[generator]["jacc"]) else np.nan for generator in generators
        ]
        rounded = np.round(np.nan_to_num(jaccard, nan=-1.0), 9)  # means of the same values in another order are ties
        ranks.append(np.where(np.isnan(jaccard), np.nan, scipy.stats.rankdata(-rounded)))
    given = [column[~np.isnan(column)] for column in np.array(ranks).T]
    average = {
        g: round(float(some.mean()), 2) if len(some) else None for g, some in zip(generators, given, strict=True)
    }
    table = {}
    for generator in generators:
        joined = {name: np.concatenate([values[name] for values in scores[generator]]) for name in METRICS}
        table[generator] = {
            name: percent(float(joined[name].mean())) if len(joined[name]) else None for name in METRICS
        }
        table[generator] |= {"avg_rank": average[generator], "n": len(joined["acc"])}
    decisions = np.full((len(sheets), len(items) * len(labels)), np.nan)
    for rater, sheet in enumerate(sheets):
        for place, item in enumerate(items):
            if item.text_id in sheet:
                cells = slice(place * len(labels), (place + 1) * len(labels))
                decisions[rater, cells] = label_matrix([sheet[item.text_id]], len(labels))[0]
    return {"raters": len(sheets), "generators": table, "alpha": alpha(decisions)}


def alpha(ratings: np.ndarray) -> float | None:
    """Krippendorff's alpha for nominal data, ratings [raters, units], nan where a rater gave none: 1 minus observed over expected
    disagreement (Krippendorff 2011). None when no unit has two ratings; 1 when all ratings are the same."""
    values = np.unique(ratings[~np.isnan(ratings)])
    counts = np.stack([(ratings == value).sum(0) for value in values], axis=1).astype(float)  # [units, values]
    counts = counts[counts.sum(1) >= 2]
    if not len(counts):
        return None
    per_unit = counts.sum(1)  # m_u
    disagree = (per_unit**2 - (counts**2).sum(1)) / (per_unit - 1)  # ordered pairs that differ, over m_u - 1
    totals, n = counts.sum(0), counts.sum()
    expected = (n**2 - (totals**2).sum()) / (n - 1)
    return 1.0 if expected == 0 else round(float(1 - disagree.sum() / expected), 4)


# ---------------------------------------------------------------- proxies of people


def shares(asked: np.ndarray, read: np.ndarray) -> dict[str, float]:
    """acc, corr and comp (percent) of what a reader finds, bool [n, n_labels], against what was asked."""
    found = instance_scores(asked, read)
    return {name: percent(float(found[name].mean())) for name in METRICS}


def oracle_shares(
    oracle: Callable[[str], Collection[tuple[int, ...]]], examples: Sequence[Example]
) -> dict[str, float]:
    """The same by an oracle, which gives every label set that a text can express: it is enough that one of them fits. A text without a
    reading fits nothing."""
    found = []
    for example in examples:
        asked, readings = set(example.requested_labels), [set(reading) for reading in oracle(example.text)]
        found.append(
            [any(r == asked for r in readings), any(r <= asked for r in readings), any(r >= asked for r in readings)]
        )
    return {name: percent(float(value)) for name, value in zip(METRICS, np.mean(found, axis=0), strict=True)}
