"""How far a generator's texts are from real ones: Frechet distance, precision, recall, BLEU; with and without labels.

The real texts are the support texts, which are few and of the target, and those of D_train, which are many and of other
compositions; never the test set. Several files of kept rows are measured side by side, a core each, to files of their
names in the folder --out.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path

from compaug.core.files import InputError, check_file, write_json
from compaug.core.records import Example, Labels, read_jsonl
from compaug.evaluation.metrics import rounded
from compaug.evaluation.text_quality import distances
from compaug.stages import check_out, cost_of, d_cg, parser, run

SUFFIX = ".json"
OPTIONS = parser(__doc__, "split encoder")
OPTIONS.add_argument("--out", type=Path, required=True, help="JSON to write; of several files the folder")
OPTIONS.add_argument("--selected", type=Path, nargs="+", required=True, help="kept rows; one file or more")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    outs = _outs(args)
    labels, train, support = d_cg(args.split)
    real = {"support": support, "train": train}
    todo = [(read_jsonl(path, len(labels)), out) for path, out in zip(args.selected, outs, strict=True)]
    if len(todo) == 1:
        return measure_all(real, labels, args.encoder, todo)
    n = min(len(todo), len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    side_by_side([partial(measure_all, real, labels, args.encoder, todo[at::n], say=True) for at in range(n)])


def side_by_side(parts: Sequence[Callable[[], None]]) -> None:
    """Each in a process of its own; all end when one fails or when this process is stopped.

    InputError where one was killed.
    """
    with ProcessPoolExecutor(len(parts), multiprocessing.get_context("spawn")) as pool:
        # inherited: Ctrl-C is for this process, which ends the others
        handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
        running = [pool.submit(part) for part in parts]
        signal.signal(signal.SIGINT, handler)
        try:
            for done in as_completed(running):
                done.result()
        except BaseException as error:
            for process in multiprocessing.active_children():
                process.terminate()
            if isinstance(error, BrokenProcessPool):
                raise InputError(
                    "a process was killed, perhaps for want of memory; give fewer files at a time"
                ) from error
            raise


def measure_all(
    real: Mapping[str, Sequence[Example]],
    labels: Labels,
    encoder: Path,
    todo: Sequence[tuple[Sequence[Example], Path]],
    say: bool = False,
) -> None:
    """Each (kept rows, file to write) in turn."""
    read = distances.reader(encoder)
    for kept, out in todo:
        with cost_of(out):
            by_part = {of: distances.measure(texts, kept, labels, read) for of, texts in real.items()}
            write_json(out, rounded(by_part))
        if say:
            print(out, flush=True)


def _outs(args) -> list[Path]:
    """The file to write for each file of kept rows. InputError where --out cannot be that, or two have one name."""
    if len(args.selected) == 1:
        check_out(args, SUFFIX)
        return [args.out]
    if args.out.suffix == SUFFIX:
        raise InputError(f"--out {args.out}: {len(args.selected)} files are measured; give a folder")
    if any(path.resolve().parent == args.out.resolve() for path in args.selected):
        raise InputError(
            f"--out {args.out}: holds the kept rows, whose side-cars have these names; give another folder"
        )
    names = [path.with_suffix(SUFFIX).name for path in args.selected]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"--selected: two files would be written to {args.out / twice}; give files of different names")
    for out in (outs := [args.out / name for name in names]):
        check_file(out)
    return outs


if __name__ == "__main__":
    run(main)
