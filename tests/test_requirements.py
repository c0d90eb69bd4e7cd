"""What pyproject.toml asks for, what requirements.txt and constraints.txt pin, and what the code imports, agree."""

from __future__ import annotations

import ast
import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib

import pytest
from graph import ROOT, SRC
from packaging.requirements import Requirement

from compaug.core import extras
from compaug.core.files import InputError

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
GROUPS = {"base": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
PIN = re.compile(r"([\w.-]+)==([\w.]+)")
# Imported, and always there with a package that is named.
BROUGHT = {
    "markupsafe": "jinja2",
    "psutil": "accelerate",
    "requests": "pooch",
    "threadpoolctl": "scikit-learn",
}
MODULES = {"yaml": "pyyaml", **extras.OTHER_NAMES}
# Base alone: reading, predicting, auditing, exporting, every method a classifier may be of, and the measures.
ALONE = """
import json, sys
import compaug
hidden, argv = json.loads(sys.stdin.read())
sys.modules.update(dict.fromkeys(hidden))
import compaug.cli, compaug.project.predict, compaug.stages.audit_split, compaug.stages.train_classifier
import compaug.evaluation.decoding.decodings, compaug.project.curation, compaug.project.export
from compaug.classifiers import bert, bert_p, body, dbloss, magnet, sgm, t5_clp
import numpy as np
seen, held = np.eye(3, dtype=int), np.array([[1, 1, 0]] * 8)
gold = np.vstack([seen, seen, held])
p = np.where(gold, 0.9, 0.1)
p[-8:, 1] = 0.4
matched = np.stack([p, p])
matched[0, -8:-4] = matched[1, -4:] = np.nan
assert compaug.gap(p, matched, gold, seen)["operating_point"]["mean"] == 1.0
compaug.cli.main(argv)
"""


def pins(file: str, group: str | None = None) -> dict[str, str]:
    """{package: version} of a file, or of the lines below `# group:`."""
    text = (ROOT / file).read_text(encoding="utf-8")
    if group:
        text = text.partition(f"\n# {group}: ")[2].partition("\n\n")[0]
    return {extras.normal(name): version for name, version in re.findall(rf"^{PIN.pattern}", text, re.MULTILINE)}


def imported(folder: str) -> dict[str, str]:
    """{package that is imported: a file that does}."""
    packages = {}
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            packages |= {name.partition(".")[0]: str(path) for name in names}
    return {name: path for name, path in packages.items() if name not in sys.stdlib_module_names}


@pytest.mark.parametrize("group", GROUPS)
def test_each_group_of_requirements_has_the_names_of_its_extra_and_fits_its_bounds(group):
    pinned = pins("requirements.txt", group)
    assert {extras.normal(Requirement(line).name) for line in GROUPS[group]} == set(pinned) != set()
    assert [line for line in GROUPS[group] if pinned[extras.normal(Requirement(line).name)] not in _bounds(line)] == []


def _bounds(line: str):
    return Requirement(line).specifier


def test_no_package_is_pinned_outside_a_group_or_in_two():
    grouped = [name for group in GROUPS for name in pins("requirements.txt", group)]
    assert sorted(grouped) == sorted(pins("requirements.txt"))


def test_every_pin_has_its_reason():
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    plain = {"numpy", "pytest"}
    assert [line for line in lines if (pin := PIN.match(line)) and "# " not in line and pin[1] not in plain] == []


def test_constraints_pin_the_same_versions_and_everything_but_torch():
    required, all_of_them = pins("requirements.txt"), pins("constraints.txt")
    assert {name: version for name, version in required.items() if all_of_them.get(name) != version} == {
        "torch": required["torch"]
    }


def test_what_the_library_imports_is_named():
    named = {*pins("requirements.txt"), *(name for name, by in BROUGHT.items() if by in pins("requirements.txt"))}
    missing = {
        name: path
        for name, path in imported("src/compaug").items()
        if name != "compaug" and extras.normal(MODULES.get(name, name)) not in named
    }
    assert missing == {}


def test_the_base_reads_and_predicts_alone(tmp_path):
    table = tmp_path / "texts.csv"
    kinds = {"old": "a|b", "new": "b|c", "odd": "a", "sad": "c"}
    rows = [f"the {word} text number {at},{labels}" for at in range(40) for word, labels in kinds.items()]
    rows += [f"a rare one {at},a|c" for at in range(9)]
    table.write_text("\n".join(["text,labels", *rows]))
    optional = {extras.normal(Requirement(line).name) for group in GROUPS for line in GROUPS[group] if group != "base"}
    hidden = [module for module in imported("src/compaug") if extras.normal(MODULES.get(module, module)) in optional]
    assert {"dvc", "pandas", "scipy", "sklearn", "peft", "spacy"} <= set(hidden)
    done = subprocess.run(
        [sys.executable, "-c", ALONE],
        input=json.dumps([hidden, ["inspect", str(table)]]),
        cwd=ROOT,
        env={"PYTHONPATH": str(SRC)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "169" in done.stdout, done.stderr


def test_the_page_on_files_names_the_extra_that_opens_parquet():
    (extra,) = [group for group, lines in GROUPS.items() if any(Requirement(line).name == "datasets" for line in lines)]
    page = (ROOT / "docs/your-data.md").read_text(encoding="utf-8")
    assert f"The extra `{extra}` opens Parquet" in page


def test_a_package_that_is_missing_is_named_with_its_extra(monkeypatch, tmp_path):
    requires = ["numpy>=2", 'dask-jobqueue>=0.9; extra == "cluster"', "pillow>=13 ; extra == 'pipeline'"]
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: requires)
    monkeypatch.setattr(extras, "CLONE", tmp_path / "Makefile")
    assert extras.extra_of("dask_jobqueue.slurm") == "cluster" and extras.extra_of("PIL") == "pipeline"
    line = r"^dask_jobqueue is not installed; `pip install '.\[cluster\]'` in compaug's clone$"
    with pytest.raises(InputError, match=line), extras.named():
        raise ModuleNotFoundError("No module named 'dask_jobqueue'", name="dask_jobqueue")
    with pytest.raises(InputError, match=line), extras.named():
        raise InputError("texts.parquet: cannot be opened") from ModuleNotFoundError(name="dask_jobqueue")
    with pytest.raises(InputError, match="no such file"), extras.named():
        raise InputError("texts.parquet: no such file")
    with pytest.raises(ModuleNotFoundError), extras.named():
        raise ModuleNotFoundError("No module named 'numpy'", name="numpy")
    (tmp_path / "Makefile").touch()
    with pytest.raises(InputError, match="^dask_jobqueue is not installed; `make install-all`$"), extras.named():
        raise ModuleNotFoundError("No module named 'dask_jobqueue'", name="dask_jobqueue")


def test_make_installs_every_extra_but_codas():
    (line,) = re.findall(r"^EXTRAS := (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {*line.split(","), "coda", "base"} == set(GROUPS)
