"""One script per DVC stage; the ideas live in the library, these only read argv and params, load, call and save."""

import argparse
import contextlib
import ctypes
import gc
import os
import platform
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from compaug.core import extras, preloaded
from compaug.core.files import InputError, check_file, check_folder, read_json, write_json
from compaug.core.numerics import native
from compaug.core.records import Example, Labels, read_jsonl

COSTS = Path(".costs")  # seconds, versions and devices: never in a DVC output, because they differ at every run
PACKAGES = ("torch", "transformers", "accelerate", "numpy", "scikit-learn")

# Loading the libraries makes hundreds of thousands of objects that live to the end; looking for garbage among them
# takes a fifth of that time.
gc.set_threshold(50_000)


M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # of glibc's mallopt


class _Parser(argparse.ArgumentParser):
    out: str | None = None  # see `parser`

    def parse_args(self, *args, **kwargs):
        parsed = super().parse_args(*args, **kwargs)
        if "out" in parsed:
            check_out(parsed, self.out)
        if parsed.set:
            from compaug.experiments.params import Edited  # a tenth of a second, and some stages read no parameters

            parsed.params = Edited(parsed.params, tuple(parsed.set))
        return parsed


def seed(word: str) -> int:
    """The type of --seed: a whole number from 0 that fits 31 bits."""
    if not word.isdecimal() or int(word) >= 2**31:
        raise argparse.ArgumentTypeError(f"{word!r} is not a whole number from 0 to {2**31 - 1}")
    return int(word)


def count(word: str) -> int:
    """The type of a number of things: a whole number from 1."""
    if not word.isdecimal() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"{word!r} is not a whole number from 1")
    return int(word)


def share(word: str) -> float:
    """The type of --share: above 0, at most 1."""
    with contextlib.suppress(ValueError):
        if 0 < (number := float(word)) <= 1:
            return number
    raise argparse.ArgumentTypeError(f"{word!r} is not a number above 0 and at most 1")


ARGUMENTS = {  # those that several stages have
    "scale": {
        "help": "sizes of models and budgets: a block of configs/scales.yaml (default: run.scale)",
        "required": False,
    },
    "seed": {"help": "seed of the cell", "type": seed},
    "downloads": {
        "help": "where downloaded files are kept",
        "type": Path,
        "default": Path("data/downloads"),
        "required": False,
    },
    "reports": {"help": "folder of the results", "type": Path, "default": Path("reports"), "required": False},
}
NAMES = {
    "benchmark": "corpus: a file of configs/benchmarks",
    "generator": "name of a block of `generators`",
    "classifier": "name of a block of `classifiers`",
}
PATHS = {
    "backbones": "folder of the corpus's backbones",
    "compositions": "requested label sets, one per line",
    "decoder": "decoder backbone",
    "encoder": "encoder backbone",
    "labels": "labels.json of the split",
    "model": "folder of the trained model",
    "quality": "measures of the cell's texts",
    "raw": "folder written by the raw stage",
    "report": "what may be shown of the map, JSON to write",
    "selected": "kept synthetic rows, side-car .json beside them",
    "split": "folder of the corpus's split",
    "synthetic": "synthetic rows, side-car .json beside them",
}
ARGUMENTS |= {name: {"help": words} for name, words in NAMES.items()}
ARGUMENTS |= {name: {"help": words, "type": Path} for name, words in PATHS.items()}


def parser(
    description: str | None, names: str = "", out: str | None = None, params: Path = Path("params.yaml")
) -> argparse.ArgumentParser:
    """An argument parser with --params, --set and the ARGUMENTS of these `names`, a blank between them.

    `out` is what the stage writes to --out: "folder", or the suffix of a file; None where it adds files to a folder.
    An --out that it may not replace is refused before any work is done.
    """
    stage_parser = _Parser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    stage_parser.out = out
    stage_parser.add_argument("--params", type=Path, default=params, help=f"parameter file (default: {params})")
    stage_parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], help="a value instead of the files'; may be repeated"
    )
    for name in names.split():
        stage_parser.add_argument(f"--{name}", **{"required": True} | ARGUMENTS[name])
    if out:
        stage_parser.add_argument("--out", type=Path, required=True, help=f"{out} to write")
    return stage_parser


def check_out(args: argparse.Namespace, kind: str | None) -> None:
    """InputError for an --out that may not be written.

    It holds what no stage wrote, or another argument names it too, or it is replaced as a whole and holds what another
    argument names.
    """
    if kind == "folder":
        check_folder(args.out)
    elif kind is not None:
        if not args.out.name.endswith(kind):
            raise InputError(f"--out {args.out}: this stage writes a {kind} file; end the path with {kind}")
        check_file(args.out)
    place = args.out.resolve()
    for name, value in vars(args).items():
        for path in value if isinstance(value, list) else [value]:
            if name == "out" or not isinstance(path, Path):
                continue
            if path.resolve() == place or (kind == "folder" and path.resolve().is_relative_to(place)):
                option = f"--{name.replace('_', '-')}"
                raise InputError(f"--out {args.out}: is or holds {path}, which is {option}; give another path")


@contextlib.contextmanager
def cost_of(out: Path) -> Iterator[dict]:
    """Write the cost of what happens inside to `.costs/<out>.json`.

    Seconds, those of the CPU, the process's peak memory, machine and versions; and the facts that are added to the dict
    it yields.
    """
    facts: dict = {}
    start, cpu_start = time.perf_counter(), time.process_time()
    yield facts
    if (out / "history.json").exists():
        epochs = read_json(out / "history.json")["epochs"]
        facts |= {"epochs": len(epochs)} | ({"trained_parameters": epochs[0]["trained_parameters"]} if epochs else {})
    if language_models := sys.modules.get("compaug.models.language_models"):
        facts |= {"language_model": usage} if (usage := language_models.spent()) else {}
    import importlib.metadata  # slow to import, and light stages need it never

    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    facts |= {"seconds": round(time.perf_counter() - start, 2), "cores": os.cpu_count(), "versions": versions}
    facts |= {"cpu_seconds": round(time.process_time() - cpu_start, 2), "peak_mib": _peak()}
    facts |= {"python": platform.python_version(), "machine": platform.machine(), "device": _device()}
    write_json(COSTS / cost_file(out), facts)


def d_cg(split: Path) -> tuple[Labels, list[Example], list[Example]]:
    """Labels, training rows and support rows of the folder of a split."""
    labels = Labels.read(split / "labels.json")
    train = read_jsonl(split / "train.jsonl", len(labels), may_be_empty=False)
    return labels, train, read_jsonl(split / "support.jsonl", len(labels))


def obtained(files: Mapping, downloads: Path) -> dict[str, Path]:
    """Where the raw files of a corpus are, {key: path}, checked against their hashes.

    From the folder that COMPAUG_MIRROR names, else from their address, kept in `downloads`. InputError as of
    `download.obtain`.
    """
    from compaug.data.download import obtain

    mirror = os.environ.get("COMPAUG_MIRROR")
    return {name: obtain(name, file, Path(mirror) if mirror else None, downloads) for name, file in files.items()}


def cost_file(out: Path | str) -> str:
    """Name of the file in .costs/ with the cost of an output."""
    name = "-".join(part for part in Path(out).parts if part != Path(out).anchor)  # a dot may be in it: free_bits=0.5
    return f"{name.removesuffix('.json').removesuffix('.jsonl')}.json"


def _peak() -> int:
    """The most memory that this process has had, in MiB."""
    kept = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(kept / 2 ** (20 if sys.platform == "darwin" else 10))  # macOS counts bytes


def _device() -> str:
    torch = sys.modules.get("torch")  # a stage that did not need torch ran on the CPU
    if torch and torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return "cpu with its own instructions" if native() else "cpu"


def _check_project() -> None:
    """InputError in a project of another release of the package: DVC would record that one's versions."""
    from compaug.project import skeleton

    if line := skeleton.outdated():
        raise InputError(line)


def _keep_freed_memory() -> None:
    """Keep what one batch frees for the next: given back to the system, it comes in again page by page.

    With a decoder of 135M on a CPU that takes up to a quarter of a step. Nothing happens where the C library is not
    glibc.
    """
    with contextlib.suppress(AttributeError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(M_MMAP_MAX, 0)
        library.mallopt(M_TRIM_THRESHOLD, 2**31 - 1)


def run(main: Callable[[], None], loads_torch: bool = False) -> None:
    """Run a stage: what the user can mend is one line on standard error, never a traceback; exit 2, or 130 for Ctrl-C.

    SIGTERM, which schedulers send, is treated like Ctrl-C: Python would end without removing half-written files. One
    that loads torch runs in a process that has done so, if there is one.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if loads_torch:
            preloaded.hand_over()
        _keep_freed_memory()
        with extras.in_one_line():
            _check_project()
            main()
    except KeyboardInterrupt:
        print("interrupted: nothing was left half-written; run it again to resume", file=sys.stderr)
        sys.exit(130)
