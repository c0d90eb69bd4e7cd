"""An output path is replaced only if it is empty or a stage wrote it; everything else is refused with one line."""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from graph import parser_of

from compaug.core.files import InputError, atomic_dir, atomic_path, check_folder, write_json, write_rows, write_text
from compaug.stages import count, run, seed

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted(path.stem for path in (ROOT / "src/compaug/stages").glob("[!_]*.py"))
PARSERS = {name: parser_of(importlib.import_module(f"compaug.stages.{name}")) for name in SCRIPTS}
WITH_OUT = [name for name, parser in PARSERS.items() if any(a.dest == "out" and a.required for a in parser._actions)]
FOLDERS = [name for name in WITH_OUT if PARSERS[name].out == "folder"]
FILES = [name for name in WITH_OUT if PARSERS[name].out not in (None, "folder")]


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch) -> Path:
    """A working directory, below another folder, with what a user has in it."""
    folder = tmp_path / "desk"
    for name in ("data/own/mine.jsonl", "notes.txt", "repository/.git/HEAD", "data/mixed/mine.txt"):
        write_text(folder / name, '{"text": "mine", "labels": []}\n')
    monkeypatch.chdir(folder)
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # `run` would change how this process ends
    return folder


def everything(folder: Path) -> dict[Path, bytes | None]:
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def command(script: str, out: str, **options: str) -> list[str]:
    """What the stage requires, each input with a path of its own, and --out."""
    words = ["--out", out]
    for action in PARSERS[script]._actions:
        if action.required and action.dest != "out":
            value = (action.choices or ["13" if action.type in (int, count, seed) else f"inputs/{action.dest}"])[0]
            times = action.nargs if isinstance(action.nargs, int) else 1
            words += [action.option_strings[0], *[options.get(action.dest, value)] * times]
    return words


def refusal(script: str, words: list[str], capsys) -> str:
    """The one line that the stage ends with."""
    stage = importlib.import_module(f"compaug.stages.{script}")
    with pytest.raises(SystemExit) as end:
        run(lambda: stage.main(words))
    errors = capsys.readouterr().err
    assert end.value.code == 2 and errors.startswith("error: ") and errors.count("\n") == 1
    return errors


def test_every_stage_that_replaces_a_folder_says_so():
    """What follows is tested on these; a stage that is not among them is refused by `atomic_dir` alone, after its
    work."""
    assert {"raw", "split", "prepare_backbone", "train_filter", "train_generator", "train_classifier"} <= set(FOLDERS)
    assert {"sample_label_sets", "synthesize", "select"} <= set(FILES)
    for script in WITH_OUT:
        source = (ROOT / "src/compaug/stages" / f"{script}.py").read_text(encoding="utf-8")
        assert script in FOLDERS or "atomic_dir(" not in source, script


@pytest.mark.parametrize("script", WITH_OUT)
@pytest.mark.parametrize("out", ["data", ".", "..", "/", "data/own", "repository", "data/mixed", "data/own/mine.jsonl"])
def test_no_stage_takes_what_a_user_has_for_its_output(script, out, desk, capsys):
    before = everything(desk.parent)
    refusal(script, command(script, out), capsys)
    assert everything(desk.parent) == before


@pytest.mark.parametrize("script", FOLDERS)
def test_a_refused_folder_is_named_with_what_is_in_it_and_the_remedy(script, capsys):
    refused = refusal(script, command(script, "data/own"), capsys)
    fault = "no stage wrote this folder (it holds mine.jsonl)"
    assert refused == f"error: data/own: {fault}; give another path, or move it away\n"
    assert "is the working directory or a folder above it" in refusal(script, command(script, "."), capsys)
    assert "notes.txt: is a file" in refusal(script, command(script, "notes.txt"), capsys)


@pytest.mark.parametrize("script", FILES)
def test_a_stage_that_writes_a_file_takes_no_folder_and_no_file_of_another_kind(script, capsys):
    suffix = PARSERS[script].out
    assert f"end the path with {suffix}" in refusal(script, command(script, "notes.txt"), capsys)
    Path(f"folder{suffix}").mkdir()
    assert "is a folder, and a file is to be written" in refusal(script, command(script, f"folder{suffix}"), capsys)
    Path(f"link{suffix}").symlink_to("data/own/mine.jsonl")
    assert "is a symbolic link" in refusal(script, command(script, f"link{suffix}"), capsys)


@pytest.mark.parametrize("script", [name for name in FOLDERS if "split" in {a.dest for a in PARSERS[name]._actions}])
@pytest.mark.parametrize("out", ["data/splits/toy", "data/splits"])
def test_an_output_that_is_or_holds_an_input_is_refused(script, out, desk, capsys):
    with atomic_dir(out) as folder:  # a stage wrote it, and still it must stay
        write_text(folder / ("train.jsonl" if out.endswith("toy") else "toy/train.jsonl"), "{}\n")
    before = everything(desk)
    refused = refusal(script, command(script, out, split="data/splits/toy"), capsys)
    assert f"--out {out}: is or holds data/splits/toy, which is --split" in refused
    assert everything(desk) == before


def test_the_command_that_deleted_a_users_data_says_no(desk):
    before = everything(desk)
    words = ["--benchmark", "diagnostic", "--params", str(ROOT / "params.yaml"), "--out", "data", "--downloads", "d"]
    done = subprocess.run(
        [sys.executable, "-m", "compaug.stages.raw", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("error: data: no stage wrote this folder (it holds ") and done.stderr.count("\n") == 1
    assert everything(desk) == before


# ---------------------------------------------------------------- what a stage wrote


def written(path: str, *names: str) -> None:
    with atomic_dir(path) as folder:
        for name in names:
            write_text(folder / name, name)


def test_what_a_stage_wrote_is_replaced_and_what_others_put_beside_it_is_not():
    written("model", "weights", "a/b")
    written("model", "other")
    assert {path.name for path in Path("model").iterdir()} == {"other", ".written"}
    write_text("model/notes.txt", "mine")
    with pytest.raises(
        InputError, match="^model: holds notes.txt, which no stage put there; give another path, or move it away"
    ):
        written("model", "third")
    assert Path("model/notes.txt").read_text() == "mine" and Path("model/other").exists()


def test_an_empty_folder_is_free_and_one_without_a_mark_is_not():
    Path("empty/within").mkdir(parents=True)
    written("empty", "file")
    assert Path("empty/file").exists()
    Path("empty/.written").unlink()
    with pytest.raises(InputError, match="no stage wrote this folder .it holds file"):
        check_folder("empty")


def test_a_link_is_not_followed():
    written("model", "weights")
    Path("link").symlink_to("model")
    Path("model/elsewhere").symlink_to(Path("data").resolve())
    with pytest.raises(InputError, match="link: is a symbolic link"):
        written("link", "file")
    with pytest.raises(InputError, match="model: holds elsewhere, which no stage put there"):
        written("model", "file")


def test_what_appears_in_the_folder_while_the_stage_works_is_kept():
    with (
        pytest.raises(InputError, match="no stage wrote this folder .it holds late.txt"),
        atomic_dir("model") as folder,
    ):
        write_text(folder / "weights", "new")
        write_text("model/late.txt", "mine")
    assert [path.name for path in Path("model").iterdir()] == ["late.txt"]


def test_json_of_another_hand_is_refused_and_our_own_is_replaced():
    for path, write in (("a.json", write_json), ("a.jsonl", lambda path, value: write_rows(path, [value]))):
        write(path, {"b": "é", "a": 1.5})
        write(path, {"c": []})
        Path(path).write_text('{"c":[]}\n')
        with pytest.raises(InputError, match=f"{path}: no stage wrote this file; give another path, or move it away"):
            write(path, {})
        Path(path).write_text("")
        write(path, {})


def test_the_bytes_of_a_folder_do_not_depend_on_when_or_where_it_is_written():
    for name in ("one", "two"):
        written(name, "b", "a/c")
    assert Path("one/.written").read_bytes() == Path("two/.written").read_bytes() == b"a/c\nb\n"


# ---------------------------------------------------------------- the swap


@pytest.mark.parametrize("fault", [KeyboardInterrupt, OSError(28, "No space left on device")])
@pytest.mark.parametrize("at", [1, 2])
def test_a_swap_that_fails_puts_the_old_folder_back(monkeypatch, at, fault):
    written("out/model", "old")
    calls = []

    def rename(source, target, real=os.rename):
        calls.append(source)
        if len(calls) == at:
            raise fault
        real(source, target)

    monkeypatch.setattr(os, "rename", rename)
    with pytest.raises((KeyboardInterrupt, InputError)):
        written("out/model", "new")
    assert {path.name for path in Path("out/model").iterdir()} == {"old", ".written"}
    assert [path.name for path in Path("out").iterdir()] == ["model"]


def test_at_no_moment_of_the_swap_is_the_old_folder_gone_and_the_new_one_not_complete(monkeypatch):
    written("out/model", "old")
    moments = []

    def look(*_, **__):
        moments.append({path.name for path in Path("out").rglob("*") if path.name in ("old", "new")})

    def spied(real):
        def call(*args, **kwargs):
            look()
            real(*args, **kwargs)
            look()

        return call

    monkeypatch.setattr(os, "rename", spied(os.rename))
    monkeypatch.setattr(shutil, "rmtree", spied(shutil.rmtree))
    written("out/model", "new")
    assert len(moments) >= 6 and all("new" in moment for moment in moments)
    assert moments[0] == {"old", "new"} and moments[3] == {"old", "new"}  # removed only when the new one is in place


# ---------------------------------------------------------------- DVC


@pytest.mark.slow
def test_what_dvc_brings_to_a_fresh_clone_counts_as_written_by_a_stage(desk):
    def dvc(*words: str) -> None:
        subprocess.run([sys.executable, "-m", "dvc", *words, "-q"], check=True, timeout=120)

    dvc("init", "--no-scm")
    written("model", "weights")
    dvc("add", "model")
    shutil.rmtree("model")
    dvc("checkout")
    assert Path("model/weights").read_text() == "weights"
    written("model", "other")
    assert not Path("model/weights").exists()


def test_a_full_disk_is_found_before_the_old_file_is_touched():
    write_json("a.json", {"a": 1})
    with pytest.raises(InputError, match="cannot write a.json: No space left"), atomic_path("a.json"):
        raise OSError(28, "No space left on device")
    assert Path("a.json").read_text() == '{\n  "a": 1\n}\n'
