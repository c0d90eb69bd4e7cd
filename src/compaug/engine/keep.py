"""Keep in DVC's run cache what DVC itself does not: a run with outputs that are in Git (`cache: false`).

python -m compaug.engine.keep ADDRESS

DVC restores such a run, copying those outputs, but `dvc repro` saves none (Stage.run leaves it out unless they are
metrics or plots, which `dvc metrics` and `dvc plots` would then show). Clones need it: the run cache is where their
results meet.
"""

import sys


def needed(stage) -> bool:
    """Whether `dvc repro` leaves this stage out of the run cache."""
    return any(not (out.use_cache or out.is_metric or out.is_plot) for out in stage.outs)


def keep(address: str) -> None:
    """Save the run that dvc.lock here describes; of the working directory's repository."""
    from dvc.repo import Repo, lock_repo  # slow to import

    with Repo(_wait_for_lock=True) as repo, lock_repo(repo):
        for stage in repo.stage.collect(address):
            repo.stage_cache.save(stage)


if __name__ == "__main__":
    keep(sys.argv[1])
