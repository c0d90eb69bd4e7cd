"""Packs: what cells left comes back to four digits, in the same bytes whatever came first; and what is wrong is
named."""

from __future__ import annotations

import hashlib
import itertools
import random
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import worlds
from graph import ROOT
from tools import verify
from worlds import PARTS

from compaug.core.files import InputError, write_json
from compaug.engine import built, planning
from compaug.evaluation import measures, packs, predictions
from compaug.evaluation.packs import Packs, pack_of
from compaug.experiments.cells import Cell
from compaug.stages import pack

LIMIT = 4_000_000  # bytes of a file in Git
NAME = "diagnostic-ld_vae-bert-13"


def cell(generator: str = "ld_vae", seed: int = 13, **more) -> Cell:
    return Cell("diagnostic", seed, generator=generator, **more)


def write_cell(folder: Path, which: Cell, seed: int = 1, **more) -> Path:
    """A file as training leaves it, in folder/data."""
    validation = [(example, "train") for example in PARTS["train"][:7]] + [(PARTS["support"][0], "support")]
    return worlds.write_cell(folder, which.name, worlds.beliefs(PARTS["test"], seed), validation, **more)


def stage(folder: Path) -> None:
    pack.main(["--data", str(folder / "data"), "--out", str(folder / "reports")])


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# ---------------------------------------------------------------- what was left comes back


@pytest.mark.parametrize("more", [{}, {"drawn": {"": 2, "0,1": 3}, "losses": [0.5, 0.25]}, {"losses": []}])
@pytest.mark.parametrize("written", [False, True])
def test_a_cell_comes_back_with_its_header_to_four_digits(tmp_path, more, written):
    pieces = {"unparsed": {e.id: at % 3 for at, e in enumerate(PARTS["test"])}} if written else {}
    path = write_cell(tmp_path, cell(), **more, **pieces)
    assert packs.merge(tmp_path / "packs", {NAME: path}) == [NAME]
    left, packed = predictions.read(path, 3), Packs(tmp_path / "packs").read(NAME, 3)
    for name in ("learned", "train", "support", "drawn", "n_train", "n_synthetic", "losses", "ids"):
        assert getattr(packed, name) == getattr(left, name), name
    for name in ("validation", "test"):
        assert np.abs(getattr(packed, name) - getattr(left, name)).max() <= 1e-4
    assert packed.source.tolist() == left.source.tolist() and (packed.validation_gold == left.validation_gold).all()
    assert (packed.unparsed is None) == (left.unparsed is None) == (not written)
    assert not written or packed.unparsed.tolist() == left.unparsed.tolist()


def test_no_answer_at_a_half_changes_and_four_digits_stay(tmp_path):
    values = [0.0, 1.0, 0.5, 0.500001, 0.50005, 0.499999, 0.12345, 0.00005, 0.99996]
    path = worlds.write_cell(tmp_path, NAME, {f"u{at}": [value, 0.1234, 1 - value] for at, value in enumerate(values)})
    packs.merge(tmp_path / "packs", {NAME: path})
    packed = Packs(tmp_path / "packs").read(NAME, 3).test
    left = predictions.read(path, 3).test
    assert ((packed > 0.5) == (left > 0.5)).all() and (packed[:, 1] == 0.1234).all()
    assert packed[:4, 0].tolist() == [0, 1, 0.5, 0.5001] and packed[7:, 0].tolist() == [0.00005, 0.99996]


def test_probabilities_near_0_and_1_have_three_digits_that_count(tmp_path):
    values = np.geomspace(1e-6, 0.5, 400).round(6)
    rows = {f"u{at}": [value, round(1 - value, 6), 0.5] for at, value in enumerate(values)}
    packs.merge(tmp_path / "packs", {NAME: worlds.write_cell(tmp_path, NAME, rows)})
    packed = Packs(tmp_path / "packs").read(NAME, 3).test
    for near in (packed[:, 0], 1 - packed[:, 1]):
        assert (np.abs(near / values - 1) < 0.0051).all()


def test_which_pack_a_cell_is_in_follows_from_its_name():
    named = {
        "diagnostic-none-bert-13": "diagnostic-controls-13",
        "diagnostic-iid-none-t5_clp-13": "diagnostic-controls-13",
        "diagnostic-oracle+right=0.2-bert-13": "diagnostic-controls-13",
        "diagnostic-ld_vae-texts=600-bert+mixout=0.3-13": "diagnostic-generators-13",
        "diagnostic-ld_vae+guidance=2-bert-21": "diagnostic-variants-21",
        "semeval+seen_test=1400+pretrained-real_texts-bert-44-b": "semeval+seen_test=1400+pretrained-controls-44",
    }
    assert {name: pack_of(name) for name in named} == named
    with pytest.raises(InputError, match="run: no name of a cell"):
        pack_of("run")


# ---------------------------------------------------------------- merging


def test_a_cell_replaces_its_row_a_new_one_is_added_and_the_others_stay(tmp_path, capsys):
    first, other, control = cell(), cell("ls_pt"), cell("none")
    for which in (first, other, control):
        write_cell(tmp_path, which)
    stage(tmp_path)
    assert capsys.readouterr().out.splitlines() == [f"predictions: {which.name}" for which in (first, other, control)]
    before = Packs(tmp_path / "reports/predictions").read(other.name, 3)
    for path in (tmp_path / "data/predictions").iterdir():
        path.unlink()  # as in a clone
    stage(tmp_path)
    assert capsys.readouterr().out == ""
    write_cell(tmp_path, first, seed=2)
    write_cell(tmp_path, cell("vae"))
    stage(tmp_path)
    assert capsys.readouterr().out.splitlines() == [f"predictions: {NAME}", "predictions: diagnostic-vae-bert-13"]
    after = Packs(tmp_path / "reports/predictions")
    assert sorted(after) == sorted(which.name for which in (first, other, control, cell("vae")))
    assert (after.read(other.name, 3).test == before.test).all()
    changed = predictions.read(worlds.file_of(tmp_path, first), 3).test
    assert np.abs(after.read(NAME, 3).test - changed).max() <= 1e-4
    assert after.md5(NAME) == hashlib.md5(worlds.file_of(tmp_path, first).read_bytes()).hexdigest()


def test_the_same_cells_give_the_same_bytes_whatever_came_first(tmp_path):
    cells = [cell(), cell("ls_pt"), cell("vae_dprior", classifier="t5_clp")]
    pieces = {e.id: 1 for e in PARTS["test"]}
    files = {
        which.name: write_cell(tmp_path, which, at, **({"unparsed": pieces} if at == 2 else {"drawn": {"1": 2}}))
        for at, which in enumerate(cells)
    }
    packs.merge(tmp_path / "at_once", files)
    for order in itertools.permutations(files):
        folder = tmp_path / "-".join(order)
        packs.merge(folder, {NAME: write_cell(tmp_path / "older", cell(), 9)})  # is replaced
        for name in order:
            packs.merge(folder, {name: files[name]})
        assert contents(folder) == contents(tmp_path / "at_once")


def test_measures_are_merged_like_predictions(tmp_path, capsys):
    judged = {"judged": {"oracle": {"acc": 50.0}}}
    for name in ("diagnostic-vae-13", "diagnostic-ld_vae-13"):
        write_json(tmp_path / "data/judged" / f"{name}.json", judged)
    (tmp_path / "data/maps/diagnostic-none-bert-13").mkdir(parents=True)  # a map itself: a folder
    stage(tmp_path)
    assert capsys.readouterr().out.splitlines() == ["judged: diagnostic-ld_vae-13", "judged: diagnostic-vae-13"]
    first = contents(tmp_path / "reports")
    shutil.rmtree(tmp_path / "data")
    write_json(tmp_path / "data/judged/diagnostic-vae-13.json", {"judged": {}})
    stage(tmp_path)
    assert measures.read(tmp_path / "reports", "judged") == {
        "diagnostic-ld_vae-13": judged,
        "diagnostic-vae-13": {"judged": {}},
    }
    write_json(tmp_path / "data/judged/diagnostic-vae-13.json", judged)
    stage(tmp_path)
    assert contents(tmp_path / "reports") == first


# ---------------------------------------------------------------- what is wrong


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("predictions/diagnostic-vae-bert-13.jsonl.gz", b"{}", "13.jsonl.gz: not a whole gzip file"),
        ("predictions/notes.jsonl.gz", b"", "notes.jsonl.gz: not named after a cell"),
        ("judged/diagnostic-vae-13.json", b"{", "judged/diagnostic-vae-13.json: not valid JSON"),
    ],
)
def test_a_bad_file_is_one_line_and_the_packs_stay_as_they_were(tmp_path, name, content, message):
    write_cell(tmp_path, cell())
    write_json(tmp_path / "data/judged/diagnostic-ld_vae-13.json", {"judged": {}})
    stage(tmp_path)
    before = contents(tmp_path / "reports")
    write_cell(tmp_path, cell(), seed=2)
    write_json(tmp_path / "data/judged/diagnostic-ld_vae-13.json", {"judged": {"oracle": {}}})
    (tmp_path / "data" / name).parent.mkdir(exist_ok=True)
    (tmp_path / "data" / name).write_bytes(content)
    with pytest.raises(InputError, match=message) as error:
        stage(tmp_path)
    assert "\n" not in str(error.value) and "; " in str(error.value)
    assert contents(tmp_path / "reports") == before


def test_any_damage_to_a_pack_is_one_line(tmp_path):
    """Every bit of a page is under a checksum, and what the end of the file says must agree with the pages."""
    path = tmp_path / f"{pack_of(NAME)}.parquet"
    packs.merge(tmp_path, {NAME: write_cell(tmp_path / "own", cell())})
    whole, rng, refused = path.read_bytes(), random.Random(0), 0
    expected = Packs(tmp_path).read(NAME, 3)
    damages = [whole[:-1], whole[: len(whole) // 2], b"", b"PAR1", whole[:100] + whole[101:]]
    for _ in range(300):
        at = rng.randrange(len(whole))
        damages.append(whole[:at] + bytes([whole[at] ^ (1 << rng.randrange(8))]) + whole[at + 1 :])
    for damage in damages:
        path.write_bytes(damage)
        try:
            packed = Packs(tmp_path).read(NAME, 3)
        except InputError as error:
            refused += 1
            assert str(path) in str(error) and "\n" not in str(error) and "take it from Git again" in str(error)
        else:  # what no value depends on, as the version of the library
            assert (packed.test == expected.test).all() and (packed.validation == expected.validation).all()
            assert (packed.learned, packed.ids) == (expected.learned, expected.ids)
    assert refused > 200


def test_a_pack_of_other_labels_or_without_the_cell_is_refused(tmp_path):
    packs.merge(tmp_path, {NAME: write_cell(tmp_path / "own", cell())})
    with pytest.raises(InputError, match="13.parquet/diagnostic-ld_vae-bert-13: .*; take it from Git again"):
        Packs(tmp_path).read(NAME, 2)
    with pytest.raises(InputError, match="diagnostic-vae-bert-13: no such cell; `make grid` builds it"):
        Packs(tmp_path).read("diagnostic-vae-bert-13", 3)
    (tmp_path / f"{pack_of(NAME)}.parquet").rename(tmp_path / "diagnostic-variants-13.parquet")
    with pytest.raises(InputError, match="diagnostic-variants-13.parquet: not a whole pack of predictions"):
        list(Packs(tmp_path))


# ---------------------------------------------------------------- a cell that was built again


def test_predictions_built_again_are_compared_with_the_packed_ones_to_four_digits(tmp_path):
    rows = {e.id: p for e, p in zip(PARTS["test"], worlds.beliefs(PARTS["test"]).values(), strict=True)}
    moved = lambda by: {row_id: [p[0] + by, *p[1:]] for row_id, p in rows.items()}
    path = worlds.write_cell(tmp_path, NAME, rows)
    packs.merge(tmp_path / "reports/predictions", {NAME: path})
    name = path.relative_to(tmp_path).as_posix()
    assert not verify.differs(tmp_path, name, "hash", "other")  # of the file, which has six digits
    for by, expected in ((1e-6, False), (4e-4, True)):
        worlds.write_cell(tmp_path, NAME, moved(by))
        assert verify.differs(tmp_path, name, "hash", "hash") == expected, by
    worlds.write_cell(tmp_path, NAME, rows, losses=[0.25])
    assert verify.differs(tmp_path, name, "hash", "hash")
    other = worlds.write_cell(tmp_path, "diagnostic-vae-bert-13", rows).relative_to(tmp_path).as_posix()
    for path in (other, "models/classifier/x"):  # in no pack: by the hash
        assert verify.differs(tmp_path, path, "hash", "other") and not verify.differs(tmp_path, path, "hash", "hash")


# ---------------------------------------------------------------- the repository


def test_git_has_of_every_classifier_in_the_locks_what_it_left():
    """The packs' md5 of a cell is that of its predictions in the lock; nothing is in them that no lock has."""
    entries = built.read(ROOT / planning.EXPERIMENTS).values()
    locked = {out["path"]: out["md5"] for entry in entries for out in entry.get("outs", ())}
    kept = Packs(ROOT / "reports/predictions")
    assert {f"data/predictions/{name}.jsonl.gz": kept.md5(name) for name in kept} == {
        path: md5 for path, md5 in locked.items() if path.startswith("data/predictions/")
    }
    for kind in measures.KINDS:
        names = {f"data/{kind}/{name}.json" for name in measures.read(ROOT / "reports", kind)}
        assert names == {
            path
            for path in locked
            if path.startswith(f"data/{kind}/") and path.count("/") == 2 and path.endswith(".json")
        }


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a clone")
def test_the_tree_is_light():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    sizes = {name: (ROOT / name).stat().st_size for name in listed.split("\0")[:-1] if (ROOT / name).exists()}
    assert max(sizes.values()) < LIMIT, max(sizes, key=sizes.get)
    assert len(sizes) < 900 and sum(sizes.values()) < 55_000_000  # a tenth: predictions of real corpora
