"""The page: what texts teach, verdicts, agreement, places for what is missing, nothing from elsewhere, and a real
browser."""

from __future__ import annotations

import json
import re

import longtables
import pytest
import worlds
from browser import needs_browser, text_of
from graph import ROOT
from longtables import gain, lines
from PIL import Image

from compaug.core import pages
from compaug.core.files import InputError, write_json
from compaug.evaluation.longtable import digest_of, pick
from compaug.reports import contents, knowledge_tables, page, verdicts
from compaug.stages import tables as tables_stage
from compaug.stages import write_page as page_stage


@pytest.fixture
def reports(tmp_path):
    """Results of a benchmark of the paper and of one of our own, and the texts of one generator."""
    folder = longtables.reports(tmp_path / "reports", longtables.paper_rows(), longtables.paper_gains())
    keys = ["joy+love", "fear+joy", "joy+love"]
    texts = [
        {"text": f"text </script><i>{at}</i>", "requested": key, "faithful": at > 0, "readings": []}
        for at, key in enumerate(keys)
    ]
    worlds.write_measure(folder, "quality", "diagnostic-ld_vae-13", {"selection": {"requested": 3}, "samples": texts})
    # whose texts may not be published
    worlds.write_measure(folder, "quality", "semeval-ld_vae-13", {"selection": {"requested": 3}, "self_bleu": 1.0})
    return folder


def build(folder) -> str:
    arguments = ["--params", str(ROOT / "params.yaml"), "--reports", str(folder)]
    tables_stage.main([*arguments, "--out", str(folder / "tables")])
    page_stage.main([*arguments, "--out", str(folder / "index.html")])
    return (folder / "index.html").read_text(encoding="utf-8")


def squeezed(html: str) -> str:
    return re.sub(r">\s+<", "><", " ".join(html.split()))


def test_of_a_variant_the_first_seed_has_sample_texts():
    text = {"text": "a", "requested": "joy", "faithful": True}
    names = ["ld_vae-13", "ld_vae-21", "ld_vae+guidance=2-21", "ld_vae+guidance=2-13", "ld_vae-mode=random-13"]
    quality = {f"diagnostic-{name}": {"samples": [text]} for name in names} | {"semeval-ld_vae-13": {"samples": []}}
    sample = page.samples(quality)
    assert sorted(sample["files"]) == sorted(f"diagnostic-{name}" for name in names if name != "ld_vae+guidance=2-21")
    assert len(sample["texts"]) == 4 and page.samples({}) is None


# ---------------------------------------------------------------- the first screen


def test_the_verdict_is_of_the_best_generator_and_says_of_how_many(reports):
    lines_of = {row[0]: [str(value) for value in row[1:]] for row in verdicts.tables(longtables.load(reports))[0].rows}
    # a control is no generator
    expected = ["texts of `ld_vae`", "3.00", "8.00", "+5.00 [+4.00, +6.00]", "+1.00 [0.00, +2.00]"]
    assert lines_of == {"diagnostic": expected, "semeval": expected}
    rows = [*longtables.paper_rows(), *lines("acc", (5.0, 5.0, 5.0), "concat")]
    gained = [*longtables.paper_gains(), gain(2.0, "concat")]
    words = [best[1] for best in verdicts.best_of_each(longtables.load(longtables.reports(reports, rows, gained)))]
    assert words == ["texts of `ld_vae`, best of 2", "texts of `ld_vae`"]


def test_the_page_begins_with_what_texts_teach(reports):
    rows = longtables.paper_rows() + longtables.knowledge_rows()
    gained = longtables.paper_gains() + longtables.knowledge_gains()
    results = longtables.load(longtables.reports(reports, rows, gained))
    html = squeezed(build(reports))
    (corpus,) = knowledge_tables.corpora(results)
    finding = str(pages.code(knowledge_tables.finding_in_brief(corpus)))
    assert finding == (
        "Decoding closes 26.0 of 42.0 points of H; real texts would close another 16.0 [15.0, 17.0], and those of "
        "LS-PT give 6.0 [5.0, 7.0]. What helps: decoding, texts."
    )
    assert "diagnostic (a grammar)" in html
    assert html.index("data:image/webp") < html.index(finding) < html.index("<nav>") < html.index("<h2>")
    assert html.index("<h2>What texts teach") < html.index("<h2>Gains at 0.5")
    assert html.count(page.data_uri(reports / "tables" / "figures" / "knowledge.png")) == 1


def test_without_that_experiment_the_page_begins_with_its_sections(reports):
    html = squeezed(build(reports))
    assert "<code>make grid EXPERIMENT=knowledge</code> makes them." in html
    assert html.index('<div class="verdicts"></div>') < html.index("<nav>") and '<div class="verdict">' not in html


def test_of_the_first_grids_there_is_no_verdict_and_its_tables_say_of_which_commit_they_are(tmp_path):
    folder = longtables.reports(tmp_path / "reports", longtables.paper_rows(), first="0ld5ha1")
    longtables.reports(folder, [])
    assert list(verdicts.best_of_each(longtables.load(folder))) == []
    shown = build(folder)
    assert "from before the arithmetic was made the same on every CPU; kept until this experiment runs again" in shown


def test_of_generators_with_fewer_seeds_than_others_none_is_the_best(tmp_path):
    rows = [*longtables.paper_rows(), *lines("acc", (50.0,), "concat")]
    gained = [*longtables.paper_gains(), gain(47.0, "concat") | {"seeds": 1, "std": "", "ci95": ""}]
    folder = longtables.reports(tmp_path / "reports", rows, gained)
    assert [best[1] for best in verdicts.best_of_each(longtables.load(folder))] == ["texts of `ld_vae`"] * 2


def test_without_the_papers_experiment_the_verdict_is_of_those_that_ran(tmp_path):
    rows = [row | {"experiment": "small"} for row in longtables.paper_rows()]
    gained = [row | {"experiment": "small"} for row in longtables.paper_gains()]
    (table, _) = verdicts.tables(longtables.load(longtables.reports(tmp_path / "reports", rows, gained)))
    assert [row[:2] for row in table.rows] == [[name, "texts of `ld_vae`"] for name in ("diagnostic", "semeval")]


# ---------------------------------------------------------------- tables, provenance


def test_every_query_has_its_section_and_what_is_missing_names_its_command(reports):
    shown = build(reports)
    for name, section in contents.SECTIONS.items():
        assert f'<section id="{name}">' in shown and f"<h2>{section['title']}" in shown
    # Tables 1 and 3, kinds of errors
    assert shown.count("<code>make grid EXPERIMENT=classifiers</code> makes them.") == 3
    cell = 'class="n inside">8.00<small>[5.52, 10.48]</small><small class="paper">paper 8.44 (-0.44)'
    assert cell in squeezed(shown)
    printed = longtables.load(reports).paper["tables"]["table_2"]["rows"]
    for row in printed.values():  # every number of Table 2, with or without ours
        for values in row.values():
            assert all(f"paper {value:.2f}" in shown for value in values.values() if value is not None)


def test_provenance_counts_only_for_the_very_same_numbers(reports):
    results = longtables.load(reports)
    digest = digest_of(results.frame)
    cost = {"commit": "abc1234", "digest": digest, "seconds": 9000, "hardware": ["2 cores, cpu"]}
    write_json(reports / "provenance.json", {"paper": cost})
    shown = build(reports)
    assert "abc1234" in shown and "2.50 h" in shown and "2 cores, cpu" in shown and digest[:12] in shown
    write_json(reports / "provenance.json", {"paper": cost | {"digest": "of other numbers"}})
    assert "abc1234" not in build(reports)


def test_the_digest_of_an_experiment_does_not_depend_on_the_others(reports):
    before = digest_of(pick(longtables.load(reports).frame, experiment="paper"))
    longtables.reports(reports, [*lines("acc", (1.0, 2.0, 3.0), experiment="mine"), *longtables.paper_rows()])
    assert digest_of(pick(longtables.load(reports).frame, experiment="paper")) == before
    changed = [row | {"value": row["value"] + 1} for row in longtables.paper_rows()]
    longtables.reports(reports, changed)
    assert digest_of(longtables.load(reports).frame) != before


# ---------------------------------------------------------------- self-contained


def test_the_page_needs_nothing_from_elsewhere_and_text_cannot_break_out(reports):
    rows = longtables.paper_rows() + lines("acc", (1.0, 2.0, 3.0), "<b>mine</b>")
    shown = build(longtables.reports(reports, rows, longtables.paper_gains()))
    links = [link for link in re.findall(r'(?:src|href)="([^"]*)"', shown) if not link.startswith(("#", "data:"))]
    assert links == ["https://arxiv.org/abs/2312.11276"]
    assert "</script><i>" not in shown and "<b>mine" not in shown
    assert "text \\u003c/script\\u003e\\u003ci\\u003e2" in shown and "&lt;b&gt;mine&lt;/b&gt;" in shown
    assert pages.breakable(pages.code("`a` obj_omitted_transitive_to_transitive")).endswith(
        "obj_<wbr>omitted_<wbr>transitive_<wbr>to_<wbr>transitive"
    )
    assert pages.code("`a<b` & `c`") == "<code>a&lt;b</code> &amp; <code>c</code>"


def test_the_page_has_the_same_bytes_from_everywhere(reports, tmp_path, monkeypatch):
    first = build(reports)
    monkeypatch.chdir(tmp_path)
    assert build(reports) == first and str(tmp_path) not in first


def test_a_page_that_grew_too_large_is_refused(reports, monkeypatch):
    monkeypatch.setattr(page_stage, "LIMIT", 10_000)
    with pytest.raises(InputError, match="index.html: the page has .* bytes, more than 10,000"):
        build(reports)


def test_a_missing_or_broken_figure_is_named(tmp_path):
    figure = tmp_path / "figure.png"
    with pytest.raises(InputError, match="figure.png: no such figure; `make tables` draws it"):
        page.data_uri(figure)
    Image.effect_noise((40, 30), 50).save(figure)
    whole = figure.read_bytes()
    assert page.data_uri(figure).startswith("data:image/webp;base64,")
    for broken in (b"no image", whole[: len(whole) // 2]):
        figure.write_bytes(broken)
        with pytest.raises(InputError, match="figure.png: not a readable image; `make tables` draws it again"):
            page.data_uri(figure)


def test_a_page_without_texts_says_what_makes_them(reports):
    (reports / "quality.jsonl.gz").unlink()
    assert "No texts yet: <code>make grid EXPERIMENT=small</code>" in build(reports)


@needs_browser
@pytest.mark.parametrize("width", [390, 1280])
def test_a_browser_loads_sorts_and_searches_it(reports, width):
    """No script error, every image there, no sideways scrolling of the page, tables sort, the search finds."""
    check = """<script>
    const errors = []; window.addEventListener("error", event => errors.push(event.message));
    addEventListener("load", () => {
      const tables = [...document.querySelectorAll("#table_2 table.sortable")];
      const table = tables.find(t => t.tHead.textContent.includes("Jacc"));
      const heads = [...table.querySelectorAll("th button")];
      const at = heads.findIndex(button => button.textContent.startsWith("Acc"));
      const shown = cell => cell.dataset.sort ?? cell.firstChild.textContent.replace("–", "");
      const column = () => [...table.tBodies[0].rows].map(row => shown(row.cells[at])).filter(Boolean).map(Number);
      const sorted = () => heads[at].closest("th").getAttribute("aria-sort");
      heads[at].click(); const down = column(), ways = [sorted()];
      heads[at].click(); const up = column(); ways.push(sorted());
      const texts = () => [...table.tBodies[0].rows].map(row => shown(row.cells[1]));
      heads[1].click(); const last = [texts()]; heads[1].click(); last.push(texts());
      heads[0].click();
      const names = [...table.tBodies[0].rows].map(row => row.cells[0].textContent);
      const query = document.getElementById("query"), hits = {};
      for (const words of ["joy lo", "love, j", "joy joy", "jo f"]) {
        query.value = words; query.dispatchEvent(new Event("input"));
        const rows = [...document.querySelectorAll("#found tbody tr")];
        hits[words] = rows.map(row => [row.cells[0].textContent, row.cells[3].textContent]);
      }
      const images = [...document.images].every(image => image.complete && image.naturalWidth > 0);
      const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
      document.body.innerHTML = "<pre id=seen></pre>";
      const seen = {errors, down, up, ways, last, names, hits, images, wide};
      document.getElementById("seen").textContent = JSON.stringify(seen);
    });
    </script>"""
    rows = longtables.paper_rows() + longtables.knowledge_rows()  # which have a figure
    longtables.reports(reports, rows, longtables.paper_gains() + longtables.knowledge_gains())
    path = reports / "checked.html"
    shown = build(reports)
    path.write_text(shown.replace("<title>", f"{check}<title>"), encoding="utf-8")
    seen = json.loads(text_of(path, "seen", width))
    assert seen["errors"] == [] and seen["images"] and seen["wide"] <= 0 and shown.count("data:image/webp") == 1
    assert seen["down"] == [27.0, 8.0, 7.0, 3.0] and seen["up"] == seen["down"][::-1]
    assert seen["ways"] == ["descending", "ascending"]
    assert seen["last"] == [["600", "", "", ""]] * 2  # rows without a number stay last
    assert seen["names"] == sorted(seen["names"], key=str.casefold)
    both = [["joy, love", "no"], ["joy, love", "yes"]]
    assert seen["hits"] == {"joy lo": both, "love, j": both, "joy joy": [], "jo f": [["fear, joy", "yes"]]}
