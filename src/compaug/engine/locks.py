"""DVC's lock files: mended when one is half-written, sorted after many have built.

A killed process leaves the first; the second is what, and in the order in which, `dvc repro` alone would have written.
"""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from compaug.core.records import InputError, read_yaml, write_text
from compaug.engine import Plan


def mend(folder: Path) -> None:
    """Put back the locks that cannot be read, as Git has them, or away.

    A kill in the middle of DVC's writing leaves such. What was built since then comes back from DVC's run cache.
    """
    locks = (folder / place / "dvc.lock" for place in ("", "repair", "reports"))
    for lock in sorted([*locks, *folder.glob("experiments/*/dvc.lock")]):
        try:
            if not lock.exists() or isinstance(read_yaml(lock).get("stages"), dict):
                continue
            fault = "it has no stages"
        except InputError as error:
            fault = str(error).partition(": ")[2]
        name = lock.relative_to(folder).as_posix()
        kept = subprocess.run(
            ["git", "show", f"HEAD:./{name}"], cwd=folder, capture_output=True, text=True, check=False
        )
        lock.unlink()
        if kept.returncode == 0:
            write_text(lock, kept.stdout)
        how = "as in the last commit" if kept.returncode == 0 else "gone"
        print(
            f"note: {name} could not be read ({fault}); it is {how}, and what was built since comes from the run cache",
            file=sys.stderr,
        )


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
