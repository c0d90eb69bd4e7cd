"""Fingerprints: a heavy stage goes stale when what its code computes changes, and only then."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from graph import ROOT
from parameters import written

from compaug import fingerprints
from compaug.fingerprints import runs, workplace
from stages import as_amd, fingerprint

COMMITTED = ROOT / "fingerprints"
QUICK = "train_generator-concat"
# of the files edited below
READERS_OF_ALL_THREE = ("classifier-bert", "classifier-sgm", "train_generator-ld_vae", "label_generator")


def compute(*names: str, source: Path = ROOT / "src", out: Path = COMMITTED, params: Path = ROOT / "params.yaml"):
    """`python -m stages.fingerprint` with the code in `source`, and where it can be the arithmetic that made the committed files."""
    command = [] if as_amd.missing() else [sys.executable, "-m", "stages.as_amd"]
    command += [sys.executable, "-m", "stages.fingerprint", *names, "--out", str(out), "--params", str(params)]
    environment = os.environ | {"PYTHONPATH": str(source)}
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)


def edited(folder: Path, file: str, *edits: tuple[str, str]) -> Path:
    """A copy of src/ in `folder` with edits of a file, (regular expression, replacement); each must find something."""
    if not (folder / "src").exists():
        shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    path = folder / "src/compaug" / file
    text = path.read_text(encoding="utf-8")
    for pattern, replacement in edits:
        text, count = re.subn(pattern, replacement, text)
        assert count, f"{file} has no {pattern!r} any more; edit something else here"
    path.write_text(text, encoding="utf-8")
    return folder / "src"


def changed(done: subprocess.CompletedProcess) -> set[str]:
    return {line.partition(":")[0] for line in done.stdout.splitlines() if "renew it" in line}


# ---------------------------------------------------------------- the committed files


def test_every_heavy_stage_computes_what_its_committed_fingerprint_says():
    if as_amd.facts().get("vendor_id") != as_amd.AMD and (why := as_amd.missing()):
        pytest.skip(f"the committed digits are those of AMD's kernels: {why}")
    done = compute("--check")
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\nif that is meant: make fingerprints, then dvc repro"


def test_docstrings_and_pure_refactorings_change_no_fingerprint(tmp_path):
    helper = "\n\ndef _width(hidden: int, width: int) -> int:\n    return hidden or width\n\n\ndef two_way_heads("
    edited(
        tmp_path,
        "records.py",
        (r"A 31-bit seed for a named purpose", "The seed of a purpose"),
        (r"\bhandle\b", "opened"),
    )
    edited(
        tmp_path,
        "training.py",
        (r'"""Mean losses over `rows` in evaluation mode', '"""What validation finds'),
        (r"\bsums\b", "totals"),
        (r"math\.ceil\(len\(train_rows\) / options\.batch_size\)", "_ceiling(len(train_rows), options.batch_size)"),
        (r"\n\ndef fit\(", "\n\ndef _ceiling(rows: int, size: int) -> int:\n    return -(-rows // size)\n\n\ndef fit("),
    )
    source = edited(
        tmp_path,
        "classifiers/body.py",
        (r"From a state \[B, width\] to two scores a label", "Two scores a label"),
        (r"\n\ndef two_way_heads\(", helper),
        (r"nn\.Linear\(hidden or width, ", "nn.Linear(_width(hidden, width), "),
        (r"\bmiddle\b", "between"),
    )
    done = compute(*READERS_OF_ALL_THREE, "--check", source=source)
    assert done.returncode == 0, done.stdout + done.stderr


def test_another_dropout_changes_the_classifiers_that_have_it_and_nothing_else(tmp_path):
    source = edited(tmp_path, "classifiers/body.py", (r"nn\.Dropout\(dropout\)", "nn.Dropout(dropout / 2)"))
    classifiers = [name for name in runs.names() if name.startswith(("classifier", "map_classifier"))]
    others = ("label_generator", "train_generator-ls_pt", "select", "quality", "judge", "folds")  # one of each kind
    done = compute(*classifiers, *others, "--check", source=source)
    assert done.returncode == 1, done.stderr
    assert changed(done) == {"classifier-bert", "classifier-bert_p", "map_classifier"}  # which trains bert
    assert "python -m stages.fingerprint classifier-bert && dvc repro" in done.stdout


def test_every_method_has_its_files_and_every_file_its_method():
    assert {path.stem for path in COMMITTED.glob("*.json")} == set(runs.names())
    assert {"classifier-bert", "train_generator-ld_vae", "synthesize-ld_vae", "select"} <= set(runs.names())
    assert "classifier-body" not in runs.names()
    assert "train_generator-prefix" not in runs.names()


# ---------------------------------------------------------------- writing and checking


def test_a_check_writes_nothing_and_names_what_differs(tmp_path):
    path = tmp_path / f"{QUICK}.json"
    known = fingerprints.read(COMMITTED / path.name)
    known["default"]["model/examples.jsonl"][0]["text"] = "another text"
    fingerprints.write(path, known)
    before = path.read_bytes()
    done = compute(QUICK, "--check", out=tmp_path)
    assert done.returncode == 1
    assert changed(done) == {QUICK}
    assert "model/examples.jsonl 0 text" in done.stdout
    assert path.read_bytes() == before
    assert compute(QUICK, out=tmp_path).returncode == 0
    assert path.read_bytes() == (COMMITTED / path.name).read_bytes()


def test_last_digits_leave_the_file_alone(tmp_path):
    path = tmp_path / "quality.json"
    text = (COMMITTED / path.name).read_text()
    value = json.loads(text)["default"]["run.json"]["perplexity"]
    path.write_text(text.replace(str(value), str(value * (1 + 1e-4))))
    before = path.read_bytes()
    assert "none changed" in compute("quality", out=tmp_path).stdout
    assert path.read_bytes() == before != (COMMITTED / path.name).read_bytes()


def test_a_parameter_of_the_repository_changes_no_fingerprint(tmp_path):
    changes = {"classifiers.dbloss": {"gamma": 1.0, "dropout": 0.4, "epochs": 3}, "classifiers.shared.lr": 0.1}
    done = compute("classifier-dbloss", "--check", params=written(tmp_path, changes))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_new_generator_has_fingerprints_without_being_listed(tmp_path):
    source = edited(tmp_path, "generators/concat.py", (r"Concat", "Joined"))
    (source / "compaug/generators/concat.py").rename(source / "compaug/generators/joined.py")
    shutil.copy(ROOT / "src/compaug/generators/concat.py", source / "compaug/generators/concat.py")
    params = written(tmp_path, {"generators.joined": {}})
    done = compute("train_generator-joined", source=source, out=tmp_path / "fingerprints", params=params)
    assert done.returncode == 0, done.stderr
    found = fingerprints.read(tmp_path / "fingerprints/train_generator-joined.json")
    assert found == fingerprints.read(COMMITTED / f"{QUICK}.json")


def test_the_file_of_a_method_that_is_gone_is_removed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(workplace, "computed", lambda names, params: iter(()))
    path = tmp_path / "train_generator-gone.json"
    fingerprints.write(path, {"default": {"model/config.json": {"layers": 2}}})
    with pytest.raises(SystemExit):
        fingerprint.main(["--check", "--out", str(tmp_path)])
    assert path.exists()
    fingerprint.main(["--out", str(tmp_path)])
    assert not path.exists()
    assert "train_generator-gone: there is no such stage any more; removed" in capsys.readouterr().out


def test_a_misspelt_name_is_one_line():
    done = compute("train_generator-ldvae", "--check")
    assert done.returncode == 2
    assert done.stderr.startswith("error: there is no fingerprint 'train_generator-ldvae'; choose from")
    assert done.stderr.count("\n") == 1


# ---------------------------------------------------------------- comparison


@pytest.mark.parametrize(
    ("before", "after", "where"),
    [
        (1.0, 1.0005, None),
        (1.0, 1.01, "1.0, now 1.01"),
        (0.0, 1e-6, None),
        (3, 4, "3, now 4"),
        (True, 1, "true, now 1"),
        ("a text", "a test", '"a text", now "a test"'),
        ([1.0, 2.0], [1.0], "2 values, now 1"),
        ({"loss": 1.0}, {"nll": 1.0}, "loss: gone"),
        ({"epochs": [{"loss": 1.0}]}, {"epochs": [{"loss": 2.0}]}, "epochs 0 loss: 1.0, now 2.0"),
    ],
)
def test_numbers_may_differ_in_the_last_digits_and_nothing_else_may(before, after, where):
    found = list(fingerprints.differences(before, after))
    assert found == [] if where is None else where in found[0]


def test_a_variant_is_stored_by_what_it_changes_and_read_whole(tmp_path):
    made = {"default": {"a": 1, "b": [0.5]}, "x=2": {"a": 1, "b": [0.7]}, "y=3": {"b": [0.5], "c": "new"}}
    fingerprints.write(tmp_path / "f.json", made)
    assert fingerprints.read(tmp_path / "f.json") == made
    assert "a" not in json.loads((tmp_path / "f.json").read_text())["x=2"]
