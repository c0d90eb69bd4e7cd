"""Raw files: taken from a mirror folder or downloaded once, and checked against their SHA-256."""

import hashlib
import shutil
import sys
import zipfile
import zlib
from pathlib import Path
from urllib.parse import urldefrag, urlsplit

from compaug.core.files import InputError, atomic_path, digest, write_text
from compaug.data.parameters import File
from compaug.data.streams import PACKED_NAMES, unpacked

TIMEOUT = 60  # seconds without a byte
EMPTY = hashlib.sha256().hexdigest()
CHUNK = 1 << 20


def obtain(name: str, file: File, mirror: Path | None, cache_dir: Path) -> Path:
    """Path of a raw file with verified content; `name` is its key in the benchmark's `files`.

    A file with a `path` is in this repository. Else looks for `file.mirror` below `mirror` (plain or packed), then for
    an earlier download in `cache_dir`, then downloads `file.url`; `#member` after a .zip address names one file of the
    archive. A download without a known hash is pinned to the first hash seen, in a small `.sha256` file beside it.
    InputError where it cannot be had whole.
    """
    if (path := Path(file.path) if file.path else _in_mirror(file, mirror)) is not None:
        _verify(name, path, file.sha256)
        return path
    if file.url is None:
        raise InputError(
            f"files.{name}: it has no url and is not below COMPAUG_MIRROR ({file.mirror} in {mirror}); put it there "
            f"or set files.{name}.url"
        )
    address, member = urldefrag(file.url)
    path = _cached(cache_dir, file.url, member or urlsplit(address).path)
    if member and not path.exists():
        archive = _cached(cache_dir, address, urlsplit(address).path)
        _download(name, address, archive)
        _extract(name, archive, member, path)
    elif not member:
        _download(name, address, path)
    pin = path.with_name(f"{path.name}.sha256")
    expected = file.sha256 or (pin.read_text(encoding="utf-8").split()[0] if pin.exists() else None)
    sha256 = _verify(name, path, expected)
    if expected is None:
        write_text(pin, f"{sha256}  {path.name}\n")
        print(f"files.{name}: no sha256 is known; pinned this download to {sha256} in {pin}", file=sys.stderr)
    return path


def _cached(cache_dir: Path, url: str, name: str) -> Path:
    """Its name starts with a hash of the address, so that another address never finds an earlier file."""
    return cache_dir / f"{digest(url)[:8]}-{Path(name).name}"


def _in_mirror(file: File, mirror: Path | None) -> Path | None:
    if mirror is None or file.mirror is None:
        return None
    if not mirror.is_dir():
        raise InputError(f"COMPAUG_MIRROR names {mirror}, which is not a folder; correct or unset it")
    candidates = (mirror / f"{file.mirror}{suffix}" for suffix in ("", *PACKED_NAMES))
    return next((path for path in candidates if path.is_file()), None)


def _download(name: str, url: str, path: Path) -> None:
    """Stream `url` to `path` unless that is there; it appears only when complete."""
    import pooch  # it and requests take half a second, and files of a mirror need neither
    from requests import ConnectionError, HTTPError, RequestException

    pooch.get_logger().setLevel("ERROR")  # what it would say of an unknown hash is said here of the content
    bar, plain = sys.stderr.isatty(), {"Accept-Encoding": "identity"}
    downloader = pooch.HTTPDownloader(progressbar=bar, timeout=TIMEOUT, headers=plain)
    try:
        pooch.retrieve(url, known_hash=None, fname=path.name, path=path.parent, downloader=downloader)
    except HTTPError as error:
        answer = error.response
        raise InputError(f"files.{name}: {url} answered {answer.status_code} {answer.reason}; check the url") from None
    except RequestException as error:
        cause: BaseException = error
        while cause.__context__ is not None:
            cause = cause.__context__
        what = f"cannot reach {url}" if isinstance(error, ConnectionError | ValueError) else f"{url} broke off"
        remedy = "check the network, or put the file below COMPAUG_MIRROR"
        raise InputError(f"files.{name}: {what} ({cause}); {remedy}") from None


def _extract(name: str, archive: Path, member: str, path: Path) -> None:
    try:
        with (
            zipfile.ZipFile(archive) as opened,
            opened.open(member) as source,
            atomic_path(path) as temporary,
            temporary.open("wb") as target,
        ):
            shutil.copyfileobj(source, target, CHUNK)
    except KeyError:
        raise InputError(f"files.{name}: {archive} has no member {member!r}; correct the part after '#'") from None
    except (zipfile.BadZipFile, zlib.error, EOFError):
        raise InputError(f"files.{name}: {archive} is not a sound zip archive; delete it and run again") from None


def _verify(name: str, path: Path, expected: str | None) -> str:
    """SHA-256 of the uncompressed bytes; InputError when it is not `expected`."""
    sha = hashlib.sha256()
    with unpacked(path) as stream:
        while block := stream.read(CHUNK):
            sha.update(block)
    if sha.hexdigest() == EMPTY:
        raise InputError(f"files.{name}: {path} is empty; fetch it again")
    if expected not in (None, sha.hexdigest()):
        raise InputError(
            f"files.{name}: {path} has SHA-256 {sha.hexdigest()}, expected {expected}; "
            f"delete the file to fetch it again, or correct files.{name}.sha256"
        )
    return sha.hexdigest()
