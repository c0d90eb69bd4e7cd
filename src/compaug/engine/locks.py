"""DVC's lock files after many workers have built: what, and in which order, `dvc repro` alone would have written."""

from collections.abc import Iterable
from pathlib import Path

from compaug.engine import Plan


def sort_locks(plan: Plan) -> None:
    """Put new entries of the locks in the order of `dvc repro`: the same bytes whichever worker ends first."""
    from dvc.repo import Repo, lock_repo
    from dvc.utils.serialize import load_yaml, modify_yaml

    files: dict[Path, list[str]] = {}
    for address in plan.fresh:
        path, _, name = address.rpartition(":")
        files.setdefault(Path(path or "dvc.yaml").with_suffix(".lock"), []).append(name)
    with Repo(_wait_for_lock=True) as repo, lock_repo(repo):
        for path, names in files.items():
            there = list(load_yaml(path)["stages"]) if path.exists() else []
            new = [name for name in names if name in there]
            if [name for name in there if name in set(new)] != new:
                with modify_yaml(path) as lock:
                    for name in new:
                        lock["stages"][name] = lock["stages"].pop(name)


def restore(addresses: Iterable[str]) -> list[str]:
    """Take what clones have built from the run cache, and write it to the locks here.

    Nothing is computed. Returns the addresses that it does not have.

    `dvc repro` of them would do the same, but it rewrites the whole dvc.lock after every stage, which takes seconds
    when the lock is long.
    """
    from dvc.repo import Repo, lock_repo
    from dvc.stage.cache import RunCacheNotFoundError

    lost, restored = [], {}
    with Repo(_wait_for_lock=True) as repo, lock_repo(repo):
        stages = {stage.addressing: stage for stage in repo.index.stages}
        for stage in map(stages.__getitem__, addresses):
            if not stage.changed():
                continue
            try:
                stage.remove_outs()
                repo.stage_cache.restore(stage)
                stage.save()
                stage.commit()
                restored.setdefault(stage.path, []).append(stage)
            except RunCacheNotFoundError:
                lost.append(stage.addressing)
        for changed in restored.values():
            changed[0].dvcfile.dump_stages(changed, update_pipeline=False)
    return lost
