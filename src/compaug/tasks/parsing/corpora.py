"""COGS (Kim and Linzen 2020) and the split MCD1 of CFQ (Keysers et al. 2020): files to pairs.

A pair is a sentence and its logical form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from compaug.core.records import InputError, iter_rows, write_rows
from compaug.data.corpus import lines as corpus_lines

GENERALISATION = "gen"  # the part of COGS whose categories are reported one by one
CASES = (  # its 21 categories, in the order of its paper's section 3
    "subj_to_obj_common",
    "subj_to_obj_proper",
    "obj_to_subj_common",
    "obj_to_subj_proper",
    "prim_to_subj_common",
    "prim_to_subj_proper",
    "prim_to_obj_common",
    "prim_to_obj_proper",
    "prim_to_inf_arg",
    "obj_pp_to_subj_pp",
    "cp_recursion",
    "pp_recursion",
    "active_to_passive",
    "passive_to_active",
    "obj_omitted_transitive_to_transitive",
    "unacc_to_transitive",
    "do_dative_to_pp_dative",
    "pp_dative_to_do_dative",
    "only_seen_as_transitive_subj_as_unacc_subj",
    "only_seen_as_unacc_subj_as_obj_omitted_transitive_subj",
    "only_seen_as_unacc_subj_as_unerg_subj",
)
QUESTION, QUERY = "encode", "decode"  # ends of the names of CFQ's files


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
    """One file of tab-separated sentence, logical form, category for every part.

    InputError names the line that is no such row.
    """
    return {part: list(_cogs_rows(part, path)) for part, path in paths.items()}


def cfq(paths: Mapping[str, Path]) -> Parts:
    """`<part>_encode` and `<part>_decode`, a question and a query a line.

    InputError for one without the other, for files of different length and for an empty line.
    """
    parts = list(dict.fromkeys(name.rpartition("_")[0] for name in paths))
    if set(paths) != {f"{part}_{end}" for part in parts for end in (QUESTION, QUERY)}:
        raise InputError(f"files: {', '.join(paths)}; cfq reads <part>_{QUESTION} and <part>_{QUERY} of every part")
    return {part: _cfq_rows(part, *(paths[f"{part}_{end}"] for end in (QUESTION, QUERY))) for part in parts}


READERS: dict[str, Callable[[Mapping[str, Path]], Parts]] = {"cogs": cogs, "cfq": cfq}


def _cogs_rows(part: str, path: Path) -> Iterator[Pair]:
    for number, line in corpus_lines(path):
        columns = line.split("\t")
        if len(columns) != 3:
            raise InputError(
                f"{path}:{number}: {len(columns)} columns, not sentence, logical form, category; fetch it again"
            )
        source, target, category = columns
        if not all(column.strip() for column in columns):
            raise InputError(f"{path}:{number}: an empty column; fetch the file again")
        if part == GENERALISATION and category not in CASES:
            raise InputError(f"{path}:{number}: no category of COGS: {category!r}; fetch the file again")
        yield Pair(f"{part}-{number}", source, target, category)


def _cfq_rows(part: str, questions: Path, queries: Path) -> list[Pair]:
    sources, targets = list(corpus_lines(questions)), list(corpus_lines(queries))
    if len(sources) != len(targets):
        raise InputError(f"{queries}: {len(targets)} lines, but {questions} has {len(sources)}; fetch both again")
    for path, lines in ((questions, sources), (queries, targets)):
        if empty := next((number for number, line in lines if not line.strip()), None):
            raise InputError(f"{path}:{empty}: an empty line; fetch the file again")
    return [
        Pair(f"{part}-{number}", source, target) for (number, source), (_, target) in zip(sources, targets, strict=True)
    ]


# ---------------------------------------------------------------- files of the stages


def write(folder: Path, parts: Parts) -> None:
    """<part>.jsonl, a pair a line.

    InputError for a part without rows, and for a sentence of another part that is in training too: what is tested is
    then not what was to be tested.
    """
    training = {pair.source for pair in parts.get("train", [])}
    for part, pairs in parts.items():
        if not pairs:
            raise InputError(f"files: no row in the part {part!r}; fetch its file again")
        if part != "train" and (seen := next((pair for pair in pairs if pair.source in training), None)):
            raise InputError(f"files: {seen.id} is a sentence of the training set too; fetch the files again")
        write_rows(folder / f"{part}.jsonl", map(asdict, pairs))


def read(path: Path) -> list[Pair]:
    """What `write` wrote. InputError for a line that is no pair, an id that stands there twice, a file without rows."""
    pairs: dict[str, Pair] = {}
    names = [field.name for field in fields(Pair)]
    for number, row in iter_rows(path):
        if sorted(row) != sorted(names) or not all(isinstance(value, str) for value in row.values()):
            raise InputError(
                f"{path}:{number}: not the texts {', '.join(names)}; run compaug.stages.parsing_corpus again"
            )
        if row["id"] in pairs or not row["source"].split() or not row["target"].split():
            raise InputError(
                f"{path}:{number}: a repeated id or an empty text; run compaug.stages.parsing_corpus again"
            )
        pairs[row["id"]] = Pair(**row)
    if not pairs:
        raise InputError(f"{path}: no rows; run compaug.stages.parsing_corpus again")
    return list(pairs.values())


def parts_in(folder: Path) -> list[str]:
    """The parts that the folder has, "train" left out."""
    return sorted(path.stem for path in folder.glob("*.jsonl") if path.stem != "train")


def counts(parts: Mapping[str, Iterable[Pair]]) -> dict[str, int]:
    return {part: len(list(pairs)) for part, pairs in parts.items()}
