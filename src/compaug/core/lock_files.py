"""DVC's lock files after a kill: one that is half-written is mended."""

import subprocess
import sys
from pathlib import Path

from compaug.core.files import InputError, read_yaml, write_text


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
