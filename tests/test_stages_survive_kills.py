"""A stage that is stopped in the middle leaves nothing half-written, and its next run ends with the same bytes."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import toys
from parameters import written
from test_bert import LABELS, examples, write_encoder

from compaug.core.files import InputError, file_digest
from compaug.core.records import Labels, write_jsonl
from compaug.training import loop

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
COMMAND = [
    *(sys.executable, "-m", "compaug.stages.train_filter", "--benchmark", "diagnostic", "--classifier", "bert"),
    *("--split", "split", "--encoder", "backbones/encoder", "--seed", "13", "--out", "models/filter"),
]
SURROUNDINGS = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
PATIENCE = 120  # seconds that a busy machine may take to import torch and train an epoch


def workplace(folder: Path) -> Path:
    """Toy split and encoder, and the committed params.yaml with a budget of many short epochs."""
    rows = examples(240)
    (folder / "split").mkdir(parents=True)
    LABELS.write(folder / "split" / "labels.json")
    write_jsonl(folder / "split" / "train.jsonl", rows[:220])
    write_jsonl(folder / "split" / "support.jsonl", rows[220:])
    write_encoder(folder / "backbones" / "encoder")
    written(folder, {"classifiers.shared": {"epochs": 12, "batch_size": 8, "patience": 12}})
    return folder


def run(folder: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        COMMAND, cwd=folder, env=SURROUNDINGS, capture_output=True, text=True, timeout=PATIENCE, check=True
    )


@pytest.fixture(autouse=True)
def children_hear_ctrl_c():
    """A shell's background job, such as a test run under nohup, ignores SIGINT, and its children would inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def stopped(folder: Path, number: signal.Signals) -> tuple[int, str]:
    """Start the stage, send the signal once the first epoch is in a checkpoint: exit code and standard error."""
    process = subprocess.Popen(COMMAND, cwd=folder, env=SURROUNDINGS, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + PATIENCE
    while not list((folder / ".checkpoints").glob("*/checkpoint.pt")):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline, "no checkpoint"
        time.sleep(0.005)
    process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, errors


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = workplace(tmp_path_factory.mktemp("undisturbed"))
    errors = run(folder).stderr
    return file_digest(folder / "models" / "filter"), errors


def test_an_undisturbed_stage_is_quiet_and_leaves_no_checkpoint(undisturbed):
    assert undisturbed[1] == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stage_that_is_stopped_leaves_no_output_and_resumes_to_the_same_bytes(tmp_path, undisturbed, number):
    folder = workplace(tmp_path)
    code, errors = stopped(folder, number)
    if number is signal.SIGKILL:  # nobody can clean up after that: a hidden folder may stay
        assert code == -number
        assert all(
            path.name.startswith(".") and path.name.endswith(".partial") for path in (folder / "models").iterdir()
        )
    else:
        assert (code, errors) == (130, "interrupted: nothing was left half-written; run it again to resume\n")
        assert list((folder / "models").iterdir()) == []
    assert not (folder / "models" / "filter").exists()
    assert not (folder / ".costs").exists()

    assert "resuming after epoch" in run(folder).stderr
    assert file_digest(folder / "models" / "filter") == undisturbed[0]
    assert not list((folder / ".checkpoints").iterdir())


def test_changed_data_does_not_resume_from_the_old_checkpoint(tmp_path):
    folder = workplace(tmp_path)
    stopped(folder, signal.SIGINT)
    write_jsonl(folder / "split" / "support.jsonl", examples(240)[225:])
    assert "resuming" not in run(folder).stderr


def test_what_the_user_can_mend_is_one_line_and_exit_code_2(tmp_path):
    folder = workplace(tmp_path)
    Labels(LABELS.names[:2], LABELS.phrases[:2]).write(folder / "split" / "labels.json")
    done = subprocess.run(COMMAND, cwd=folder, env=SURROUNDINGS, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: split/") and done.stderr.count("\n") == 1
    assert not (folder / "models").exists()


# ---------------------------------------------------------------- between the end of the training and the written
# output

SPLIT, BENCHMARK = ("--split", "split"), ("--benchmark", "diagnostic")
FILES = [f"--{name.replace('_', '-')}=split/{name}.jsonl" for name in ("train", "support", "test_inputs")]
TRAINING_STAGES = {  # stage: its arguments, and what it does after the training and before the output is in its place
    "prepare_backbone": ([*SPLIT, "--role", "encoder"], "compaug.models.backbones.write_json"),
    "train_filter": (
        [*SPLIT, "--classifier", "bert", "--encoder", "backbones/encoder"],
        "compaug.stages.train_filter.write_json",
    ),
    "sample_label_sets": ([*SPLIT, "--decoder", "backbones/decoder"], "compaug.stages.sample_label_sets.write_rows"),
    "train_generator": (
        [*SPLIT, "--generator", "gpt2_pt", "--backbones", "backbones"],
        "compaug.generators.shared.model_folder.save_file",
    ),
    "train_classifier": (
        ["--classifier", "bert", "--labels", "split/labels.json", *FILES, "--backbones", "backbones"]
        + ["--predictions", "predictions.jsonl.gz"],
        "compaug.evaluation.predictions.write",
    ),
}


@pytest.fixture(scope="module")
def toy_world(tmp_path_factory) -> Path:
    """Split, backbones and params.yaml of a toy language, two epochs for most."""
    folder = tmp_path_factory.mktemp("toys")
    toys.backbones(folder / "backbones", honest=True)
    rows = [example for example in toys.examples() if example.labels]
    toys.LABELS.write(folder / "split" / "labels.json")
    for name in ("train", "support"):
        write_jsonl(folder / "split" / f"{name}.jsonl", [row for row in rows if row.source == name])
    write_jsonl(folder / "split" / "test_inputs.jsonl", rows[:3])
    blocks = ("generators.shared", "classifiers.shared", "diagnostic:scales.tiny.backbones.encoder")
    more = {"sizes": {"requested": 10, "k": 5}, "label_generator": {"epochs": 15}}
    written(folder, {key: {"epochs": 2} for key in blocks} | more)
    return folder


@pytest.mark.parametrize("script", TRAINING_STAGES)
def test_a_stage_that_cannot_write_what_it_trained_does_not_train_again(script, toy_world, tmp_path, monkeypatch):
    stage, (arguments, writer) = importlib.import_module(f"compaug.stages.{script}"), TRAINING_STAGES[script]
    out = "out/made.jsonl" if script == "sample_label_sets" else "out/made"
    epochs = []
    epoch = loop.Trainer._epoch
    monkeypatch.setattr(loop.Trainer, "_epoch", lambda *args: epochs.append(1) or epoch(*args))

    def attempt(folder: Path) -> int:
        """Run the stage there; how many epochs it trained."""
        folder.mkdir(exist_ok=True)
        for name in ("backbones", "split", "params.yaml", "configs"):
            if not (folder / name).exists():
                (folder / name).symlink_to(toy_world / name)
        monkeypatch.chdir(folder)
        epochs.clear()
        seed = [] if script == "prepare_backbone" else ["--seed", "13"]  # one backbone for all seeds
        stage.main([*BENCHMARK, *arguments, *seed, "--out", out])
        return len(epochs)

    def full_disk(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken, pytest.raises((InputError, OSError), match="No space left"):
        broken.setattr(writer, full_disk)
        attempt(tmp_path / "disturbed")
    assert epochs and not Path(out).exists() and not Path(".costs").exists()

    assert attempt(tmp_path / "disturbed") == 0
    assert not list(Path(".checkpoints").iterdir())
    assert len(list(Path(".costs").iterdir())) == 1

    assert attempt(tmp_path / "undisturbed") > 0
    assert not list(Path(".checkpoints").iterdir())
    assert file_digest(out) == file_digest(tmp_path / "disturbed" / out)
