"""The tables, the figure and the page of the experiment `cartography`, from a made-up long table and a made-up map."""

from __future__ import annotations

import json

import longtables
import pytest
import worlds
from browser import needs_browser, text_of
from graph import ROOT
from longtables import lines
from PIL import Image

from compaug.experiments.cells import read
from compaug.reports import cartography_tables, contents, page

OF = {"experiment": "cartography"}
HALF, HARD, RANDOM = (5.0, 6.0, 7.0), (8.0, 9.0, 10.0), (4.0, 5.0, 6.0)


def every(values, generator="none", **more) -> list[dict]:
    return [row for metric in longtables.METRICS for row in lines(metric, values, generator, **OF, **more)]


def rows() -> list[dict]:
    records = every((10.0, 11.0, 12.0))
    records += every(HARD, classifier="bert+region=hard+epochs=4")
    records += every(RANDOM, classifier="bert+region=random+epochs=4")
    records += every((3.0, 3.0, 3.0), classifier="bert+region=easy,ratio=0.33+epochs=6")
    records += every((1.0, 1.0, 1.0), classifier="bert+region=random,ratio=0.33+epochs=6")
    records += every(HALF, classifier="bert+pacing=all") + every(HARD, classifier="bert+pacing=linear,first=hard")
    records += every((20.0, 21.0, 22.0), "ls_pt") + every((21.0, 22.0, 23.0), "ls_pt", selection="score=hard")
    records += every((18.0, 18.0, 18.0), "ls_pt", selection="mode=random")
    records += every((19.0, 19.0, 19.0), "ls_pt+region=hard") + every((17.0, 18.0, 19.0), "ls_pt+region=random")
    records += lines("fidelity_kept", (50.0, 51.0, 52.0), "ls_pt", decoding="any", **OF)
    return records


def facts(seed=13, texts=True, **more) -> dict:
    regions = {
        region: dict.fromkeys(cartography_tables.STATISTICS, value) | {"rows": 1}
        for region, value in {"hard": 0.1, "ambiguous": 0.2, "easy": 0.3, "all": 0.2}.items()
    }
    points = {"confidence": [0.1, 0.5, 0.9], "variability": [0.1, 0.3, 0.0], "correctness": [0.0, 0.4, 1.0]}
    points |= {"synthetic": [False, True, False], "labels": ["joy", "joy+love", "<none>"]}
    points |= {"texts": ["one </script><i>", "two", "three"]} if texts else {}
    of = {"benchmark": "diagnostic", "method": "bert", "source": "none", "seed": seed, "measure": "mean_label"}
    return of | {"epochs": [1, 2, 3], "rows": 3, "regions": regions, "points": points} | more


@pytest.fixture
def results(tmp_path):
    folder = longtables.reports(tmp_path / "reports", rows())
    worlds.write_measure(folder, "maps", "diagnostic-none-bert-13", facts())
    worlds.write_measure(folder, "maps", "diagnostic-none-bert-21", facts(21))
    worlds.write_measure(folder, "maps", "semeval-none-bert-13", facts(benchmark="semeval", texts=False))
    return longtables.load(folder)


def table(results, title: str):
    (shown,) = [page_table for page_table in contents.tables("cartography", results) if title in page_table.title]
    return {row[0]: dict(zip(shown.header, row, strict=True)) for row in shown.rows}


def test_a_subset_stands_beside_all_texts_and_random_ones_of_its_size(results):
    subsets = table(results, "subsets of D_train")
    assert [*subsets] == [
        "all of D_train",
        "hard, 50 %, 4 epochs",
        "random, 50 %, 4 epochs",
        "easy, 33 %, 6 epochs",
        "random, 33 %, 6 epochs",
    ]
    hard, easy = subsets["hard, 50 %, 4 epochs"], subsets["easy, 33 %, 6 epochs"]
    assert (hard["Acc"].ours, hard["over all"].ours, hard["over random"].ours) == (9.0, -2.0, 4.0)
    assert easy["over random"].ours == 2.0  # the third, not the half
    assert subsets["random, 50 %, 4 epochs"]["over random"].ours is None


def test_a_curriculum_is_compared_with_as_many_steps_without_one(results):
    curricula = table(results, "curricula of the classifier, no synthetic texts")
    assert curricula["linear pacing, hard first"]["over all epochs"].ours == 3.0
    assert curricula["no curriculum, early stopping"]["Acc"].ours == 11.0


def test_a_map_as_a_filter_is_compared_with_the_filter_and_with_chance(results):
    filters = table(results, "what is kept of the texts of ls_pt")
    assert filters["`score=hard`"]["over filter"].ours == 1.0 and filters["`score=hard`"]["over random"].ours == 4.0
    assert filters["filter"]["fidelity"].ours == 51.0


def test_what_a_generator_learns_from_is_compared_with_as_many_random_texts(results):
    learned = table(results, "what ls_pt learns from")
    assert learned["hard, 50 %"]["over random or all epochs"].ours == 1.0


def test_regions_are_means_over_the_seeds_maps(results):
    regions = table(results, "diagnostic: data map of bert")
    assert regions["hard"]["confidence, %"].ours == pytest.approx(10) and regions["hard"]["synthetic, %"].ours == 10


def test_every_cell_of_the_experiment_is_in_a_table(results, tmp_path):
    """Names that the experiment's cells have are names that a table asks for."""
    cells = read(ROOT / "configs/experiments.yaml")["cartography"].cells
    records = [line for cell in cells if cell.seed == 42 for line in every((1.0, 2.0, 3.0), **words_of(cell))]
    folder = longtables.reports(tmp_path / "reports", records)
    shown = contents.tables("cartography", longtables.load(folder))
    counted = sum(len(page_table.rows) for page_table in shown if "data map" not in page_table.title)
    names = {(cell.generator_words, cell.selection, cell.classifier_words) for cell in cells}
    assert counted >= len(names)


def words_of(cell) -> dict:
    return {name: value for name, value in cell.columns().items() if name in ("generator", "selection", "classifier")}


def test_the_map_is_drawn_and_its_page_has_texts_of_the_own_corpus_alone(results, tmp_path):
    drawn = contents.figures("cartography", results)
    assert [figure.name for figure in drawn] == ["data-map-diagnostic-bert-none", "data-map-semeval-bert-none"]
    drawn[0].draw(tmp_path / "map")
    grey = Image.open(tmp_path / "map.png").convert("L")
    assert grey.width > 500 and len({value for _, value in grey.getcolors(256)}) > 20
    (drawing,) = cartography_tables.interactive(results)  # no text of semeval
    assert drawing["points"][1] == [0.5, 0.3, 0.4, True, "joy+love", "two"] and "seed 13" in drawing["title"]
    figures = tmp_path / "figures"
    for name in contents.TABLES:
        for figure in contents.figures(name, results):
            figure.draw(figures / figure.name)
    shown = page.page(results, figures, {}, [])
    assert '<section id="data_map">' in shown and "one \\u003c/script" in shown and "one </script><i>" not in shown


def test_without_maps_the_page_has_no_place_for_them(tmp_path):
    results = longtables.load(longtables.reports(tmp_path / "reports", longtables.paper_rows()))
    assert cartography_tables.interactive(results) == [] and not contents.tables("cartography", results)


@needs_browser
def test_a_point_of_the_map_shows_its_text_to_a_pointer_and_to_the_arrow_keys(results, tmp_path):
    check = """<pre id="check"></pre><script>
    const errors = []; addEventListener("error", event => errors.push(event.message));
    addEventListener("load", () => {
      const svg = document.getElementById("points"), said = () => document.getElementById("point").textContent;
      const press = key => { svg.dispatchEvent(new KeyboardEvent("keydown", { key })); return said(); };
      const keys = [press("ArrowRight"), press("ArrowRight"), press("ArrowLeft"), press("ArrowLeft")];
      svg.querySelector("rect").dispatchEvent(new PointerEvent("pointerenter"));
      const dots = svg.querySelectorAll("circle, rect").length;
      const wide = document.documentElement.scrollWidth > innerWidth;
      document.getElementById("check").textContent = JSON.stringify({ keys, pointed: said(), dots, wide, errors });
    });
    </script>"""
    figures = tmp_path / "figures"
    for name in contents.TABLES:
        for figure in contents.figures(name, results):
            figure.draw(figures / figure.name)
    (tmp_path / "page.html").write_text(page.page(results, figures, {}, []) + check, encoding="utf-8")
    for width in (390, 1280):
        checks = json.loads(text_of(tmp_path / "page.html", "check", width))
        assert not checks["errors"] and not checks["wide"] and checks["dots"] == 3
        words = [text.partition(" (confidence")[0].strip() for text in checks["keys"]]
        easy, middle, hard = "<none>: three", "joy, love (synthetic): two", "joy: one </script><i>"
        assert words == [easy, middle, easy, hard]  # from the most confident on, and round
        assert checks["pointed"].startswith(middle) and "right in 40 % of the epochs" in checks["pointed"]
