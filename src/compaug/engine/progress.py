"""How far a grid is: stages and cells done, cells left, time left."""

import statistics
import sys
from collections import Counter
from dataclasses import dataclass, field

from tqdm import tqdm

from compaug.engine import Plan, StageFailed, kind, log_file

COMPUTED, UNCHANGED, FAILED, SKIPPED = "done", "restored or unchanged", "failed", "skipped: a stage before it failed"


@dataclass
class Progress:
    """How far it is: a bar with the time left on a terminal, else a line for every stage."""

    plan: Plan
    workers: int = 1  # at work now
    running: list[str] = field(default_factory=list)  # addresses
    ended: dict[str, str] = field(default_factory=dict)  # address -> what became of it, one of the four above
    seconds: dict[str, list[float]] = field(default_factory=dict)  # of the stages done, by kind

    def __post_init__(self) -> None:
        self.bar = tqdm(total=len(self.plan.stale), unit="stage", disable=not sys.stderr.isatty(), dynamic_ncols=True)
        self.bar.bar_format = "{n_fmt}/{total_fmt} stages |{bar}| {elapsed}{postfix}"
        self.bar.set_postfix_str(self.standing())

    def begun(self, address: str) -> None:
        self.running.append(address)
        self.bar.set_postfix_str(self.standing())

    def done(self, address: str, seconds: float, computed: bool) -> None:
        self.seconds.setdefault(kind(address), []).append(seconds)
        self._over(address, COMPUTED if computed else UNCHANGED, f" in {seconds:.0f} s")

    def failed(self, address: str, error: BaseException) -> None:
        tail = error.args[-1] if isinstance(error, StageFailed) else error
        tqdm.write(f"\n{address} failed ({log_file(address)}):\n{tail}\n", file=sys.stderr)
        self._over(address, FAILED)

    def skipped(self, address: str) -> None:
        self._over(address, SKIPPED)

    def _over(self, address: str, what: str, more: str = "") -> None:
        self.ended[address] = what
        self.running = [other for other in self.running if other != address]
        self.bar.set_postfix_str(self.standing(), refresh=False)
        self.bar.update()
        if self.bar.disable:
            print(f"[{len(self.ended)}/{len(self.plan.stale)}] {address}: {what}{more}", flush=True)

    def which(self, *ends: str) -> list[str]:
        """The stages that ended so, in the order of the plan."""
        return [address for address in self.plan.stale if self.ended.get(address) in ends]

    def seconds_left(self) -> float | None:
        """From the stages done of the same kind; a kind of which none is done counts as the mean of all."""
        if not self.seconds:
            return None
        means = {name: statistics.fmean(values) for name, values in self.seconds.items()}
        usual = statistics.fmean(second for values in self.seconds.values() for second in values)
        left = Counter(kind(address) for address in self.plan.stale.keys() - self.ended.keys())
        return sum(means.get(name, usual) * count for name, count in left.items()) / self.workers

    def cells(self) -> str:
        """Of the stages that were asked for and were stale."""
        cells = self.plan.cells & self.plan.stale.keys()
        done = cells.intersection(self.which(COMPUTED, UNCHANGED))
        return f"cells: {len(done)} done, {len(cells - done)} left"

    def standing(self) -> str:
        failed, left = len(self.which(FAILED)), self.seconds_left()
        parts = [self.cells(), f"{failed} failed" if failed else ""]
        parts += [f"about {tqdm.format_interval(left)} left"] if left is not None else []
        parts += [f"now {', '.join(self.running)}"] if self.running else []
        return ", ".join(filter(None, parts))

    def summary(self) -> str:
        """One line: what was built, and what was not."""
        computed, unchanged, failed, skipped = (len(self.which(end)) for end in (COMPUTED, UNCHANGED, FAILED, SKIPPED))
        parts = [f"{computed} stages built, {unchanged} restored or unchanged", f"{failed} failed" if failed else ""]
        return ", ".join(filter(None, [*parts, f"{skipped} skipped behind them" if skipped else "", self.cells()]))

    def close(self) -> None:
        self.bar.close()
