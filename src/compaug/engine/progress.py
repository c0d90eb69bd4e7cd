"""How far a grid is: stages and cells done, cells left, time left."""

from __future__ import annotations

import itertools
import statistics
import sys
from collections import Counter
from dataclasses import dataclass, field

from tqdm import tqdm

from compaug.engine import Plan, StageFailed, kind, log_file


@dataclass
class Progress:
    """How far it is: a bar with the time left on a terminal, else a line for every stage."""

    plan: Plan
    workers: int = 1  # at work now
    seconds: dict[str, list[float]] = field(default_factory=dict)  # of the stages done, by kind
    left: Counter = field(init=False)
    computed: list[str] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)  # address -> log file
    skips: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.left = Counter(map(kind, self.plan.stale))
        self.bar = tqdm(total=len(self.plan.stale), unit="stage", disable=not sys.stderr.isatty(), dynamic_ncols=True)
        self.bar.bar_format = "{n_fmt}/{total_fmt} stages |{bar}| {elapsed}{postfix}"
        self.bar.set_postfix_str(self.standing())

    def done(self, address: str, seconds: float, computed: bool) -> None:
        self.seconds.setdefault(kind(address), []).append(seconds)
        self.finished.append(address)
        if computed:
            self.computed.append(address)
        self._over(address, f"{'done' if computed else 'restored or unchanged'} in {seconds:.0f} s")

    def failed(self, address: str, error: BaseException) -> None:
        _, log, tail = error.args if isinstance(error, StageFailed) else (address, str(log_file(address)), str(error))
        self.failures[address] = log
        tqdm.write(f"\n{address} failed ({log}):\n{tail}\n", file=sys.stderr)
        self._over(address, "failed")

    def skipped(self, address: str) -> None:
        self.skips.append(address)
        self._over(address, "skipped: a stage before it failed")

    def _over(self, address: str, what: str) -> None:
        self.left[kind(address)] -= 1
        self.bar.set_postfix_str(self.standing(), refresh=False)
        self.bar.update()
        if self.bar.disable:
            over = len(self.plan.stale) - self.left.total()
            print(f"[{over}/{len(self.plan.stale)}] {address}: {what}", flush=True)

    def seconds_left(self) -> float | None:
        """From the stages of the same kind that are done; those of a kind that none is done of count as the mean of all."""
        if not self.seconds:
            return None
        means = {name: statistics.fmean(values) for name, values in self.seconds.items()}
        usual = statistics.fmean(itertools.chain.from_iterable(self.seconds.values()))
        return sum(means.get(name, usual) * count for name, count in self.left.items()) / self.workers

    def cells(self) -> str:
        """Of the stages that were asked for and were stale."""
        asked = self.plan.cells & self.plan.stale.keys()
        return f"cells: {len(asked.intersection(self.finished))} done, {len(asked.difference(self.finished))} left"

    def standing(self) -> str:
        left = self.seconds_left()
        parts = [self.cells()]
        parts += [f"{len(self.failures)} failed"] if self.failures else []
        parts += [f"about {tqdm.format_interval(left)} left"] if left is not None else []
        return ", ".join(parts)

    def close(self) -> None:
        self.bar.close()
