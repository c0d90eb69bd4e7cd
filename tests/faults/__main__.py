"""Damage what people bring, kill stages while they work, and write down what happened: reports/reliability.md.

python -m tests.faults --out reports/reliability.md [--faults 30] [--kills 3] [--seed 0]

Every step is one of the stages' own scripts, or a command of `compaug`, on a toy corpus (tests/faults/fault_worlds.py).
Ends with exit 1 where a fault made a traceback, a hang or half an output, or a killed stage did not end with the bytes
of an undisturbed run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.faults import fault_worlds, lab
from tools.golden import workplace
from tqdm import tqdm

from compaug.core.files import write_text
from compaug.core.markdown import markdown_table
from compaug.stages import run

SHOWN = 20  # of what went wrong


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    faults, killed = [], []

    def add(groups) -> None:
        total = len(groups) * (args.faults + args.kills)
        with tempfile.TemporaryDirectory() as desk:
            every = lab.tried(groups, args.seed, args.faults, args.kills, Path(desk))
            for trial in tqdm(every, "faults", total, leave=False, disable=not sys.stderr.isatty()):
                (faults if isinstance(trial, lab.Found) else killed).append(trial)

    with fault_worlds.reporting(args.params.absolute().parent) as groups:
        add(groups)
    with workplace.prepared(args.params) as toys:
        add(fault_worlds.of_toys(toys))
    wrong = [fault for fault in faults if fault.kind in lab.BAD]
    lost = [kill for kill in killed if not (kill.same and kill.clean)]
    if args.out:
        write_text(args.out, page(faults, killed, args.seed))
    print(
        f"{len(faults)} faults, {len(wrong)} of them not refused in one line; "
        f"{len(killed)} kills, {len(lost)} that left something"
    )
    for fault in wrong[:SHOWN]:
        print(f"{fault.stage}: {fault.file}, {fault.fault}: {fault.kind}\n{fault.log}")
    for kill in lost[:SHOWN]:
        print(f"{kill.stage}: killed after {kill.after:.0%} of its time")
    for fault in faults if args.all else ():
        print(f"{fault.stage}: {fault.file}, {fault.fault}: {fault.kind}: {fault.log.strip()}")
    if wrong or lost:
        sys.exit(1)


def page(faults: list[lab.Found], killed: list[lab.Killed], seed: int) -> str:
    """What was tried, what came of it, what is promised."""
    kinds = [kind for kind in lab.KINDS if kind not in lab.BAD] + list(lab.BAD)
    names = list(dict.fromkeys(fault.stage for fault in faults))
    by_stage = {name: Counter(fault.kind for fault in faults if fault.stage == name) for name in names}
    rows = [[name, by_stage[name].total(), *(by_stage[name][kind] for kind in kinds)] for name in names]
    every = Counter(fault.kind for fault in faults)
    rows.append(["all", every.total(), *(every[kind] for kind in kinds)])
    by_fault = {name: Counter(fault.kind for fault in faults if fault.fault == name) for name in lab.MUTATIONS}
    faulty = [[name, count.total(), *(count[kind] for kind in kinds)] for name, count in by_fault.items() if count]
    kill_rows = [
        [name, len(of_stage), sum(kill.same for kill in of_stage), sum(kill.clean for kill in of_stage)]
        for name in dict.fromkeys(kill.stage for kill in killed)
        for of_stage in [[kill for kill in killed if kill.stage == name]]
    ]
    kill_rows.append(["all", len(killed), sum(kill.same for kill in killed), sum(kill.clean for kill in killed)])
    return f"""# Reliability

What happens to a stage when a file that people bring or edit is damaged, or it is killed. Made by `make faults` \
(seed {seed}): the stages' own scripts and the
commands of `compaug` on a toy corpus, one fault at a time, each in a process of its own.

## Promised

- A missing, cut, empty or damaged input, or one of another kind, ends a stage with one line that names \
the file, the place and the remedy, and exit status 2.
- An output is there whole or not at all, and what no stage wrote is never replaced.
- A stage that was killed at any moment ends, started once more, with the bytes of an undisturbed run, and \
nothing half-written is left. A training
  goes on after its last finished epoch; a damaged checkpoint is set aside.
- `make repro` mends a lock file that a kill cut off, and `make verify` compares the cache with its hashes.

Not promised: a letter changed in a text, a digit in a number, or a bit in a model's weights is another valid input; \
against these stand the hashes in `dvc.lock`,
which `make verify` checks.

## Damaged files

{markdown_table(["stage", "faults", *kinds], rows, [0])}

*Read all the same*: what the damage left is a valid input of another content, for example a file of rows that \
ends earlier, or a key that this stage does not use.

{markdown_table(["fault", "files", *kinds], faulty, [0])}

## Kills

SIGKILL at a random moment, then one more start.

{markdown_table(["stage", "kills", "ended with the same bytes", "nothing half-written left"], kill_rows, [0])}
"""


def _parser():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--params", type=Path, default=Path("params.yaml"), help="parameter file (default: params.yaml)"
    )
    parser.add_argument("--faults", type=int, default=36, help="faults of each stage's inputs (default: 36)")
    parser.add_argument("--kills", type=int, default=3, help="kills of each stage (default: 3)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the faults (default: 0)")
    parser.add_argument("--all", action="store_true", help="print every fault and what became of it")
    parser.add_argument("--out", type=Path, help="page to write")
    return parser


if __name__ == "__main__":
    run(main)
