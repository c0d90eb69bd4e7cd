"""Where the lab works: on the toys of the fingerprints, which every heavy stage takes, and on a small corpus beside
predictions of the repository, for the stages from a corpus to the page."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tools.golden import runs
from tools.golden.runs import Step

from compaug.core.files import InputError, read_json, read_yaml, write_csv, write_json, write_rows, write_text
from compaug.evaluation import measures, packs
from compaug.experiments import cells
from compaug.tasks.slu.utterances import PARTS

TABLE = "lab/texts.csv"  # somebody's own
LEFT = "lab/left"  # what cells leave
AUDITED = "models/run/augmented"  # the classifier that `compaug export` takes
UTTERANCES = "lab/utterances"  # a folder in the place of COMPAUG_MIRROR
CORPUS = "configs/benchmarks/diagnostic.yaml"
EXPERIMENT = "small"  # whose predictions are in Git
SIZE, MIN_COUNT = 1600, 12  # texts of the small corpus, and how many a composition has at least
LARGER, SEEN = "sizes.support_size=120", "split.seen_test=60"

Group = list[Step]  # the last one is tried, the others make what it opens


def of_toys(toys: runs.Toys) -> list[Group]:
    """Every heavy stage on the toys, and what makes a split of them."""
    reader = runs.train_filter(runs.READER, "models/filter", *runs.set_of(f"classifiers.{runs.READER}", "epochs=1"))
    judge = runs.train_classifier(runs.READER, AUDITED, *runs.set_of(f"classifiers.{runs.READER}", "epochs=1"))
    generator = runs.train_generator("ld_vae", "models/generator", *runs.set_of("generators.ld_vae", "epochs=1"))
    raw = _step("raw", "lab/raw", "--benchmark toy")
    split = _group(
        raw,
        _step("split", "lab/split", "--benchmark toy --raw lab/raw"),
        _step("audit_split", "lab/audit.json", "--benchmark toy --split lab/split"),
        _step("write_gold", "lab/gold/toy.jsonl.gz", "--benchmark toy --split lab/split"),
    )
    task = _step("draw_few_texts", "lab/task", "--raw lab/raw --texts 8 --tested 6 --seed 1")
    files = f"""--train {task.out}/train.jsonl --support {task.out}/support.jsonl --synthetic {task.out}/no_texts.jsonl
        --test-inputs {task.out}/test_inputs.jsonl --set classifiers.{runs.READER}.epochs=1"""
    single = runs.train_classifier(runs.READER, "models/single", *files.split())
    accuracy = _step(
        "one_label",
        "out/accuracy.json",
        f"--benchmark toy --scale tiny --generator none --split {task.out} --predictions {single.out}.jsonl.gz",
    )
    labels = f"--labels {runs.SPLIT}/labels.json"
    data_map = runs.map_classifier("models/map")
    subset = _step("subset", "out/subset", f"--split {runs.SPLIT} --map {data_map.out} --seed 1")
    linda = runs.train_generator("linda", "models/linda", *runs.set_of("generators.linda", "epochs=1"))
    shown = f"""{labels} --selected {runs.SPLIT}/synthetic.jsonl --model {judge.out}
        --train {runs.SPLIT}/train.jsonl {runs.SPLIT}/support.jsonl"""
    _write_audit()
    _write_table()
    _write_utterances()
    few = _step("slu_corpus", "lab/few", f"--params {UTTERANCES}/slu.yaml --corpus toy --share 0.5 --seed 1")
    uttered = f"--params {UTTERANCES}/slu.yaml --corpus {few.out} --seed 1"
    parsed = f"--params {UTTERANCES}/parsing.yaml --corpus toy"
    pairs = _step("parsing_corpus", "lab/pairs", parsed)
    parser = f"{parsed} --scale small --data {pairs.out} --seed 1"
    map_of_pairs = _step("map_parser", "lab/map", parser)
    hard = f"{parser} --map {map_of_pairs.out} --set choice.region=hard"
    return [
        [
            judge,
            _step("compaug predict", "out/labels.csv", f"{judge.out} {TABLE} --labels {runs.SPLIT}/labels.json --out"),
        ],
        [raw, _step("write_requests", "out/requests.jsonl", f"--raw {raw.out} --set repair.rare=3")],
        [judge, _step("compaug export", "out/taken", "")],
        [_step("settings", "out/settings", "--benchmark toy --scale tiny")],
        *split,
        [runs.backbones("tiny", "decoder", "out/model")],
        [runs.backbones("given", "encoder", "out/model")],
        [runs.train_filter(runs.READER, "out/model")],
        [runs.label_generator("out/run.jsonl")],
        [runs.train_generator("ls_pt", "out/model")],
        [runs.train_generator("ld_vae", "out/model")],
        [runs.train_generator("oversample", "out/model")],
        [generator, runs.synthesize("ld_vae", generator.out, "out/run.jsonl")],
        [reader, runs.select(reader.out, "out/run.jsonl")],
        [runs.train_classifier(runs.READER, "out/model")],
        [runs.quality("out/run.json")],
        [runs.distances("out/run.json")],
        [judge, runs.judge(judge.out, "out/run.json")],
        [generator, runs.representations("ld_vae", generator.out, "out/run.json")],
        [linda, runs.interpolation("linda", linda.out, "out/run.json")],
        [judge, _step("write_samples", "out/run.md", shown)],
        [runs.map_classifier("out/map")],
        [runs.map_generator("ls_pt", "out/map")],
        [data_map, subset],
        [_last(pairs)],
        [pairs, _last(map_of_pairs)],
        [pairs, map_of_pairs, _step("train_parser", "out/run.json", hard)],
        [_last(few)],
        [few, _step("slu_texts", "out/texts.jsonl", f"{uttered} --decoder {runs.BACKBONES}/decoder")],
        [few, _step("train_slu", "out/run.json", f"{uttered} --scale tiny --encoder {runs.BACKBONES}/encoder")],
        [raw, _last(task)],
        [raw, task, single, accuracy],
    ]


@contextlib.contextmanager
def reporting(root: Path) -> Iterator[list[Group]]:
    """A temporary folder as the current one, with the repository's parameters, one experiment's predictions and the
    root cell's; the stages that a grid has before its models and after them."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        _write(root)
        of = "--benchmark diagnostic"
        raw = _step("raw", "lab/raw", of)
        split = _step("split", "lab/split", f"{of} --raw lab/raw")
        larger = _step("split", "lab/larger", f"{of} --raw lab/raw --set {LARGER}")
        seen = _step("split", "lab/seen", f"{of} --raw lab/raw --set {SEEN}")
        mixture = _step(
            "mixture", "lab/texts.jsonl", f"{of} --split lab/split --compositions asked.jsonl --seed 1 --set sizes.k=60"
        )
        arms = " ".join(f"reports/run/{arm}.jsonl.gz" for arm in ("augmented", "oversample", "baseline", "iid"))
        cell = f"{of} --scale tiny --generator ld_vae --classifier bert --seed 42"
        results = "--reports reports --gains {0}gains.csv --confusions {0}confusions.csv.gz"
        results_table = _step("write_results", "reports/results.csv.gz", results.format("reports/"))
        tables = _step("tables", "reports/tables", "--reports reports")
        evaluate = (
            "--gold reports/run/gold.jsonl.gz --quality reports/run/quality.json "
            f"--predictions {arms} --plots out/plots"
        )
        report = (
            f"{cell} --measures reports/measures.json --details reports/details.json --quality reports/run/quality.json"
        )
        yield [
            [
                raw,
                split,
                larger,
                _step("supports", "out/supports", "--split lab/larger --like lab/split --sizes 0 50 100"),
            ],
            [raw, split, _step("iid", "out/iid", "--split lab/split")],
            [_step("compaug inspect", "out/said.txt", TABLE)],
            [raw, seen, _step("matched", "out/matched", "--split lab/seen")],
            [raw, split, _last(mixture)],
            [
                raw,
                split,
                mixture,
                _step("folds", "out/folds", "--split lab/split --synthetic lab/texts.jsonl --seed 1"),
            ],
            [
                _step(
                    "evaluate",
                    "out/metrics.json",
                    f"{evaluate} --measures out/measures.json --details out/details.json",
                )
            ],
            [_step("report", "out/summary.md", f"{report} --plots reports/plots --figures out/figures")],
            [_step("pack", "out/packs", f"--data {LEFT}")],
            [_step("write_results", "out/results.csv.gz", results.format("out/"))],
            [results_table, _last(tables)],
            [results_table, tables, _step("write_page", "out/index.html", "--reports reports")],
        ]


def _write(root: Path) -> None:
    shutil.copy(root / "params.yaml", "params.yaml")
    shutil.copytree(root / "configs", "configs")
    small = cells.read(root / cells.FILE)[EXPERIMENT]
    write_json("configs/experiments.yaml", {EXPERIMENT: read_yaml(root / cells.FILE)[EXPERIMENT]})
    corpus = read_yaml(root / CORPUS)
    corpus["options"]["size"], corpus["split"]["min_count"] = SIZE, MIN_COUNT
    write_json(CORPUS, corpus)
    reports = root / "reports"
    for name in ("run", "plots", "gold"):
        shutil.copytree(reports / name, Path("reports") / name)
    for name in ("measures.json", "details.json", "paper_values.yaml"):
        shutil.copy(reports / name, Path("reports") / name)
    (Path("reports") / "predictions").mkdir()
    for name in sorted({f"{packs.pack_of(cell.name)}.parquet" for cell in small.cells}):
        path = reports / "predictions" / name
        if not path.exists():
            raise InputError(f"{path}: no such file; run `make grid EXPERIMENT={EXPERIMENT}` first")
        shutil.copy(path, Path("reports") / "predictions" / name)
    cell = small.cells[0].name
    measures.write(Path("reports"), "quality", {cell: read_json(reports / "run" / "quality.json")})
    for name, left in (
        ("augmented.jsonl.gz", f"predictions/{cell}.jsonl.gz"),
        ("quality.json", f"quality/{cell}.json"),
    ):
        (Path(LEFT) / left).parent.mkdir(parents=True)
        shutil.copy(reports / "run" / name, Path(LEFT) / left)
    sets = [(0, 4), (2, 3, 6), (5, 6), (3, 6, 7)]
    _write_table()
    write_rows(Path("asked.jsonl"), ({"requested_labels": list(sets[number % len(sets)])} for number in range(80)))


def _write_audit() -> None:
    """What an audit leaves beside its classifier, where `compaug export` looks for it."""
    shutil.copytree(runs.SPLIT, "data/splits/run")
    for place, source in {
        "data/selected/run/augmented.jsonl": f"{runs.SPLIT}/synthetic.jsonl",
        "reports/run/augmented.jsonl.gz": f"{AUDITED}.jsonl.gz",  # there once it is trained
    }.items():
        Path(place).parent.mkdir(parents=True)
        Path(place).symlink_to(Path(source).absolute())


def _write_table() -> None:
    names = ["anger", "fear", "hope", "joy"]
    pairs = [";".join(pair) for pair in itertools.combinations(names, 2)]
    rows = ((f"words {number} of {number % 7}", (names + pairs)[number % 10]) for number in range(200))
    write_csv(Path(TABLE), ("text", "labels"), rows)


def _write_utterances() -> None:
    """A mirror with a corpus of intents and slots and one of sentences and logical forms, and configurations of both
    tasks."""
    folder = Path(UTTERANCES)
    for number, part in enumerate(PARTS):
        rows = (
            f"Rest\tsleep at {hour} {part[0]}\tO O B-hour O\nPlay\tplay {number} {hour}\tO O B-song\n"
            for hour in range(8)
        )
        write_text(folder / f"{part}.tsv", "".join(rows))
        rows = (
            f"{who} saw {number} cats .\tsee ( {who} , {number} )\tin_distribution\n" for who in ("Ann", "Bob", "Cleo")
        )
        write_text(folder / f"pairs_{part}.tsv", "".join(rows))
    file = lambda name: {"url": None, "sha256": None, "mirror": f"{name}.tsv"}
    utterances = {"reader": "snips", "files": {part: file(part) for part in PARTS}}
    pairs = {"reader": "cogs", "files": {part: file(f"pairs_{part}") for part in ("train", "test")}}
    small = {"batch_size": 8, "lr": 0.01, "warmup": 0.0}
    joint = small | {"steps": 2, "balanced": True, "max_length": 60, "lr_head": 0.01, "dropout": 0.0}
    writer = small | {
        "epochs": 1,
        "max_length": 60,
        "mode": "span",
        "strict": True,
        "masked": 0.3,
        "lora": 4,
        "each": 2,
    }
    writer |= {"temperature": 1.0, "top_p": 0.9}
    size = small | {"sample": 1.0, "width": 16, "inner": 16, "heads": 2, "layers": 1, "dropout": 0.0, "steps": 8}
    size |= {"schedule": "decay", "map_epochs": 2, "min_epoch": 0, "convergence_epoch": None, "bleu": 1.0}
    choice = {"region": "all", "ratio": 0.5, "keep": 1, "measure": "inverse_perplexity"}
    common = {"corpus": "toy", "scale": "small", "seeds": [1]}
    slu = {"joint": joint, "writer": writer, "experiment": common | {"shares": [0.5], "modes": ["none"]}}
    write_json(folder / "slu.yaml", {"corpora": {"toy": utterances}} | slu)
    parsing = {"corpora": {"toy": pairs}, "scales": {"small": {"toy": size}}, "choice": choice}
    parsing |= {"runs": [common | {"choices": [""]}]}
    write_json(folder / "parsing.yaml", parsing)
    os.environ["COMPAUG_MIRROR"] = UTTERANCES


def _group(*steps: Step) -> list[Group]:
    """Every step after those before it."""
    return [[*steps[:at], _last(step)] for at, step in enumerate(steps)]


def _last(step: Step) -> Step:
    return Step(step.stage, f"out/{Path(step.out).name}", step.argv)


def _step(stage: str, out: str, argv: str) -> Step:
    return Step(stage, out, tuple(argv.split()))
