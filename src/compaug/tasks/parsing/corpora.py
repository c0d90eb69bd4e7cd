"""COGS (Kim and Linzen 2020) and the split MCD1 of CFQ (Keysers et al. 2020): sentences and their logical forms."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from compaug.core.files import InputError, write_rows
from compaug.data.corpus import require_files, rows_as
from compaug.data.streams import lines


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence and its logical form, words with a blank between them; of COGS its category too."""

    id: str
    source: str
    target: str
    category: str = ""

    @property
    def words(self) -> set[tuple[str, str]]:
        """Word types, those of either side: what a subset must not lose (cartography spec, section 2)."""
        return {("source", word) for word in self.source.split()} | {("target", word) for word in self.target.split()}


Parts = dict[str, list[Pair]]  # "train", "dev", "test", and "gen" of COGS


def cogs(paths: Mapping[str, Path]) -> Parts:
    """One file of tab-separated sentence, logical form, category for every part."""
    return {part: list(_cogs_rows(part, path)) for part, path in paths.items()}


def cfq(paths: Mapping[str, Path]) -> Parts:
    """`<part>_encode` and `<part>_decode`, a question and a query a line."""
    parts = dict.fromkeys(name.rpartition("_")[0] for name in paths)
    require_files(paths, *(f"{part}_{end}" for part in parts for end in ("encode", "decode")))
    return {part: _cfq_rows(part, paths[f"{part}_encode"], paths[f"{part}_decode"]) for part in parts}


READERS: dict[str, Callable[[Mapping[str, Path]], Parts]] = {"cogs": cogs, "cfq": cfq}


def _cogs_rows(part: str, path: Path) -> Iterator[Pair]:
    for number, line in lines(path):
        columns = line.split("\t")
        if len(columns) != 3 or not all(column.strip() for column in columns):
            raise InputError(f"{path}:{number}: not sentence, logical form, category; fetch the file again")
        source, target, category = columns
        yield Pair(f"{part}-{number}", source, target, category)


def _cfq_rows(part: str, questions: Path, queries: Path) -> list[Pair]:
    sources, targets = ([line for _, line in lines(path)] for path in (questions, queries))
    if len(sources) != len(targets):
        raise InputError(f"{queries}: {len(targets)} lines, but {questions} has {len(sources)}; fetch both again")
    pairs = enumerate(zip(sources, targets, strict=True), start=1)
    return [Pair(f"{part}-{number}", source, target) for number, (source, target) in pairs]


# ---------------------------------------------------------------- files of the stages


def write(folder: Path, parts: Parts) -> None:
    """<part>.jsonl, a pair a line.

    InputError for a sentence of another part that is in training too: what is tested is then not what was to be tested.
    """
    training = {pair.source for pair in parts["train"]}
    for part, pairs in parts.items():
        if part != "train" and (seen := next((pair for pair in pairs if pair.source in training), None)):
            raise InputError(f"files: {seen.id} is a sentence of the training set too; fetch the files again")
        write_rows(folder / f"{part}.jsonl", map(asdict, pairs))


def read(path: Path) -> list[Pair]:
    """What `write` wrote."""
    return rows_as(path, Pair)


def parts_in(folder: Path) -> list[str]:
    """The parts that the folder has, "train" left out."""
    return sorted(path.stem for path in folder.glob("*.jsonl") if path.stem != "train")
