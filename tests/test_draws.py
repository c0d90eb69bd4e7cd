"""The gap over draws of held-out combinations, for a linear classifier."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from compaug.core.files import InputError, read_json, read_yaml, write_json
from compaug.core.records import Example, Labels, write_jsonl
from compaug.reports import draws_tables
from compaug.stages import gap_by_draw
from compaug.tasks.draws import draws_cells, parameters

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("a", "b", "c", "d", "e", "f")
SPLIT, SIZES = "split.compositions=4,min_count=10,test_share=[0.01, 0.5]", "sizes.support_size=8"


def corpus(idioms: bool) -> list[Example]:
    """Labels have words of their own; with `idioms` pairs have others, so that no single label says what they mean."""
    rng, examples = random.Random(0), []
    for labels in [(i,) for i in range(6)] + [(i, j) for j in range(6) for i in range(j)]:
        for _ in range(40):
            words = [f"{NAMES[label]}{rng.randrange(3)}" for label in labels]
            if idioms and len(labels) == 2:
                words = [f"{NAMES[labels[0]]}{NAMES[labels[1]]}{rng.randrange(3)}"]
            examples.append(Example(str(len(examples)), " ".join([*words, f"row{len(examples)}"]), labels))
    return examples


@pytest.fixture
def draws_of(tmp_path):
    def measure(idioms: bool) -> list[dict]:
        raw = tmp_path / "raw"
        raw.mkdir(exist_ok=True)
        write_jsonl(raw / "examples.jsonl", corpus(idioms))
        Labels(NAMES, NAMES).write(raw / "labels.json")
        words = ["--benchmark", "debtags", "--raw", str(raw), "--draws", "2", "--out", str(tmp_path / "gap.json")]
        gap_by_draw.main([*words, "--params", str(ROOT / "params.yaml"), "--set", SPLIT, "--set", SIZES])
        facts = read_json(tmp_path / "gap.json")
        assert facts["benchmark"] == "debtags"
        return facts["draws"]

    return measure


def test_texts_teach_what_a_combination_means_where_its_labels_do_not_say_it(draws_of):
    additive, idiomatic = draws_of(False), draws_of(True)
    assert max(abs(draw["knowledge"]) for draw in additive) < 5
    assert min(draw["knowledge"] for draw in idiomatic) > 30
    for draws in (additive, idiomatic):
        assert [(draw["rule"], draw["seed"]) for draw in draws] == [(r, s) for s in (0, 1) for r in gap_by_draw.RULES]
        assert all(
            draw["total"] == pytest.approx(draw["operating_point"] + draw["knowledge"], abs=1e-3) for draw in draws
        )
        for seed in (0, 1):
            assert len({draw["n_unseen"] for draw in draws if draw["seed"] == seed}) == 1


def test_the_grid_has_a_stage_for_each_corpus():
    planned = draws_cells.plan(ROOT / parameters.FILE)
    assert set(planned) == set(draws_cells.KINDS)
    assert planned["gap_by_draw"].keys() == planned["raw"].keys() == read_yaml(ROOT / parameters.FILE)["corpora"].keys()
    assert planned["gap_by_draw"]["debtags"]["more"] == ""
    assert planned["gap_by_draw"]["semeval"]["more"].startswith("--set 'split.mode=generate,")


@pytest.mark.parametrize(
    ("edit", "message"), [({"draws": 0}, "draws: "), ({"corpora": {}}, "corpora: "), ({"rules": []}, "rules: ")]
)
def test_a_wrong_value_of_its_file_is_one_line_that_names_the_key(tmp_path, edit, message):
    write_json(path := tmp_path / "draws.yaml", read_yaml(ROOT / parameters.FILE) | edit)  # JSON is YAML
    with pytest.raises(InputError, match=f"draws.yaml: {message}") as caught:
        draws_cells.plan(path)
    assert "\n" not in str(caught.value)


def test_a_table_has_a_line_for_each_corpus_and_rule():
    draw = {"n_unseen": 100, "total": 30.0, "operating_point": 28.0, "knowledge": 2.0}
    arms = (("random", draw), ("hardest", draw | {"total": 35.0, "operating_point": 33.0}))
    draws = [measured | {"rule": rule, "seed": seed} for rule, measured in arms for seed in range(3)]
    results = type("Results", (), {"draws": {"debtags": {"benchmark": "debtags", "draws": draws}}})
    (table,) = draws_tables.tables(results)
    assert [[str(word) for word in row] for row in table.rows] == [
        ["debtags", "random", "3", "100", "30.00 [30.00, 30.00]", "+28.00 [+28.00, +28.00]", "+2.00 [+2.00, +2.00]"],
        ["debtags", "hardest", "3", "100", "35.00 [35.00, 35.00]", "+33.00 [+33.00, +33.00]", "+2.00 [+2.00, +2.00]"],
        ["debtags", "hardest over random", "3", "100", *["+5.00 [+5.00, +5.00]"] * 2, "0.00 [0.00, 0.00]"],
    ]
