"""Where the workers are: processes of this machine, hosts by SSH, or jobs of a Slurm cluster (configs/cluster.yaml)."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from compaug.core.files import InputError, read_yaml
from compaug.core.schema import Block, first_problem

FILE = Path("configs/cluster.yaml")
ALWAYS = "COMPAUG_"  # begins the names of environment variables that go to the workers in any case
# the scheduler has no page, and a port of its own at every run
QUIET = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
SETTINGS = {
    # Dask would give its workers other settings of malloc and of threads than a stage has that is started by hand.
    "distributed.nanny.pre-spawn-environ": {},
    # All that a worker does is wait for its stage: Dask's looks at itself would take an eighth of a core, with two.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}


class SSH(Block):
    hosts: list[str] = Field(min_length=1)
    scheduler: str | None = None
    workers_per_host: int = Field(1, ge=1)
    python: str | None = None
    connect: dict[str, Any] = Field({})
    scheduler_options: dict[str, Any] = Field({})
    worker_options: dict[str, Any] = Field({})


class Slurm(Block):
    jobs: int = Field(ge=1)
    options: dict[str, Any]


class Config(Block):
    clones: str = ".grid/clones"
    environment: list[str] = Field([])
    ssh: SSH | None = None
    slurm: Slurm | None = None


def read(path: Path) -> Config:
    """The configuration; InputError names file and key."""
    try:
        return Config.model_validate(read_yaml(path, may_be_empty=True))
    except ValidationError as error:
        raise InputError(f"{path}: {first_problem(error)}; the file's own comments list the keys") from None


def environment(config: Config) -> tuple[tuple[str, str], ...]:
    """What stages on the workers find in their environment: the same as here, and paths that hold in any folder."""
    variables = {
        name: value for name, value in os.environ.items() if name.startswith(ALWAYS) or name in config.environment
    }
    if mirror := variables.get("COMPAUG_MIRROR"):
        variables["COMPAUG_MIRROR"] = os.path.abspath(mirror)
    return tuple(sorted(variables.items()))


def local(config: Config, workers: int | None):
    """One process of one thread for each stage at a time; nothing listens on the network."""
    from dask.system import CPU_COUNT
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=workers or CPU_COUNT,
        threads_per_worker=1,
        host="127.0.0.1",
        scheduler_kwargs=QUIET,
        memory_limit=0,  # the work is done by other processes, which Dask does not see
        silence_logs=logging.CRITICAL + 1,
        # A terminal sends Ctrl-C to every process in it: the head ends the workers, in order.
        preload="import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)",
    )


def ssh(config: Config, workers: int | None):
    """Workers on hosts that are reached by SSH, and the scheduler on the first one if nothing else is said."""
    from distributed import SSHCluster

    options = _described("ssh", config.ssh)
    one_thread = {"nthreads": 1, "n_workers": options.workers_per_host, "memory_limit": 0}
    return SSHCluster(
        hosts=[options.scheduler or options.hosts[0], *options.hosts],
        connect_options=options.connect,
        scheduler_options=QUIET | options.scheduler_options,
        worker_options=one_thread | options.worker_options,
        remote_python=options.python,
    )


def slurm(config: Config, workers: int | None):
    """Jobs of a Slurm cluster, each with the workers that `options` gives it (dask_jobqueue.SLURMCluster)."""
    from dask_jobqueue import SLURMCluster

    block = _described("slurm", config.slurm)
    scheduler = {"scheduler_options": QUIET | block.options.get("scheduler_options", {})}
    try:
        cluster = SLURMCluster(**block.options | scheduler)
    except (TypeError, ValueError) as error:
        raise InputError(f"slurm.options: {' '.join(str(error).split())}") from None
    cluster.scale(jobs=block.jobs)
    return cluster


def _described(kind: str, block: Block | None) -> Block:
    if block is None:
        raise InputError(f"--cluster {kind}: the configuration has no block `{kind}`; see the comments in {FILE}")
    return block


KINDS = {"local": local, "ssh": ssh, "slurm": slurm}


@contextmanager
def connected(kind: str, config: Config, workers: int | None) -> Iterator:
    """A client of the cluster; both end with the block."""
    import dask
    from distributed import Client

    with dask.config.set(SETTINGS), KINDS[kind](config, workers) as cluster, Client(cluster) as client:
        yield client
