"""Run a `dvc` command that ends when the process that started it ends, however that comes about.

python guard.py COMMAND...        with a pipe as standard input that the starter holds open, in a session of its own

A worker that is killed cannot clean up, so this process does: once the pipe is closed, it ends what DVC has started,
and leaves DVC itself to report the failed stage. DVC is not stopped, because it rewrites dvc.lock in place: half of a
lock would be left.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time

import psutil

POLL = 0.05  # seconds
GRACE = 5.0  # that a stage has to remove its half-written files
PATIENCE = 60.0  # that DVC has to come to its end


def main(command: list[str]) -> int:
    # a shell's background job ignores it, and its children would
    signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    while process.poll() is None:
        if select.select([sys.stdin], [], [], POLL)[0]:
            end(process)
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def end(process: subprocess.Popen) -> None:
    """Terminate, then kill, whatever runs in this session but the command itself, until that has ended."""
    first_seen: dict[int, float] = {}
    start = time.monotonic()
    while process.poll() is None:
        now = time.monotonic()
        for pid in _session() - {process.pid}:
            since = first_seen.setdefault(pid, now)
            _send(pid, signal.SIGTERM if since == now else signal.SIGKILL if now - since > GRACE else 0)
        if now - start > PATIENCE:
            process.kill()
        time.sleep(POLL)
    for pid in _session():
        _send(pid, signal.SIGKILL)


def _session() -> set[int]:
    """The processes of this session, without this one."""
    pids = set()
    for pid in psutil.pids():
        with contextlib.suppress(OSError):
            if os.getsid(pid) == os.getsid(0) and pid != os.getpid():
                pids.add(pid)
    return pids


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
