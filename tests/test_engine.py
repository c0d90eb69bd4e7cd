"""Many stages at once give the bytes of `dvc repro`, whatever happens to the workers. Toy pipelines of shell commands,
no torch."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import yaml
from tools import grid, verify

from compaug import engine
from compaug.core.files import InputError
from compaug.engine import clones, clusters, progress

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
SURROUNDINGS = os.environ | {
    "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
    "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    "DVC_NO_ANALYTICS": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b.c",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b.c",
}
PATIENCE = 300  # seconds that a busy machine may take

# Each stage notes that it began and ended, writes half of its output at once and the rest after a pause.
STEP = """\
import os, pathlib, sys, time
name, out, *read = sys.argv[1:]
def note(what):
    with open(pathlib.Path(os.environ["NOTES"], "notes"), "a") as notes:
        notes.write(f"{what} {name}\\n")
note("begin")
text = name + "\\n" + "".join(pathlib.Path(file).read_text() for file in read)
pathlib.Path(out).parent.mkdir(parents=True, exist_ok=True)
with open(out, "w") as stream:
    stream.write(text[:2])
    stream.flush()
    time.sleep(float(pathlib.Path(os.environ["NOTES"], "pause").read_text()))
    if name in pathlib.Path(os.environ["NOTES"], "broken").read_text().split():
        sys.exit(f"{name} cannot be built")
    stream.write(text[2:])
note("end")
"""
PIPELINE = """\
stages:
  corpus:
    cmd: python step.py corpus data/corpus own/mine
    deps: [step.py, own]
    outs: [data/corpus]
  generator:
    foreach: [a, b]
    do:
      cmd: python step.py generator@${item} data/texts-${item} data/corpus
      deps: [step.py, data/corpus]
      outs: ["data/texts-${item}"]
"""
CLASSIFIER = """\
stages:
  classifier:
    foreach: [a, b]
    do:
      wdir: ..
      cmd: python step.py classifier@${item} predictions/${item} data/texts-${item}
      deps: [step.py, "data/texts-${item}"]
      outs:
      - predictions/${item}:
          cache: false
"""
STAGES = ["corpus", "generator@a", "generator@b", "cells/dvc.yaml:classifier@a", "cells/dvc.yaml:classifier@b"]
TARGETS = ["dvc.yaml", "cells/dvc.yaml"]
OUTPUTS = ["data/corpus", "data/texts-a", "data/texts-b", "predictions/a", "predictions/b"]


class Toy:
    """A repository of two cells, corpus -> generator -> classifier, and what its stages noted."""

    def __init__(self, folder: Path, pause: float = 0.0) -> None:
        self.folder, self.aside = folder / "tree", folder
        self.environment = SURROUNDINGS | {"NOTES": str(folder), "DVC_SITE_CACHE_DIR": str(folder / "site")}
        files = {"step.py": STEP, "dvc.yaml": PIPELINE, "cells/dvc.yaml": CLASSIFIER, "own/mine": "mine\n"}
        files |= {".gitignore": "/data/\n/own/*\n!/own/README\n.grid/\n", "own/README": "your files\n"}
        files |= {"../notes": "", "../broken": "", "../pause": str(pause)}
        for name, text in files.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text, encoding="utf-8")
        self.run("git", "init", "--quiet", ".")
        self.run("dvc", "init", "--quiet")
        self.commit()

    def run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess:
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=check,
            timeout=PATIENCE,
        )

    def commit(self) -> None:
        self.run("git", "add", "--all")
        self.run("git", "commit", "--quiet", "--message", "x")

    def start(self, *options: str) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, "-m", "tools.grid", *TARGETS, "--workers", "2", *options],
            cwd=self.folder,
            env=self.environment,
            text=True,
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def grid(self, *options: str) -> tuple[int, str, str]:
        """Exit code, standard output, standard error."""
        process = self.start(*options)
        out, errors = process.communicate(timeout=PATIENCE)
        return process.returncode, out, errors

    def notes(self) -> list[str]:
        return (self.aside / "notes").read_text().splitlines()

    def wait_for(self, note: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while note not in self.notes():
            assert time.monotonic() < deadline, f"no {note!r} in {self.notes()}"
            time.sleep(0.02)

    def results(self) -> dict[str, str]:
        """Every output and lock, as they are."""
        files = [*OUTPUTS, "dvc.lock", "cells/dvc.lock"]
        return {name: (self.folder / name).read_text() for name in files}

    def processes(self) -> list[psutil.Process]:
        """Stages, and the DVC and guards around them."""
        return [p for p in psutil.process_iter(["cmdline"]) if _is_of(p, self.folder)]


def _is_of(process: psutil.Process, folder: Path) -> bool:
    words = " ".join(process.info["cmdline"] or ())
    try:
        return folder in [Path(process.cwd()), *Path(process.cwd()).parents] and ("step.py" in words or "dvc" in words)
    except psutil.Error:
        return False


@pytest.fixture(autouse=True)
def children_hear_ctrl_c():
    """A shell's background job ignores SIGINT, and its children would inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> dict[str, str]:
    """What `dvc repro`, which --serial is, makes of the toy."""
    toy = Toy(tmp_path_factory.mktemp("serial"))
    assert toy.grid("--serial")[0] == 0
    return toy.results()


def test_two_workers_make_what_dvc_repro_makes_and_in_the_order_of_the_graph(tmp_path, monkeypatch, capsys, expected):
    toy = Toy(tmp_path)
    code, out, errors = toy.grid()
    assert (code, errors) == (0, "")
    assert out.splitlines()[-1] == "5 stages built, 0 restored or unchanged, cells: 5 done, 0 left"
    assert toy.results() == expected
    at = {note: number for number, note in enumerate(toy.notes())}
    assert len(at) == len(toy.notes()) == 10
    for cell in "ab":
        assert at["end corpus"] < at[f"begin generator@{cell}"]
        assert at[f"end generator@{cell}"] < at[f"begin classifier@{cell}"]

    for name, value in toy.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(toy.folder)
    grid.main([*TARGETS])
    assert capsys.readouterr().out == "everything is up to date (5 stages)\n"
    (toy.folder / "own" / "mine").write_text("other\n")
    grid.main([*TARGETS, "--dry-run"])
    listed = capsys.readouterr().out.splitlines()
    assert listed[0] == "corpus" and sorted(listed) == sorted(STAGES)
    grid.main(["generator", "--status"])
    assert [line.split() for line in capsys.readouterr().out.splitlines()[1:]] == [
        ["corpus", "0", "1"],
        ["generator", "0", "2"],
        ["all", "0", "3"],
    ]


def test_no_worker_is_idle_while_a_stage_could_run(tmp_path, monkeypatch):
    """Whatever output a stage reads, and however long another one takes where that output is."""
    from distributed import Client, LocalCluster

    short = [f"short@{number}" for number in range(6)]

    def make(address, place, ancestors, forgotten):
        """The long stage waits for the short ones, so these have to run on the other worker."""
        deadline = time.monotonic() + 60
        while address == "long" and not all((tmp_path / name).exists() for name in short):
            assert time.monotonic() < deadline, "a stage that could run did not"
            time.sleep(0.02)
        if address == "broken":
            raise engine.StageFailed(address, "no")
        (tmp_path / address).touch()
        return 0.0, True

    monkeypatch.setattr(engine, "make", make)
    stale = {"first": ()} | {name: ("first",) for name in ("long", "broken", *short)}
    stale |= {"behind": ("broken",), "further": ("behind",), "last": ("long",)}
    nothing = frozenset()
    plan = engine.Plan(dict.fromkeys(stale, ()), stale, (), (), frozenset(stale), nothing, (), nothing)
    follow, shown = progress.Progress(plan), []
    follow.bar.set_postfix_str = lambda text, **_: shown.append(text)
    with LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        engine.build(client, plan, SimpleNamespace(clones=None), follow)
    assert follow.which(progress.FAILED) == ["broken"] and follow.which(progress.SKIPPED) == ["behind", "further"]
    assert follow.which(progress.COMPUTED) == ["first", "long", *short, "last"]
    assert any(text.endswith(f"now long, {short[0]}") for text in shown) and not follow.running


def test_a_clone_builds_only_what_has_no_result_in_git_and_what_that_needs(tmp_path, expected):
    toy = Toy(tmp_path)
    toy.grid("--serial")
    shutil.rmtree(toy.folder / "data")
    shutil.rmtree(toy.folder / ".dvc" / "cache")
    (tmp_path / "notes").write_text("")
    assert toy.grid("--allow-missing") == (0, "everything is up to date (5 stages)\n", "")
    (toy.folder / "predictions" / "b").unlink()
    assert toy.grid("--allow-missing")[0] == 0
    ended = [note.removeprefix("end ") for note in toy.notes() if note.startswith("end ")]
    assert ended == ["corpus", "generator@b", "classifier@b"]
    assert (toy.folder / "predictions" / "b").read_text() == expected["predictions/b"]
    assert not (toy.folder / "data" / "texts-a").exists()

    (toy.folder / "own" / "mine").write_text("other\n")  # what changed is built, and then what reads its new output
    assert toy.grid("--allow-missing")[0] == 0
    assert all("other" in (toy.folder / name).read_text() for name in OUTPUTS)
    assert toy.grid() == (0, "everything is up to date (5 stages)\n", "")


def test_a_stage_that_changed_waits_for_what_may_become_stale_before_it(tmp_path):
    toy = Toy(tmp_path)
    toy.grid("--serial")
    (tmp_path / "notes").write_text("")
    (toy.folder / "own" / "mine").write_text("other\n")  # the first of three is stale, and by itself the last
    (toy.folder / "predictions" / "b").unlink()
    listed = toy.run("python", "-m", "tools.grid", *TARGETS, "--allow-missing", "--dry-run").stdout.split()
    assert listed == ["corpus", "cells/dvc.yaml:classifier@b"]
    assert toy.grid("--allow-missing")[0] == 0
    begun = [note.removeprefix("begin ") for note in toy.notes() if note.startswith("begin ")]
    assert begun[0] == "corpus"  # alone: what else there is to do is known then
    assert sorted(begun) == ["classifier@a", "classifier@b", "corpus", "generator@a", "generator@b"]
    assert all("other" in (toy.folder / name).read_text() for name in OUTPUTS)


def test_two_clones_that_share_only_a_cache_make_what_dvc_repro_makes(tmp_path, expected):
    toy = Toy(tmp_path, pause=1.0)
    code, out, errors = toy.grid("--clones")
    assert (code, errors) == (0, "")
    assert "5 stages built" in out
    assert toy.results() == expected
    assert sorted(note for note in toy.notes() if note.startswith("end")) == [
        f"end {name}" for name in sorted(map(short, STAGES))
    ]
    assert len(list((toy.folder / ".grid" / "clones").glob("*/.git"))) == 2
    assert "up to date" in toy.run("dvc", "repro", "dvc.yaml", "cells/dvc.yaml").stdout

    (toy.folder / "own" / "more").write_text("more\n")  # what Git ignores and stages read reaches the clones as well
    (toy.folder / "own" / "mine").write_text("other\n")
    assert toy.grid("--clones")[0] == 0
    assert (toy.folder / "predictions" / "a").read_text().endswith("corpus\nother\n")
    assert toy.run("dvc", "status", "--quiet").returncode == 0


def short(address: str) -> str:
    return address.rpartition(":")[2]


@pytest.mark.parametrize("options", [(), ("--clones",)])
def test_a_killed_worker_takes_its_stage_with_it_and_another_one_builds_it(tmp_path, expected, options):
    toy = Toy(tmp_path, pause=1.5)
    process = toy.start(*options)
    toy.wait_for("begin generator@a")
    step = next(p for p in toy.processes() if "generator@a" in p.info["cmdline"])
    worker = next(p for p in step.parents() if "spawn_main" in " ".join(p.cmdline()))
    worker.kill()
    _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (0, "")
    assert toy.results() == expected
    assert toy.notes().count("begin generator@a") == 2
    assert toy.notes().count("end generator@a") == 1  # the first one did not run on beside the second
    assert not toy.processes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_leaves_no_process_and_the_next_one_goes_on(tmp_path, expected, number):
    toy = Toy(tmp_path, pause=1.0)
    process = toy.start()
    toy.wait_for("begin generator@b")
    process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE)
    if number is signal.SIGKILL:  # it could not wait for its children
        psutil.wait_procs(toy.processes(), timeout=PATIENCE)
    else:
        assert process.returncode == 130
        assert errors == "interrupted: nothing was left half-written; run it again to resume\n"
    assert not toy.processes()
    assert "end generator@a" not in toy.notes() or "end generator@b" not in toy.notes()

    assert toy.grid()[0] == 0
    assert toy.results() == expected
    assert toy.notes().count("begin corpus") == 1


def test_a_failed_stage_is_named_at_the_end_and_stops_only_what_comes_behind_it(tmp_path):
    toy = Toy(tmp_path)
    (tmp_path / "broken").write_text("generator@a")
    code, out, errors = toy.grid()
    assert code == 1
    assert (
        out.splitlines()[-1]
        == "3 stages built, 0 restored or unchanged, 1 failed, 1 skipped behind them, cells: 3 done, 2 left"
    )
    assert "generator@a cannot be built" in errors
    assert errors.splitlines()[-1] == "failed: generator@a (.grid/logs/generator@a.log)"
    assert "generator@a cannot be built" in (toy.folder / ".grid/logs/generator@a.log").read_text()
    assert (toy.folder / "predictions" / "b").exists()

    (tmp_path / "broken").write_text("")
    code, out, _ = toy.grid()
    assert (code, out.splitlines()[-1]) == (0, "2 stages built, 0 restored or unchanged, cells: 2 done, 0 left")
    assert toy.notes().count("end generator@b") == 1


@pytest.fixture
def holder() -> Iterator[subprocess.Popen]:
    """A process that does nothing, until the test ends it or is over."""
    with subprocess.Popen(["sleep", str(PATIENCE)]) as process:
        yield process
        process.kill()


def test_a_lock_that_another_process_holds_is_waited_for(tmp_path, monkeypatch, holder):
    toy = Toy(tmp_path)
    held = {str(toy.folder / "data" / "corpus"): {"pid": holder.pid, "cmd": "dvc repro"}}
    (toy.folder / ".dvc/tmp").mkdir(exist_ok=True)
    (toy.folder / ".dvc/tmp/rwlock").write_text(json.dumps({"write": held}))
    for name, value in toy.environment.items():
        monkeypatch.setenv(name, value)
    notes = []

    def waited(seconds):
        """The first wait is long enough for the other process."""
        notes.append(locked(toy))
        holder.kill()
        holder.wait()  # or it would stay in the table of processes, where DVC looks

    monkeypatch.setattr(engine.time, "sleep", waited)
    assert engine.make("corpus", clones.Place(toy.folder), (), False)[1], "its command did not run"
    assert notes and all("is busy, it is being blocked by" in text for text in notes)
    assert toy.notes() == ["begin corpus", "end corpus"]


def locked(toy: Toy) -> str:
    return (toy.folder / engine.log_file("corpus")).read_text()


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (
            ["dvc.yaml:generatr@a"],
            "dvc.yaml:generatr@a: no experiment, stage or dvc.yaml file; did you mean generator@a?",
        ),
        (["papre"], "papre: no experiment, stage or dvc.yaml file; did you mean paper?"),
        (["cells/dvc.yaml:x"], "cells/dvc.yaml:x: no experiment, stage or dvc.yaml file; "),
    ],
)
def test_an_unknown_target_is_one_line(tmp_path, monkeypatch, targets, message):
    monkeypatch.chdir(Toy(tmp_path).folder)
    with pytest.raises(InputError) as error:
        engine.plan(targets, experiments=["paper"])
    assert str(error.value).startswith(message) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda toy: (toy.folder / "step.py").write_text("pass"),
            "step.py: not committed, so clones would not have it",
        ),
        (lambda toy: (toy.folder / "new").write_text("x"), "new: not committed, so clones would not have it"),
    ],
)
def test_what_clones_would_not_have_or_could_not_give_back_is_refused_in_one_line(tmp_path, change, message):
    toy = Toy(tmp_path)
    change(toy)
    code, out, errors = toy.grid("--clones")
    assert (code, out) == (2, "")
    assert errors.startswith(f"error: {message}") and errors.count("\n") == 1


def test_what_stages_wrote_need_not_be_committed_for_clones(tmp_path, monkeypatch):
    toy = Toy(tmp_path)
    for name in ("dvc.lock", "predictions/a"):
        (toy.folder / name).parent.mkdir(exist_ok=True)
        (toy.folder / name).write_text("x")
    assert clones.uncommitted(toy.folder, frozenset({"predictions/a"})) == []


# ---------------------------------------------------------------- clusters


def cluster_file(folder: Path, text: str) -> Path:
    (folder / "cluster.yaml").write_text(text, encoding="utf-8")
    return folder / "cluster.yaml"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ssh: {hosts: [a], wrokers_per_host: 2}", "ssh.wrokers_per_host: Extra inputs are not permitted"),
        ("ssh: {hosts: []}", "ssh.hosts: List should have at least 1 item"),
        ("slurm: {options: {cores: 1}}", "slurm.jobs: Field required"),
        ("environment: OPENAI_BASE_URL", "environment: Input should be a valid list"),
        ("ssh: [", "not valid YAML"),
        ("- ssh", "expected a mapping"),
    ],
)
def test_a_mistake_in_the_cluster_file_is_one_line_that_names_the_key(tmp_path, text, message):
    path = cluster_file(tmp_path, text)
    with pytest.raises(InputError) as error:
        clusters.read(path)
    assert str(error.value).startswith(f"{path}: {message}") and "\n" not in str(error.value)


def test_the_committed_cluster_file_and_the_examples_in_its_comments_are_valid(tmp_path):
    path = ROOT / clusters.FILE
    assert clusters.read(path).ssh is None and clusters.read(path).slurm is None
    examples = path.read_text().partition("# For example:\n#\n")[2].replace("\n#", "\n").removeprefix("#")
    config = clusters.read(cluster_file(tmp_path, examples))
    assert config.ssh and config.slurm


def test_the_paths_that_workers_get_hold_in_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COMPAUG_MIRROR", "corpora")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    variables = dict(clusters.environment(clusters.Config(environment=["HOME"])))
    assert variables["COMPAUG_MIRROR"] == str(tmp_path / "corpora")
    assert "HOME" in variables and "OPENAI_API_KEY" not in variables


def test_hosts_by_ssh_get_the_workers_that_the_file_asks_for(tmp_path, monkeypatch):
    ssh_options = {}
    monkeypatch.setattr("distributed.SSHCluster", lambda **options: ssh_options.update(options))
    text = "ssh: {hosts: [one, two], workers_per_host: 3, python: /venv/bin/python, connect: {username: me}}"
    clusters.ssh(clusters.read(cluster_file(tmp_path, text)), workers=2)
    assert ssh_options["hosts"] == ["one", "one", "two"]  # the first one is the scheduler's
    assert (ssh_options["worker_options"]["nthreads"], ssh_options["worker_options"]["n_workers"]) == (1, 3)
    assert (ssh_options["remote_python"], ssh_options["connect_options"]) == ("/venv/bin/python", {"username": "me"})
    assert ssh_options["scheduler_options"]["dashboard"] is False


def test_slurm_jobs_are_what_the_file_asks_for(tmp_path, monkeypatch):
    scaled = []
    monkeypatch.setattr("dask_jobqueue.SLURMCluster.scale", lambda self, jobs: scaled.append(jobs))
    options = "{queue: long, cores: 4, processes: 4, memory: 16GB, walltime: '08:00:00', python: /venv/bin/python}"
    with clusters.slurm(clusters.read(cluster_file(tmp_path, f"slurm: {{jobs: 5, options: {options}}}")), 2) as cluster:
        script = cluster.job_script()
    assert scaled[0] == 5
    assert "#SBATCH -p long" in script and "#SBATCH -t 08:00:00" in script
    assert "/venv/bin/python -m distributed.cli.dask_worker" in script and "--nworkers 4" in script


@pytest.mark.parametrize("kind", ["ssh", "slurm"])
def test_a_cluster_that_the_file_does_not_describe_is_one_line(kind):
    with pytest.raises(InputError, match=f"no block `{kind}`"):
        clusters.KINDS[kind](clusters.Config(), 1)


def test_the_scheduler_of_this_machine_listens_on_loopback_only_and_has_no_dashboard():
    with clusters.connected("local", clusters.Config(), 1) as client:
        assert client.scheduler.address.startswith("tcp://127.0.0.1:")
        ours = [psutil.Process(), *psutil.Process().children(recursive=True)]
        listening = [c for p in ours for c in p.net_connections("inet") if c.status == psutil.CONN_LISTEN]
        assert listening and {connection.laddr.ip for connection in listening} == {"127.0.0.1"}
        assert 8787 not in {connection.laddr.port for connection in listening}


def test_a_worker_that_waits_looks_at_itself_seldom():
    import dask

    with clusters.connected("local", clusters.Config(), 1) as client:
        for name in ("distributed.admin.tick.interval", "distributed.worker.profile.enabled"):
            assert set(client.run(dask.config.get, name).values()) == {clusters.SETTINGS[name]}


# ---------------------------------------------------------------- verify


@pytest.fixture
def built(tmp_path, monkeypatch) -> Toy:
    """A toy whose last stages are in experiments/ and heavy, built and committed."""
    toy = Toy(tmp_path)
    toy.run("git", "mv", "cells", "experiments")
    file = toy.folder / "experiments" / "dvc.yaml"
    file.write_text(file.read_text().replace("classifier:", "train_classifier:"))
    toy.run("dvc", "repro", "experiments/dvc.yaml")
    toy.commit()
    for name, value in toy.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(toy.folder)
    return toy


def test_verify_builds_stages_again_and_finds_them_equal_even_where_the_cache_has_lost_their_inputs(built, capsys):
    runs = built.notes().count("end classifier@a"), built.notes().count("end corpus")
    cached = sorted((built.folder / ".dvc/cache").rglob("*"))
    verify.main(["--n", "2", "--seed", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert sorted(lines[:2]) == [f"equal    experiments/dvc.yaml:train_classifier@{cell}" for cell in "ab"]
    assert lines[2:] == ["2 equal, 0 not"]
    assert (built.notes().count("end classifier@a"), built.notes().count("end corpus")) == (runs[0] + 1, runs[1])
    assert sorted((built.folder / ".dvc/cache").rglob("*")) == cached
    assert [path.name for path in (built.folder / ".grid").iterdir()] == ["plan.lock"]  # no clone is left

    for lost in (".dvc/cache", "data"):
        shutil.rmtree(built.folder / lost)
    verify.main(["--n", "1", "--seed", "1"])
    assert capsys.readouterr().out.endswith("1 equal, 0 not\n")
    assert built.notes().count("end corpus") == runs[1] + 1


def test_verify_builds_the_stages_that_are_named_and_no_others(built, capsys):
    verify.main(["experiments/dvc.yaml:train_classifier@b"])
    assert capsys.readouterr().out.splitlines() == [
        "equal    experiments/dvc.yaml:train_classifier@b",
        "1 equal, 0 not",
    ]
    with pytest.raises(
        InputError, match="experiments/dvc.yaml:train_classifier@z: experiments/built.jsonl.gz has no such stage"
    ):
        verify.main(["experiments/dvc.yaml:train_classifier@z"])


def test_verify_builds_what_native_arithmetic_made_under_it_alone(built, monkeypatch):
    """Elsewhere their digits differ; and of the others there, so that neither is called wrong."""
    monkeypatch.setenv("COMPAUG_CPU", "native")
    with pytest.raises(InputError, match="nothing to compare"):
        verify.main(["--n", "1"])
    monkeypatch.setattr(verify, "NATIVE", "train_classifier@a")
    verify.main(["--n", "5"])
    monkeypatch.setenv("COMPAUG_CPU", "portable")
    with pytest.raises(InputError, match="train_classifier@a: experiments/built.jsonl.gz has no such stage"):
        verify.main(["experiments/dvc.yaml:train_classifier@a"])


def test_verify_keeps_what_stages_took_even_when_it_is_interrupted(built, monkeypatch):
    def interrupted(candidates, n, plan, place):
        (costs := place.settle()[0] / verify.COSTS).mkdir(exist_ok=True)
        (costs / "models-a.json").write_text("{}")
        raise KeyboardInterrupt

    monkeypatch.setattr(verify, "verify", interrupted)
    with pytest.raises(KeyboardInterrupt):
        verify.main(["--n", "1"])
    assert (built.folder / verify.COSTS / "models-a.json").exists()


def test_verify_names_what_differs_from_the_lock(built, capsys):
    lock = built.folder / "experiments" / "dvc.lock"
    entry = yaml.safe_load(lock.read_text())["stages"]["train_classifier@a"]["outs"][0]["md5"]
    lock.write_text(lock.read_text().replace(entry, "f" * 32))
    built.commit()
    with pytest.raises(SystemExit) as stopped:
        verify.main(["--n", "2"])
    assert stopped.value.code == 1
    out = capsys.readouterr().out
    assert (
        "differs  experiments/dvc.yaml:train_classifier@a: predictions/a (of experiments/dvc.yaml:train_classifier@a)"
        in out
    )
    assert "1 equal, 1 not" in out
