"""The tables of the second task, from made-up numbers."""

from __future__ import annotations

import longtables
import pytest
import worlds

from compaug.reports import contents

PLAIN = {"region": "all", "ratio": 0.5, "keep": 1, "measure": "inverse_perplexity", "pacing": None, "first": None}
NUMBERS = {  # of what a training learned from: exact match on gen, seed by seed
    (): (30.0, 31.0, 32.0),
    (("region", "random"),): (20.0, 21.0, 22.0),
    (("region", "hard"),): (25.0, 27.0, 26.0),
    (("region", "easy"),): (20.0, 25.0, 18.0),
    (("region", "ambiguous"),): (30.0, 31.0, 33.0),
    (("region", "hard"), ("ratio", 0.33)): (1.0, 2.0, 3.0),
    (("pacing", "linear"), ("first", "hard")): (33.0, 34.0, 35.0),
}


def facts(choice, seed: int, gen: float, scale="tiny") -> dict:
    categories = {"cp_recursion": gen / 2, "subj_to_obj_common": 2 * gen}
    parts = {"gen": {"rows": 2, "exact": gen, "categories": categories}}
    parts["test"] = {"rows": 9, "exact": 90.0, "categories": {"in_distribution": 90.0}}
    chosen = PLAIN | dict(choice)
    rows = 100 if chosen["region"] == "all" else 50
    of = {"corpus": "cogs", "scale": scale, "seed": seed, "choice": chosen, "of": 100, "rows": rows}
    return of | {"parameters": 1234, "parts": parts}


def written(folder, scale="tiny"):
    folder = longtables.reports(folder, longtables.paper_rows())
    for at, (choice, values) in enumerate(NUMBERS.items()):
        for seed, value in enumerate(values):
            worlds.write_measure(folder, "parsing", f"{at}-{seed}", facts(choice, seed, value, scale))
    return longtables.load(folder)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return written(tmp_path_factory.mktemp("reports") / "reports")


def table(results, title: str) -> dict[str, dict]:
    (matching,) = [candidate for candidate in contents.tables("parsing", results) if title in candidate.title]
    return {row[0]: dict(zip(matching.header, row, strict=True)) for row in matching.rows}


def test_a_subset_is_compared_with_a_random_one_of_its_size_by_seed(results):
    rows = table(results, "subsets and curricula")
    assert list(rows)[:3] == ["all pairs", "random, 50 %", "hard, 50 %, by inverse_perplexity"]
    hard = rows["hard, 50 %, by inverse_perplexity"]
    assert hard["gen"].ours == 26.0 and hard["gen over random"].ours == 5.0 and hard["gen over all"].ours == -5.0
    assert hard["gen over random"].ci95 == pytest.approx(4.302653 / 3**0.5)  # of the differences 5, 6, 4
    assert hard["pairs"].ours == 50 and hard["test"].ours == 90.0
    third = rows["hard, 33 %, by inverse_perplexity"]
    assert third["gen over random"].ours is None and third["gen over all"].ours == -29.0  # no random third ran
    paced = rows["all pairs, linear pacing, hard first, by inverse_perplexity"]
    assert paced["gen over all"].ours == 3.0 and paced["gen over random"].ours is None


def test_the_direction_is_that_of_the_papers_table_3(results):
    directions = {name: row["direction"] for name, row in table(results, "subsets and curricula").items()}
    assert directions["hard, 50 %, by inverse_perplexity"] == "as printed"  # 47.48 over 30.24
    assert directions["easy, 50 %, by inverse_perplexity"] == "open"  # 0, 4, -4
    assert directions["ambiguous, 50 %, by inverse_perplexity"] == "the other way"  # 0.047 under 30.24
    assert {directions["all pairs"], directions["random, 50 %"], directions["hard, 33 %, by inverse_perplexity"]} == {
        "–"
    }


def test_categories_stand_in_the_order_of_cogs_paper_beside_table_10(results):
    rows = table(results, "gen by category")
    assert list(rows) == ["3.1.1 subj_to_obj_common", "3.3.1 cp_recursion"]
    first = rows["3.1.1 subj_to_obj_common"]
    assert first["all pairs"].ours == 62.0 and first["all pairs"].paper == 61
    assert first["hard, 33 %, by inverse_perplexity"].paper == 45 and first["random, 50 %"].paper is None
    assert str(first["all pairs"]) == "62.00 [60.00, 64.00]"  # the lowest and the highest seed
    assert len(contents.tables("parsing", results)) == 2  # test has one category


def test_levels_are_held_against_the_papers_at_its_own_size_alone(results, tmp_path):
    tiny = table(results, "subsets and curricula")["all pairs"]["gen"]
    assert tiny.paper == 36.8 and not tiny.comparable
    assert table(written(tmp_path / "reports", "paper"), "subsets and curricula")["all pairs"]["gen"].comparable


def test_without_numbers_it_says_how_to_make_them(tmp_path):
    results = longtables.load(longtables.reports(tmp_path / "reports", longtables.paper_rows()))
    assert contents.tables("parsing", results) == []
    assert "make grid EXPERIMENT=parsing" in contents.missing("parsing")
