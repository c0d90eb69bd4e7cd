"""Packages that only some methods need: which extra of pyproject.toml has one that is missing; errors in one line."""

import contextlib
import os
import re
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from compaug.core.files import InputError, as_notes

OTHER_NAMES = {"PIL": "pillow", "sklearn": "scikit-learn"}  # of packages whose module has another name
CLONE = Path(__file__).parents[3] / "Makefile"  # there where the package is not installed but lies in its repository
REQUIREMENT = re.compile(r"([\w.-]+).*; extra == ['\"](\w+)['\"]")


@contextlib.contextmanager
def named() -> Iterator[None]:
    """A package that is missing inside is an InputError of one line if an extra has it, also as another one's cause."""
    try:
        yield
    except (ModuleNotFoundError, InputError) as error:
        cause = error if isinstance(error, ModuleNotFoundError) else error.__cause__
        module = (cause.name or "") if isinstance(cause, ModuleNotFoundError) else ""
        if not module or (extra := extra_of(module)) is None:
            raise
        remedy = "`make install-all`" if CLONE.is_file() else f"`pip install '.[{extra}]'` in compaug's clone"
        raise InputError(f"{module.partition('.')[0]} is not installed; {remedy}") from error


@contextlib.contextmanager
def in_one_line() -> Iterator[None]:
    """What the user can mend inside is one line on standard error, never a traceback; exit 2."""
    settle()
    try:
        with named():
            yield
    except InputError as error:
        print(f"{as_notes(getattr(error, '__notes__', ()))}error: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        if error.errno is None:
            raise
        print(f"error: {error.filename or 'file system'}: {error.strerror}", file=sys.stderr)
        sys.exit(2)


def settle() -> None:
    """No telemetry and no threads of tokenizers, unless the caller says so; libraries read it when they are loaded."""
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


def require(module: str) -> None:
    """InputError, which names the extra, for a package that is not installed."""
    with named():
        if find_spec(module) is None:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)


def extra_of(module: str) -> str | None:
    """The extra of compaug that brings a module; None where none does, or compaug itself is not installed."""
    from importlib import metadata  # slow to import, and needed only where something is missing

    package = OTHER_NAMES.get(top := module.partition(".")[0], top)
    try:
        requirements = metadata.requires("compaug") or []
    except metadata.PackageNotFoundError:
        return None
    extras = {normal(match[1]): match[2] for match in map(REQUIREMENT.match, requirements) if match}
    return extras.get(normal(package))


def normal(package: str) -> str:
    """A package's name as the index compares it."""
    return re.sub(r"[-_.]+", "-", package).lower()
