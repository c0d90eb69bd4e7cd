"""A process that has the slow libraries loaded, and runs each stage in a fork of itself.

Loading torch and transformers takes some four seconds of a core, and a cell has seventeen stages that begin with it.
The engine starts the process (`started`) and names its socket in the environment; a stage that finds the name there
sends its command line, environment and open files, and waits for the fork to end (`hand_over`). Without the name, as
under `dvc repro`, a stage loads what it needs itself. The bytes are the same.

What is loaded before the fork is other people's: a stage imports `compaug` after it, as the files are then.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from compaug.core import extras

ADDRESS = "COMPAUG_PRELOADED"  # environment variable: the socket
MODULES = (  # what most stages load; the optimizer's first step loads dynamo
    "torch._dynamo",
    "accelerate",
    "safetensors.torch",
    "pydantic",
    "tabulate",
    *(f"transformers.models.{name}.modeling_{name}" for name in ("bert", "modernbert", "gpt2", "llama")),
)
LENGTH = 8  # bytes that say how long a request is


# ---------------------------------------------------------------- in the engine


@contextlib.contextmanager
def started(here: bool = True) -> Iterator[tuple[tuple[str, str], ...]]:
    """Keep the process for the time of the block, if stages run here; yields what stages need in their environment.

    Nothing is loaded before the first stage asks. On Linux alone, and without a GPU: neither the libraries of macOS nor
    a GPU's driver survive a fork.
    """
    if not here or sys.platform != "linux" or shutil.which("nvidia-smi"):
        yield ()
        return
    with tempfile.TemporaryDirectory(prefix="compaug-") as folder:
        address = str(Path(folder) / "socket")
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, address],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is the engine's
        )
        try:
            yield ((ADDRESS, address),)
        finally:
            process.stdin.close()
            process.wait()


# ---------------------------------------------------------------- in a stage


def hand_over() -> None:
    """Have a fork run this process's command line, which is `python -m MODULE`, and exit as it does.

    Returns where no such process listens.
    """
    address, module = os.environ.pop(ADDRESS, None), sys.modules["__main__"].__spec__
    if address is None or module is None:
        return
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(address)
        except OSError:
            return
        request = {"module": module.name, "argv": sys.argv, "folder": os.getcwd(), "environment": dict(os.environ)}
        encoded = json.dumps(request).encode()
        answer = b""
        with contextlib.suppress(ConnectionError):
            socket.send_fds(connection, [len(encoded).to_bytes(LENGTH, "big")], [0, 1, 2])
            connection.sendall(encoded)
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda number, _: connection.sendall(bytes([number])))
            answer = connection.recv(LENGTH)
    if not answer:
        print("error: the process that ran this stage is gone; start again, and it goes on", file=sys.stderr)
        sys.exit(1)
    status = int.from_bytes(answer, "big", signed=True)
    if status < 0:  # ended by a signal, as this process is then
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.exit(status)


# ---------------------------------------------------------------- the process


def serve(address: str) -> dict:
    """Listen at that address until standard input ends; the request, in each fork that is to run one."""
    keepers: list[int] = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(128)
        while sys.stdin not in select.select([sys.stdin, listener], [], [])[0]:
            connection, _ = listener.accept()
            _load()
            if not (keeper := os.fork()):
                listener.close()
                return _keep(connection)
            connection.close()
            keepers = [*filter(_is_running, keepers), keeper]
    for keeper in keepers:
        os.waitpid(keeper, 0)
    sys.exit()


def _is_running(process: int) -> bool:
    """A fork that has ended is waited for, so that its seconds count as this process's, and then as the engine's."""
    return not os.waitpid(process, os.WNOHANG)[0]


def _load() -> None:
    if "torch" in sys.modules:
        return
    gc.disable()  # it would look through all that is loaded again and again
    for module in MODULES:
        with contextlib.suppress(ImportError):  # the stage that needs it says what to install
            importlib.import_module(module)
    gc.enable()
    gc.freeze()  # a fork that looked for garbage among these objects would copy their pages


def _keep(connection: socket.socket) -> dict:
    """Fork once more: the request in that process, while this one passes signals on to it and its status back."""
    length, files, *_ = socket.recv_fds(connection, LENGTH, 3)
    request = json.loads(connection.recv(int.from_bytes(length, "big"), socket.MSG_WAITALL))
    if not (process := os.fork()):
        connection.close()
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        return request
    threading.Thread(target=_pass_on, args=(connection, process), daemon=True).start()
    _, status = os.waitpid(process, 0)
    with contextlib.suppress(OSError):
        connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(LENGTH, "big", signed=True))
    os._exit(0)


def _pass_on(connection: socket.socket, process: int) -> None:
    """The signals that the stage gets; once it is gone, SIGKILL."""
    with contextlib.suppress(OSError):  # both are gone
        while number := connection.recv(1):
            os.kill(process, number[0])
        os.kill(process, signal.SIGKILL)


def become(request: dict) -> None:
    """Be the process that asked: folder, environment, command line, output, signals."""
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = request["argv"]
    sys.path[:1] = [request["folder"], *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    sys.stdout.reconfigure(line_buffering=os.isatty(1) or "PYTHONUNBUFFERED" in os.environ)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in [name for name in sys.modules if name.partition(".")[0] == "compaug"]:
        del sys.modules[name]  # as its files are now


def main() -> None:
    """python -m compaug.core.preloaded SOCKET"""
    extras.settle()
    request = serve(sys.argv[1])
    become(request)
    runpy.run_module(request["module"], run_name="__main__", alter_sys=True)
    # One that ends well ends as forks do: taking apart all that is loaded would take a third of a second.
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
