"""docs/api.md and its notebook run as they stand, and print what they say."""

from __future__ import annotations

import doctest
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from graph import ROOT
from test_bert import LABELS, SETTINGS, examples, write_encoder

import compaug
from compaug import classifiers
from compaug.classifiers.parameters import Bert
from compaug.core.files import InputError
from compaug.core.records import Example, write_jsonl
from compaug.project import auditing

PAGE = (ROOT / "docs/api.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def prepared(file: Path, folder: Path, *_) -> list[str]:
    """In the place of a run that takes minutes: a project with the committed reports."""
    (folder / "reports").mkdir(parents=True)
    for name in ("summary.md", "metrics.json"):
        shutil.copy(ROOT / "reports" / name, folder / "reports")
    LABELS.write(folder / "data/splits/run/labels.json")
    write_jsonl(folder / "data/selected/run/augmented.jsonl", [Example("g1", "darling, sunny", (0, 1), "ls_pt")])
    return []


@pytest.fixture
def project(tmp_path, monkeypatch, in_a_temporary_folder) -> Path:
    encoder = write_encoder(tmp_path / "encoder")
    model = tmp_path / "models/run/augmented"
    classifiers.load("bert").train(examples(), LABELS, Bert(**dict(SETTINGS)), encoder, model, seed=1)
    (tmp_path / "data").mkdir(exist_ok=True)
    (tmp_path / "data/corpora").symlink_to(ROOT / "data/corpora")
    monkeypatch.setattr(auditing, "prepare", prepared)
    monkeypatch.setattr(auditing, "run", lambda folder: int(folder.name == "audit-broken"))
    return tmp_path


def test_every_example_of_the_page_prints_what_stands_there(project):
    names: dict = {}
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    runner = doctest.DocTestRunner(optionflags=flags)
    for number, block in enumerate(BLOCKS):
        if ">>>" not in block:
            exec(block, names)  # noqa: S102 - our page
            continue
        example = doctest.DocTestParser().get_doctest(block, names, f"block {number}", "docs/api.md", 0)
        runner.run(example, clear_globs=False)
        names = example.globs
    assert runner.summarize().failed == 0 and runner.tries > 15


def test_a_classifier_is_audited_in_twenty_lines():
    (block,) = [block for block in BLOCKS if "split.halves" in block]
    lines = [line for line in block.splitlines() if line and not line.startswith(("import ", "from "))]
    assert len(lines) <= 20


def test_the_page_names_the_whole_api():
    assert [name for name in compaug.API if f"`{name}" not in PAGE] == []


@pytest.mark.slow
def test_the_notebook_runs_and_finds_what_the_page_says():
    cells = json.loads((ROOT / "notebooks/api.ipynb").read_text(encoding="utf-8"))["cells"]
    source = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    done = subprocess.run(
        [sys.executable, "-c", source],
        cwd=ROOT / "notebooks",
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "operating_point 0.26" in done.stdout and "support repeated" in done.stdout
    assert [cell["outputs"] for cell in cells if cell["cell_type"] == "code"] == [[]] * 4


def test_an_audit_that_has_not_run_says_so(project):
    audit = compaug.Audit("calls.csv", scale="tiny", text_column="body")
    with pytest.raises(InputError, match=r"calls.csv: its audit has no reports/summary.md yet; call run\(\)"):
        _ = audit.verdict
    assert audit.run() is audit and audit.folder == Path("audit-calls")
    assert audit.texts == [("darling, sunny", ["joy", "love"])]
    with pytest.raises(InputError, match=r"audit-broken: the audit has not finished; call run\(\) again"):
        compaug.Audit("broken.csv").run()
