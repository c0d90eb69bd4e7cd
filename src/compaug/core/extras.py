"""Packages that only some methods need: which extra of pyproject.toml has one that is missing."""

import contextlib
import re
from collections.abc import Iterator

from compaug.core.records import InputError

OTHER_NAMES = {"PIL": "pillow", "sklearn": "scikit-learn"}  # of packages whose module has another name
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
        package = module.partition(".")[0]
        raise InputError(
            f"{package} is not installed; `make install-all` here, or `pip install 'compaug[{extra}]'`"
        ) from error


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
