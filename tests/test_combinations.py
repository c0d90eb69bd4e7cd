"""Labels by combination: the list of those that occur, and a constant on those without training rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from compaug.core.files import InputError, write_json
from compaug.core.records import Labels
from compaug.evaluation.gold import Gold
from compaug.evaluation.predictions import Predictions
from compaug.project.combinations import Combinations, of_audit, of_repair, read

NAMES = ("delay", "price", "staff")


def test_the_best_combination_wins_and_the_constant_raises_what_training_lacks():
    """Log probabilities of (delay), (price) and (delay, price) by hand; staff is unlikely in all."""
    p = np.array([[0.9, 0.4, 0.1]])
    alone, other, both = np.log(0.9 * 0.6 * 0.9), np.log(0.1 * 0.4 * 0.9), np.log(0.9 * 0.4 * 0.9)
    assert alone > both > other
    chosen = lambda constant: Combinations(((0,), (1,)), ((0, 1),), constant).label_sets(p)[0].tolist()
    assert chosen(0.0) == chosen(alone - both - 1e-6) == [True, False, False]
    assert chosen(alone - both + 1e-6) == [True, True, False]
    anything = Combinations((), ((1,),), 0.0).label_sets(p)
    assert anything.tolist() == [[False, True, False]]  # of one combination it is the best


def audited(seen_test: bool = True) -> tuple[Predictions, Gold]:
    """(0,) and (1,) are trained on, (0, 1) is not. Its rows are read as (0,) up to constants of 0.5 and 1.5.

    The row of (0,) is lost from 2.5 on.
    """
    parts = {"train": {"t0": (0,), "t1": (1,)}, "support": {}, "test": {"u0": (0, 1), "u1": (0, 1)}}
    parts |= {"seen_test": {"s0": (0,)}} if seen_test else {}
    odds = lambda log_odds: 1 / (1 + np.exp(-np.array(log_odds)))
    test = np.array([odds([6.0, -0.5]), odds([6.0, -1.5]), odds([6.0, -2.5])])
    counts = Counter({(0,): 1, (1,): 1})
    nothing = np.zeros((0, 2))
    predicted = Predictions(
        *(Path("p"), counts, counts, Counter(), None, 2, 0, (), nothing, nothing.astype(bool), np.array([], dtype=str)),
        *(("u0", "u1", "s0"), test, None),
    )
    return predicted, Gold(Labels(NAMES[:2], NAMES[:2]), parts, {})


def test_the_constant_is_the_best_one_on_the_audits_test_rows():
    combinations = of_audit(*audited())
    assert (combinations.seen, combinations.unseen) == (((0,), (1,)), ((0, 1),))
    assert combinations.constant == pytest.approx(2.0)  # in the middle of what reads all three rightly
    predicted, _ = audited()
    right = combinations.label_sets(predicted.test) == np.array([[True, True], [True, True], [True, False]])
    assert right.all()
    assert of_audit(*audited(seen_test=False)) is None


def test_a_repaired_classifier_has_seen_all_rows_and_keeps_the_constant():
    combinations = of_repair(Combinations(((0,),), ((1,),), 1.5), [(0,), (1,), (0,)], [(1,), (1, 2), (1, 2)])
    assert combinations == Combinations(((0,), (1,)), ((1, 2),), 1.5)


def test_what_was_written_is_read_and_a_person_may_add_to_it(tmp_path):
    combinations = Combinations(((0,), (1, 2)), ((0, 1, 2),), 1.23456)
    write_json(path := tmp_path / "combinations.json", combinations.named(NAMES))
    assert read(path, NAMES) == Combinations(combinations.seen, combinations.unseen, 1.2346)
    more = combinations.named(NAMES)
    more["unseen"].append("staff+delay+staff")
    write_json(path, more)
    assert read(path, NAMES).unseen == ((0, 1, 2), (0, 2))


@pytest.mark.parametrize(
    ("sides", "line"),
    [
        (
            {"seen": ["dealy"], "unseen": []},
            "unknown label 'dealy'; the labels are delay, price, staff; mend it or leave it",
        ),
        ({"seen": ["delay"], "unseen": ["delay"]}, "delay stands there twice; leave it in seen or in unseen"),
        ({"seen": [], "unseen": []}, "no combinations; list those that a text may have"),
        ({"seen": "delay", "unseen": []}, "give the combinations.json that `compaug export` writes"),
    ],
)
def test_a_list_that_cannot_be_read_is_refused_in_one_line(sides, line, tmp_path):
    write_json(path := tmp_path / "combinations.json", {"constant": 1, **sides})
    with pytest.raises(InputError, match=line) as refused:
        read(path, NAMES)
    assert str(refused.value).startswith(f"{path}:") and "\n" not in str(refused.value)


def test_a_list_that_is_not_there_is_an_exports_to_write(tmp_path):
    with pytest.raises(InputError, match="none.json: no such file; `compaug export` writes combinations.json into"):
        read(tmp_path / "none.json", NAMES)
