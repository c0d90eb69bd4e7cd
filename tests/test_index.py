"""The page: numbers where they belong, agreement by interval, places for what is missing, and a real browser."""

from __future__ import annotations

import json
import re

import pytest
from browser import needs_browser, text_of
from graph import ROOT
from PIL import Image

from compaug.records import Example, InputError, Labels, file_digest, read_json, write_json, write_jsonl
from compaug.reports import index, index_sections
from compaug.reports.index import Cell
from compaug.reports.paper import read_paper_values
from stages import page as page_stage

PAPER = read_paper_values(ROOT / "reports/paper_values.yaml")
LABELS = Labels(("joy", "love", "fear"), ("joy", "love", "fear"))
SEEDS = dict.fromkeys(index.GRIDS, (13, 21, 42))
COUNTS = {"n_train": 9530, "n_test": 1400, "n_support": 50, "avg_words": 16.02, "n_labels": 11, "avg_labels": 2.4}
COUNTS |= {"min_labels": 0, "max_labels": 6, "n_test_compositions": 20}


def numbers(mean: float, ci95: float = 1.0) -> dict:
    return {name: {"mean": mean, "std": 0.4, "ci95": ci95} for name in ("jacc", "acc", "corr", "comp")}


def gain(mean: float, p_rows: float, p_seeds: float) -> dict:
    return {
        "mean": mean,
        "ci95": 1.0,
        "low_rows": mean - 1,
        "high_rows": mean + 1,
        "p_rows": p_rows,
        "p_seeds": p_seeds,
    }


@pytest.fixture
def reports(tmp_path):
    """Results of a grid with one benchmark of the paper and one of our own."""
    folder = tmp_path / "reports"
    tree = {}
    for benchmark, column in (("semeval_mini", "SemEval"), ("diagnostic", None)):
        tree[benchmark] = {
            "none": numbers(3.0),
            "ld_vae": numbers(8.0)
            | {"gain_over_none": gain(5.0, 0.01, 0.2), "gain_over_oversample": gain(1.0, 0.5, 0.5)},
            "oversample": numbers(7.0) | {"gain_over_none": gain(4.0, 0.01, 0.01)},
            "iid": numbers(27.0),
        }
        for generator in ("none", "ld_vae"):
            row = {"benchmark": benchmark, "paper_column": column, "backbones": {"encoder": "tiny <b>"}, "seed": 13}
            write_json(folder / "paper" / "runs" / f"{benchmark}-{generator}-13.json", row)
    tree["quality"] = {}
    both = {"top_k": numbers(8.0)["acc"], "random": numbers(7.0)["acc"], "gain": numbers(1.0)["acc"]}
    tree["filter_against_random"] = {"semeval_mini": {"ld_vae": both}}
    write_json(folder / "paper" / "metrics.json", tree)
    (folder / "paper_values.yaml").write_bytes((ROOT / "reports/paper_values.yaml").read_bytes())
    LABELS.write(tmp_path / "labels.json")
    texts = [
        Example(f"s{i}", f"text </script><i>{i}</i>", (0, i % 2 + 1), "synthetic", (0, i % 2 + 1)) for i in range(4)
    ]
    write_jsonl(tmp_path / "selected" / "diagnostic-ld_vae-13.jsonl", texts)
    return folder


def build(reports) -> str:
    files = {"reports": reports, "selected": reports.parent / "selected", "labels": reports.parent / "labels.json"}
    words = [word for name, file in files.items() for word in (f"--{name}", str(file))]
    out = reports / "index.html"
    page_stage.main([*words, "--benchmark", "diagnostic", "--seed", "13", "--out", str(out)])
    return out.read_text()


def test_agreement_is_where_the_papers_number_lies():
    assert [Cell(8.0, 1.0, paper).agreement for paper in (8.44, 9.5, 6.0, None)] == ["inside", "above", "below", ""]
    assert Cell(8.0, None, 8.44).agreement == "above"  # one seed has no interval
    shown = Cell(8.0, 1.0, 8.44)
    assert (shown.shown, shown.interval, shown.difference) == ("8.00", "7.00 to 9.00", "-0.44")
    assert Cell(words="not run", paper=1.0).shown == "not run"
    elsewhere = Cell(8.0, 1.0, 8.44, other_corpus=True)
    assert (elsewhere.printed, elsewhere.agreement, elsewhere.difference) == ("8.44", "", "")


def test_the_verdict_says_no_more_than_the_corrected_tests_allow(reports):
    found = {v["benchmark"]: v for v in index.verdicts(index.read_sources(reports, PAPER, SEEDS))}
    assert found["diagnostic"]["best"] == "ld_vae"  # a control is no generator
    assert found["diagnostic"]["helped"] == "yes by the test over test rows, not by that over seeds"
    assert found["diagnostic"]["beats"] == "not shown"
    tree = read_json(reports / "paper" / "metrics.json")
    for name in ("gain_over_none", "gain_over_oversample"):
        del tree["diagnostic"]["ld_vae"][name]["p_seeds"]
    write_json(reports / "paper" / "metrics.json", tree)
    found = {v["benchmark"]: v for v in index.verdicts(index.read_sources(reports, PAPER, SEEDS))}
    assert found["diagnostic"]["helped"] == "yes, by the test over test rows; one seed, so no test over seeds"
    assert found["diagnostic"]["beats"] == "not shown; one seed, so no test over seeds"


def test_seeds_that_were_taken_out_of_the_axis_are_not_named(reports):
    row = read_json(reports / "paper" / "runs" / "diagnostic-none-13.json")
    write_json(reports / "paper" / "runs" / "diagnostic-none-99.json", row | {"seed": 99})
    sources = index.read_sources(reports, PAPER, SEEDS)
    assert sources.settings["diagnostic"] == "seeds 13; encoder tiny <b>"
    assert index.setting_of(reports / "paper", (99,)) == "diagnostic: seeds 99; encoder tiny <b>"
    with pytest.raises(InputError, match="no result of .* with a seed of paper.seeds"):
        index.read_sources(reports, PAPER, SEEDS | {"paper": (7,)})


def test_methods_and_benchmarks_beside_the_papers_have_their_rows(reports):
    """A generator of the user's own, a second benchmark of one of the paper's corpora, a classifier of the user's own."""
    tree = read_json(reports / "paper" / "metrics.json")
    tree["semeval_mini"]["nearest"] = numbers(4.5)
    tree["aapd"] = {"none": numbers(22.0), "ld_vae": numbers(23.0)}
    tree["semeval"] = {"none": numbers(2.5)}
    tree["filter_against_random"]["aapd"] = {"nearest": tree["filter_against_random"]["semeval_mini"]["ld_vae"]}
    write_json(reports / "paper" / "metrics.json", tree)
    row = read_json(reports / "paper" / "runs" / "semeval_mini-none-13.json")
    for benchmark, column in (("aapd", "AAPD"), ("semeval", "SemEval")):
        row |= {"benchmark": benchmark, "paper_column": column}
        write_json(reports / "paper" / "runs" / f"{benchmark}-none-13.json", row)
        write_json(reports / "paper" / "splits" / f"{benchmark}.json", COUNTS)
    arms = {"none": numbers(9.0), "ld_vae": numbers(9.5), "iid": numbers(30.0)}
    write_json(reports / "classifiers" / "metrics.json", {"aapd": {"bert": arms, "mine": arms}})
    shown = build(reports)
    for title in ("SemEval (semeval_mini)", "SemEval (semeval)", "AAPD (aapd)", "IMDB"):
        assert f"<h3>{title}</h3>" in shown
    assert shown.count("<td>nearest</td>") == 2 and "<td>mine</td>" in shown and "<td>mine, ld_vae</td>" in shown
    assert "AAPD: not run here" not in shown and "IMDB: not run here" in shown
    own = shown.split('id="table-8"')[1].split("</section>")[0]
    assert re.search(
        r"<td>LD-VAE, aapd</td>\s*<td class=\"n (inside|above|below)\"", own
    )  # the paper's own corpus is compared
    assert '<td>LD-VAE, diagnostic</td>\n<td class="n "' in own
    assert shown.count("<h3>AAPD</h3>") == 0  # Tables 3 and 5 have it under the benchmark's name
    assert '<button type="button">AAPD (aapd)</button>' in shown


def test_every_table_and_figure_of_the_paper_has_its_place(reports):
    shown = build(reports)
    for name in (
        "Table 1:",
        "Table 2:",
        "Table 3:",
        "Tables 4 and 7:",
        "Table 5:",
        "Table 6:",
        "Table 8:",
        "Table 9:",
        "Table 10:",
    ):
        assert f"<h2>{name}" in shown
    assert "Figures 2, 4 and 5" in shown
    assert shown.count("no results yet: dvc repro reports/classifiers/dvc.yaml makes them") == 2
    assert "not run here: BERT-base and GPT-2 need a GPU and a model hub" in shown
    printed = PAPER["tables"]["table_2"]["rows"]
    for corpus in ("SemEval", "AAPD", "IMDB"):  # every number of Table 2
        for row in printed.values():
            assert all(f"paper {value:.2f}" in shown for value in (row[corpus] or {}).values() if value is not None)
    assert (
        'class="n inside" data-sort="8.0">8.00<small>7.00 to 9.00</small><small class="paper">paper 8.44 (-0.44)'
        in shown
    )


def test_the_splits_counts_and_what_a_grid_cost_are_shown(reports):
    for benchmark in ("diagnostic", "semeval_mini"):
        write_json(reports / "paper" / "splits" / f"{benchmark}.json", COUNTS)
    shown = build(reports)
    assert '<td class="n inside" data-sort="9530">9,530<small class="paper">paper 9,530 (+0)' in shown
    assert '<td class="n above" data-sort="1400">1,400<small class="paper">paper 1,403 (-3)' in shown
    assert "h, 7 of 9 stages timed" not in shown

    facts = {"commit": "abc1234", "seconds": 9000, "timed": 7, "stages": 9, "hardware": ["2 cores, cpu"]}
    numbers = {"paper": facts | {"digest": file_digest(reports / "paper" / "metrics.json")}}
    write_json(reports / "provenance.json", numbers)
    shown = build(reports)
    assert "2.5 h, 7 of 9 stages timed" in shown and "abc1234" in shown and "2 cores, cpu" in shown
    write_json(reports / "provenance.json", {"paper": facts | {"digest": "of other numbers"}})
    assert "abc1234" not in build(reports)


def test_ablations_and_the_composition_prior_have_their_tables(reports):
    def scores(at: float) -> dict:
        return {name: {"mean": at, "ci95": 1.0} for name in ("seen", "unseen", "harmonic", "ausuc")}

    decodings = {name: scores(at) for name, at in (("threshold", 5.0), ("composition_prior", 23.5), ("em", 24.5))}
    gains = {"decoding": {"none": gain(18.5, 0.01, 0.01)}, "generator": {"ld_vae, threshold": gain(0.5, 0.4, 0.4)}}
    tree = {"generators": {"none": decodings, "ld_vae": decodings}, "posterior": {}, "classifiers": {"sgm": decodings}}
    without_ausuc = {d: {k: v for k, v in scores(61.5).items() if k != "ausuc"} for d in decodings}
    tree |= {"ceilings": {"bayes": without_ausuc}, "gains": gains}
    write_json(reports / "prior" / "metrics.json", {"semeval_mini_seen": tree})
    support = {"none": numbers(11.0), "default": numbers(20.0)} | {
        f"{module} 0": numbers(18.25) for module in index_sections.MODULES
    }
    tree = {"support": support, "options": {"default": numbers(20.0)}, "selections": {"default": numbers(20.0)}}
    tree["synthetic"] = {"none 0": numbers(10.0), "ld_vae 150": numbers(14.25), "ld_vae all": numbers(16.75)}
    tree["judged"] = {"ld_vae": {"oracle": {m: {"mean": 17.25, "ci95": 2.0} for m in ("acc", "corr", "comp")}}}
    tree["silhouette"] = {"ld_vae": {"latent": {"mean": 0.75}}, "gpt2_pt": {}}
    write_json(reports / "ablations" / "metrics.json", {"diagnostic": tree})
    with pytest.raises(InputError, match="splits/diagnostic.json: no such file"):
        build(reports)
    write_json(reports / "paper" / "splits" / "diagnostic.json", COUNTS | {"n_support": 30})
    (reports / "ablations" / "figures").mkdir()
    for name in ("synthetic-size-diagnostic", "representations-diagnostic"):
        Image.effect_noise((40, 30), 50).save(reports / "ablations" / "figures" / f"{name}.png")
    figure = reports / "ablations" / "figures" / "representations-diagnostic.png"
    whole = figure.read_bytes()
    for broken in (b"no image", whole[: len(whole) // 2]):
        figure.write_bytes(broken)
        with pytest.raises(InputError, match="representations-diagnostic.png: not a readable image; run the stage"):
            build(reports)
    figure.write_bytes(whole)

    shown = " ".join(build(reports).split())
    for row in (
        '<td>none, composition_prior</td><td class="n " data-sort="23.5">23.50',
        '<td>none</td><td class="n " data-sort="18.5">+18.50<small>+17.50 to +19.50</small></td> <td class="n " data-sort="17.5">+17.50 to +19.50</td>',
        "<td>Bayes, mixed with those of the test set</td>",
        "<td>sgm, threshold</td>",
        "<td>label generator, 0</td>",
        "<td>label generator, 30</td>",
        "<h3>diagnostic: rules of selection</h3>",
        '<td>ld_vae</td><td class="n " data-sort="10.0">10.00',
        '<td>ld_vae</td><td class="n " data-sort="17.25">17.25',
        '<td>ld_vae</td><td class="n " data-sort="0.75">0.75',
    ):
        assert row.replace("> <", "><") in shown.replace("> <", "><")
    assert (
        shown.count("data:image/png") == 2
        and "no results yet" not in shown.split('id="figures"')[1].split("<section")[0]
    )


def test_the_page_needs_nothing_from_elsewhere_and_text_cannot_break_out(reports):
    shown = build(reports)
    links = [link for link in re.findall(r'(?:src|href)="([^"]*)"', shown) if not link.startswith(("#", "data:"))]
    assert links == ["https://arxiv.org/abs/2312.11276"]
    assert "</script><i>" not in shown and "tiny <b>" not in shown
    assert "text \\u003c/script\\u003e\\u003ci\\u003e3" in shown and "tiny &lt;b&gt;" in shown


def test_a_page_that_grew_too_large_is_refused(reports, monkeypatch):
    monkeypatch.setattr(page_stage, "LIMIT", 10_000)
    with pytest.raises(InputError, match="index.html: the page has .* bytes, more than 10,000"):
        build(reports)


def test_a_page_without_texts_says_where_they_were_sought(reports, capsys):
    build(reports)
    assert "kB, texts of ld_vae" in capsys.readouterr().out
    (reports.parent / "selected").rename(reports.parent / "elsewhere")
    build(reports)
    assert f"no texts: {reports.parent / 'selected'} has none of diagnostic, seed 13" in capsys.readouterr().out


@pytest.mark.skipif(not (ROOT / "reports/paper/metrics.json").exists(), reason="needs results")
def test_the_committed_results_make_a_page():
    sources = index.read_sources(ROOT / "reports", PAPER, SEEDS)
    sections = index_sections.sections(sources, page_stage.figures_of(ROOT / "reports"), None)
    shown = index.render(sources, sections, page_stage.provenance(ROOT / "reports", sources, SEEDS))
    tree = read_json(ROOT / "reports/paper/metrics.json")
    assert f"{tree['diagnostic']['ld_vae']['acc']['mean']:.2f}" in shown


@needs_browser
@pytest.mark.parametrize("width", [390, 1280])
def test_a_browser_loads_sorts_and_searches_it(reports, width):
    """No script error, every image there, no sideways scrolling of the page, tables sort, the search finds."""
    check = """<script>
    const errors = []; window.addEventListener("error", event => errors.push(event.message));
    addEventListener("load", () => {
      const table = [...document.querySelectorAll("table.sortable")].find(t => t.rows.length > 4 && t.tHead.textContent.includes("Acc"));
      const acc = () => [...table.tBodies[0].rows].map(row => row.cells[2].dataset.sort).filter(Boolean).map(Number);
      const button = table.querySelectorAll("th button")[2], sorted = () => button.closest("th").getAttribute("aria-sort");
      button.click(); const down = acc(), ways = [sorted()]; button.click(); const up = acc(); ways.push(sorted());
      const last = [...table.tHead.rows[0].cells].length - 1, gains = () => [...table.tBodies[0].rows].map(row => row.cells[last].dataset.sort);
      table.querySelectorAll("th button")[last].click(); const gain = [gains()];
      table.querySelectorAll("th button")[last].click(); gain.push(gains());
      table.querySelectorAll("th button")[0].click();
      const names = [...table.tBodies[0].rows].map(row => row.cells[0].textContent);
      const query = document.getElementById("query"), hits = {};
      for (const words of ["joy lo", "love, j", "joy joy", "jo j"]) {
        query.value = words; query.dispatchEvent(new Event("input"));
        hits[words] = [...document.querySelectorAll("#found tbody tr")].map(row => row.cells[0].textContent);
      }
      const images = [...document.images].every(image => image.complete && image.naturalWidth > 0);
      const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
      document.body.innerHTML = "<pre id=seen></pre>";
      document.getElementById("seen").textContent = JSON.stringify({errors, down, up, ways, gain, names, hits, images, wide});
    });
    </script>"""
    path = reports / "checked.html"
    path.write_text(build(reports).replace("<title>", f"{check}<title>"))
    seen = json.loads(text_of(path, "seen", width))
    assert seen["errors"] == [] and seen["images"] and seen["wide"] <= 0
    assert (
        seen["down"] == sorted(seen["down"], reverse=True) and seen["up"] == seen["down"][::-1] and len(seen["up"]) >= 2
    )
    assert seen["ways"] == ["descending", "ascending"]
    assert seen["gain"] == [["5.0", "4.0", "", ""], ["4.0", "5.0", "", ""]]  # rows without a gain stay last
    assert seen["names"] == sorted(seen["names"], key=str.casefold)
    both = ["joy, love", "joy, love"]
    assert seen["hits"] == {"joy lo": both, "love, j": both, "joy joy": [], "jo j": []}
