"""What kills, full disks, flipped bytes and impossible sizes leave: one line, and nothing lost."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from parameters import written
from tools import grid, verify
from toys import backbones

from compaug.core import lock_files
from compaug.core.files import (
    InputError,
    atomic_dir,
    atomic_path,
    iter_rows,
    read_json,
    read_yaml,
    write_json,
    write_text,
)
from compaug.core.records import Labels
from compaug.data.readers import authors_split, diagnostic, tabular
from compaug.evaluation import plots
from compaug.experiments import params
from compaug.models.loading import load_decoder
from compaug.stages import prepare_backbone as backbones_stage
from compaug.stages import synthesize, train_classifier, train_filter, train_generator
from compaug.training import checkpoint, loop

ROOT = Path(__file__).parents[1]
GONE = 2**22 + 1  # above every process number of Linux


# ---------------------------------------------------------------- leftovers


def test_what_a_dead_process_left_half_written_goes_at_the_next_start(tmp_path):
    for name in (
        f".a.json.{GONE}-x1.partial",
        f".a.json.{os.getpid()}-x1.partial",
        f".b.json.{GONE}-x1.partial",
        ".a.json.x.partial",
    ):
        (tmp_path / name).write_text("{")
    write_json(tmp_path / "a.json", {})
    assert {path.name for path in tmp_path.iterdir()} == {
        "a.json",
        f".a.json.{os.getpid()}-x1.partial",  # alive
        f".b.json.{GONE}-x1.partial",  # of another output
        ".a.json.x.partial",  # of nobody known
    }


def test_an_output_that_a_killed_process_had_set_aside_comes_back(tmp_path):
    """The moment between the two renames of a folder: without the old name and without the new one."""
    with atomic_dir(tmp_path / "model") as folder:
        write_text(folder / "weights", "old")
    os.rename(tmp_path / "model", tmp_path / f".model.{GONE}-x1.old.partial")
    (tmp_path / f".model.{GONE}-x1.partial").mkdir()
    with pytest.raises(KeyboardInterrupt), atomic_dir(tmp_path / "model"):
        raise KeyboardInterrupt  # a second start, that ends early too
    assert (tmp_path / "model" / "weights").read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"model"}


def test_a_process_killed_while_it_writes_leaves_nothing_that_stays(tmp_path):
    code = (
        "import os, signal\nfrom compaug.core.files import atomic_path\n"
        "with atomic_path('out/a.txt') as p: os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT / "src")}, check=False
    )
    assert [path.suffix for path in (tmp_path / "out").iterdir()] == [".partial"]
    write_text(tmp_path / "out" / "a.txt", "whole")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.txt"]


# ---------------------------------------------------------------- full disks


@pytest.mark.parametrize("library", ["safetensors", "text"])
def test_a_file_too_large_for_the_disk_is_one_line_whatever_writes_it(tmp_path, library):
    """A limit on the size of files: the disk is full for whoever writes more."""
    save = {
        "safetensors": "save_file({'w': torch.zeros(100_000)}, path)",
        "text": "path.write_text('x' * 400_000)",
    }[library]
    code = f"""
import signal, torch
from pathlib import Path
from safetensors.torch import save_file
from compaug.core.files import atomic_dir
from compaug.stages import run
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def main():
    with atomic_dir(Path('model')) as folder:
        path = folder / 'weights'
        {save}
run(main)
"""
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        preexec_fn=limit,
        check=False,
    )
    assert done.returncode == 2 and done.stderr.startswith("error: cannot write model: "), done.stderr
    assert done.stderr.count("\n") == 1 and not list(tmp_path.iterdir())


# ---------------------------------------------------------------- checkpoints


class Line(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return {"loss": (self.w - x).square().mean()}


def fitted(folder: Path, epochs: int = 3) -> tuple[float, list]:
    rows = [{"id": str(i), "length": 1, "x": float(i % 3)} for i in range(8)]
    model = Line()
    history = loop.fit(
        model,
        rows,
        [],
        lambda batch: {"x": torch.tensor([row["x"] for row in batch])},
        loop.FitOptions(epochs, 4, 0.1),
        seed=1,
        work_dir=folder,
        description="line",
    )
    return model.w.item(), history


DAMAGE = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "of another program": lambda data: b"PK\x03\x04 something else",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_checkpoint_is_set_aside_and_the_training_is_the_same(tmp_path, monkeypatch, capsys, damage):
    undisturbed, save = fitted(tmp_path / "a"), checkpoint.Checkpoint.save

    def save_and_die(self, history, *rest):
        save(self, history, *rest)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(checkpoint.Checkpoint, "save", save_and_die)
        fitted(tmp_path / "b")
    file = tmp_path / "b" / "checkpoint.pt"
    file.write_bytes(DAMAGE[damage](file.read_bytes()))
    capsys.readouterr()
    assert fitted(tmp_path / "b") == undisturbed
    message = capsys.readouterr().err
    assert f"note: {file} is damaged; it is now damaged.pt, the training starts afresh" in message
    assert "resuming" not in message


# ---------------------------------------------------------------- DVC's locks and cache


@pytest.fixture
def pipeline(tmp_path, monkeypatch):
    """A repository with one finished stage."""
    monkeypatch.chdir(tmp_path)
    run = lambda *words: subprocess.run(words, check=True, capture_output=True, text=True)
    run("git", "init", "-q")
    run("dvc", "init", "-q")
    write_text(
        "dvc.yaml",
        "stages:\n  one:\n    cmd: mkdir out && cp word out/a && echo you > out/b\n"
        "    deps:\n    - word\n    outs:\n    - out\n",
    )
    write_text("word", "hello\n")
    run("dvc", "repro", "-q")
    run("git", "add", "-A")
    run("git", "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "start")
    return tmp_path


@pytest.mark.parametrize("rest", ["", "schema: '2.0'\nstages:\n  one:\n    cmd: [", "schema: '2.0'\n", "- a\n"])
def test_a_lock_that_a_kill_left_half_written_is_put_back_and_nothing_is_built_again(pipeline, capsys, rest):
    before = Path("dvc.lock").read_bytes()
    Path("dvc.lock").write_text(rest)
    lock_files.mend(pipeline)
    assert Path("dvc.lock").read_bytes() == before
    message = capsys.readouterr().err
    assert (
        message.startswith("note: dvc.lock could not be read (")
        and "as in the last commit" in message
        and message.count("\n") == 1
    )
    lock_files.mend(pipeline)
    assert capsys.readouterr().err == ""


def test_a_damaged_lock_that_git_does_not_have_goes_and_its_stages_come_from_the_run_cache(pipeline, capsys):
    subprocess.run(["git", "rm", "-q", "--cached", "dvc.lock"], check=True)
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "gone"], check=True)
    before = Path("dvc.lock").read_bytes()
    Path("dvc.lock").write_text("")
    lock_files.mend(pipeline)
    assert not Path("dvc.lock").exists() and "it is gone" in capsys.readouterr().err
    done = subprocess.run(["dvc", "repro"], check=True, capture_output=True, text=True)
    assert "is cached" in done.stdout and Path("dvc.lock").read_bytes() == before


def test_a_flipped_byte_in_the_cache_is_found_and_its_stage_is_named(pipeline, capsys):
    assert verify.damaged(pipeline) == 0
    assert "3 files of the cache compared with their hashes, 0 damaged" in capsys.readouterr().out
    (victim,) = (p for p in Path(".dvc/cache/files").rglob("*") if p.is_file() and p.read_bytes() == b"you\n")
    victim.chmod(0o644)
    victim.write_bytes(b"yov\n")
    assert verify.damaged(pipeline) == 1
    message = capsys.readouterr().out
    assert "damaged  out; make it again: dvc repro --force --single-item one" in message and not victim.exists()
    subprocess.run(["dvc", "repro", "-q", "--force", "--single-item", "one"], check=True)
    assert verify.damaged(pipeline) == 0 and victim.read_bytes() == b"you\n"


FULL = """\
mount -t tmpfs -o size=2m none cache || exit 77
{python} -m tools.grid --workers 1 dvc.yaml && exit 1
mount -o remount,size=20m cache && rm -rf cache/*
exec {python} -m tools.grid --workers 1 dvc.yaml
"""


@pytest.mark.slow
def test_a_full_cache_fails_its_stage_which_is_built_again_when_there_is_room(tmp_path):
    """DVC itself ends well: it says that files did not reach the cache and locks the stage."""
    (tmp_path / "cache").mkdir()
    write_text(
        tmp_path / "dvc.yaml",
        "stages:\n  one:\n    cmd: mkdir out && split -n 5 word out/\n    deps:\n    - word\n    outs:\n    - out\n",
    )
    (tmp_path / "word").write_bytes(os.urandom(3_000_000))
    for words in (["git", "init", "-q"], ["dvc", "init", "-q"], ["dvc", "config", "cache.dir", "cache"]):
        subprocess.run(words, cwd=tmp_path, check=True)
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", FULL.format(python=sys.executable)]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("no file system of a given size can be mounted here")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "error: the cache does not hold all outputs of this stage" in done.stderr and "Traceback" not in done.stderr
    assert len([*(tmp_path / "out").iterdir()]) == 5


def test_parameters_that_are_not_there_are_named_by_their_file(pipeline, capsys):
    write_text("dvc.yaml", "stages:\n  one:\n    cmd: echo ${run.generator} > out\n    outs:\n    - out\n")
    for content, message in (
        (None, "params.yaml: no such file"),
        ("", "params.yaml: expected a mapping"),
        ("sizes: {}", "params.yaml: run: "),
    ):
        if content is not None:
            Path("params.yaml").write_text(content)
        with pytest.raises(InputError, match=message):
            grid.main(["dvc.yaml"])


# ---------------------------------------------------------------- sizes that cannot fit

IMPOSSIBLE = {
    "classifiers.bert.max_length: 128 positions, but backbones.encoder.max_positions is 4": {
        "quick:scales.tiny.backbones.encoder.max_positions": 4
    },
    "generators.ld_vae.prefix_length and the longest text: 230 positions, but backbones.decoder.max_positions is 192": {
        "generators.ld_vae.prefix_length": 150
    },
    "generators.linda_prefix.max_length, of the texts it reads, and the longest text: 240 positions, "
    "but backbones.decoder.max_positions is 192": {
        "run.generator": "linda_prefix",
        "generators.linda_prefix.max_length": 120,
    },
    "label_generator.max_tokens and one of the prompt: 301 positions, but backbones.decoder.max_positions is 192": {
        "label_generator.max_tokens": 300
    },
    "sizes.k: 18001 texts cannot be kept of 18000 that are written": {"sizes.k": 18001},
}


@pytest.mark.parametrize("message", IMPOSSIBLE)
def test_what_cannot_be_is_said_before_anything_is_trained(tmp_path, message):
    with pytest.raises(InputError, match=message):
        params.parse(written(tmp_path, IMPOSSIBLE[message]))


def test_half_written_files_are_no_input_of_a_stage(tmp_path):
    assert "*.partial" in (ROOT / ".dvcignore").read_text(encoding="utf-8").splitlines()
    with pytest.raises(KeyboardInterrupt), atomic_path(tmp_path / "a.txt") as path:
        assert path.name.endswith(".partial")
        raise KeyboardInterrupt


# ---------------------------------------------------------------- what a file may hold

BAD_JSON = {
    "NaN": ("NaN", "NaN is no number"),
    "infinity": ("-Infinity", "-Infinity is no number"),
    "half a pair": ('"\\ud800"', "half a surrogate pair"),
    "half a pair, in capitals": ('"\\uD800x"', "half a surrogate pair"),
    "brackets": ("[" * 200_000, "brackets within brackets"),
    "closed brackets": ("[" * 200_000 + "]" * 200_000, "brackets within brackets"),
    "5,000 digits": ("9" * 5000, "digits"),
    "cut": ('{"text": "a', "Unterminated string"),
    "nothing": ("", "Expecting value"),
    "two values": ("{} {}", "Extra data"),
}


@pytest.mark.parametrize("way", ["document", "rows", "own corpus", "authors' file"])
@pytest.mark.parametrize("case", BAD_JSON)
def test_bad_json_is_one_line_by_every_way_in(tmp_path, case, way):
    text, expected = BAD_JSON[case]
    value = text if way == "document" else f'{{"a": {text}}}' if case != "two values" else text
    path = tmp_path / ("a.json" if way == "document" else "a.jsonl")
    path.write_text(value)
    ways = {
        "document": lambda: read_json(path),
        "rows": lambda: list(iter_rows(path)),
        "own corpus": lambda: tabular.read({}, {"path": str(path), "label_column": "labels"}),
        "authors' file": lambda: authors_split.read("semeval", {"train": path}, {}),
    }
    if way == "authors' file":
        path.write_text(f"{text}\tsome words\n")
    with pytest.raises(InputError) as refused:
        ways[way]()
    message = str(refused.value)
    if way == "own corpus" and case in ("NaN", "infinity"):  # which Python writes: they are read as null
        expected = "no column 'text'"
    assert message.startswith(str(path)) and "\n" not in message and len(message) < 500
    if case not in ("cut", "nothing"):  # around them the message is another one
        assert expected in message


def test_a_whole_pair_of_surrogates_is_a_character(tmp_path):
    (tmp_path / "a.json").write_text('{"a": "\\ud83d\\ude00", "b": "\\\\ud800"}')
    assert read_json(tmp_path / "a.json") == {"a": "\U0001f600", "b": "\\ud800"}


@pytest.mark.parametrize("text", ["a: " + "9" * 5000, "a: *x", "a: \x00", 'a: "\\ud800'])
def test_bad_yaml_is_one_line(tmp_path, text):
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(InputError, match="a.yaml: not valid YAML") as refused:
        read_yaml(tmp_path / "a.yaml")
    assert "\n" not in str(refused.value)


BAD_ROWS = {
    "a list as id": ({"id": [1]}, "the id [1] is neither a string nor a whole number"),
    "null as id": ({"id": None}, "the id None is neither"),
    "a fraction as id": ({"id": 1.5}, "the id 1.5 is neither"),
    "a truth value as id": ({"id": True}, "the id True is neither"),
    "a blank id": ({"id": " "}, "empty id"),
    "a label with a line break": ({"labels": ["a\nb"]}, "holds a line break or a tab"),
    "a label of pandas": ({"labels": "nan"}, "the label name 'nan', which often says that there is no value"),
    "a number as label": ({"labels": [3]}, "labels are numbers from 3 to 3"),
    "a text of 10 MB": ({"text": "x" * 10_000_000}, "a text of 10,000,000 characters; cut it, 131,072 is the limit"),
    "a number as text": ({"text": 7}, "'text' is not a string"),
    "a blank text": ({"text": "\u2003\n"}, "empty text"),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_a_bad_row_of_an_own_corpus_is_one_line(tmp_path, case):
    change, message = BAD_ROWS[case]
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"id": "r1", "text": "some words", "labels": ["a"]} | change) + "\n")
    with pytest.raises(InputError) as refused:
        tabular.read({}, {"path": str(path), "label_column": "labels", "id_column": "id"})
    assert message in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize("word", ["-1", "1.5", "x", "", str(2**31)])
def test_a_seed_that_is_none_is_one_line(word, capsys):
    with pytest.raises(SystemExit, match="2"):
        synthesize.OPTIONS.parse_args(["--seed", word])
    assert f"argument --seed: {word!r} is not a whole number from 0 to 2147483647" in capsys.readouterr().err


@pytest.mark.parametrize(
    "key", ["generators.shared.max_length", "classifiers.shared.max_length", "synthesis.max_length"]
)
def test_a_length_that_holds_no_text_is_refused(tmp_path, key):
    with pytest.raises(InputError, match="max_length: Input should be greater than or equal to 4"):
        params.parse(written(tmp_path, {key: 1}))


@pytest.mark.parametrize("size", [1_000_000_000_000, 0, 1.0e12, "many"])
def test_an_impossible_size_of_the_diagnostic_corpus_does_not_run_for_ever(size):
    with pytest.raises(InputError, match="^options.size: Input should be "):
        diagnostic.read({"size": size}, 7)


# ---------------------------------------------------------------- what the lab found


@pytest.mark.parametrize("row", ["a,1", "composition,train,support", "a,1,2,3,4"])
def test_damaged_plot_data_is_one_line(tmp_path, row):
    path = tmp_path / "counts.csv"
    path.write_text(f"composition,train,support\n{row}\n")
    with pytest.raises(InputError, match=r"counts\.csv: .*; run the evaluate stage again"):
        plots.read(path)


def test_a_model_folder_with_nan_in_any_configuration_is_refused(tmp_path):
    folder = backbones(tmp_path)["decoder"]
    for name in ("config.json", "generation_config.json", "tokenizer_config.json"):
        before = (folder / name).read_text(encoding="utf-8") if (folder / name).exists() else "{}"
        (folder / name).write_text(before.replace("{", '{"eos_token_id": NaN, ', 1).replace(", }", "}"))
        with pytest.raises(InputError, match=rf"{name}: not valid JSON \(NaN is no number\)"):
            load_decoder(folder)
        (folder / name).write_text(before)
    load_decoder(folder)


@pytest.mark.parametrize("stage", [backbones_stage, train_classifier, train_filter, train_generator])
def test_an_empty_training_set_is_not_trained_without(tmp_path, stage):
    """The support set beside it would be, in silence."""
    split = tmp_path / "split"
    Labels(("a", "b"), ("a", "b")).write(split / "labels.json")
    (split / "train.jsonl").write_text("")
    (split / "support.jsonl").write_text('{"id": "1", "text": "words", "labels": [0], "source": "support"}\n')
    common = [
        "--params",
        str(ROOT / "params.yaml"),
        "--benchmark",
        "diagnostic",
        *([] if stage is backbones_stage else ["--seed", "1"]),
        "--out",
        str(tmp_path / "out"),
    ]
    of_split = ["--split", str(split), "--backbones", str(tmp_path)]
    files = [f"{part}.jsonl" for part in ("train", "support")]
    words = {
        backbones_stage: ["--split", str(split), "--role", "decoder"],
        train_filter: ["--split", str(split), "--encoder", str(tmp_path), "--classifier", "bert"],
        train_generator: [*of_split, "--generator", "ls_pt"],
        train_classifier: [
            "--classifier",
            "bert",
            "--labels",
            str(split / "labels.json"),
            "--train",
            str(split / files[0]),
            "--support",
        ]
        + [
            str(split / files[1]),
            "--test-inputs",
            str(split / files[1]),
            "--predictions",
            str(tmp_path / "p.jsonl.gz"),
        ],
    }
    with pytest.raises(InputError, match=r"train\.jsonl: no rows; run the stage that makes it"):
        stage.main([*common, *words[stage]])
