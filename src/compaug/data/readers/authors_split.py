"""SemEval, AAPD and IMDB in the split that the paper's authors released ("Datasets").

Their labels are in authors_split.yaml.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from compaug.core.files import InputError, loads, read_yaml
from compaug.core.records import Example, Labels
from compaug.data.corpus import Corpus, clean, no_options
from compaug.data.streams import lines

SPLITS = ("train", "support", "test")  # of the authors' compositional split (paper, Table 6)


def read(corpus: str, files: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus:
    """One file per split, lines `[0, 1, ...]<TAB>text`, ids by split and line.

    A file may lack the newline of its last line. Any of the three splits can be given.
    """
    no_options(corpus, options)
    if not files or not set(files) <= set(SPLITS):
        raise InputError(f"files: got {', '.join(files) or 'nothing'}; this reader takes {', '.join(SPLITS)}")
    labels, phrase_sets = inventory(corpus)
    examples, reference = [], {}
    for split in (split for split in SPLITS if split in files):
        for number, line in lines(files[split]):
            vector, tab, text = line.partition("\t")
            try:
                if not tab:
                    raise ValueError("no tab between labels and text")
                labels_of_text = indicators(loads(vector), labels.names)
                example = Example(f"cg-{split}-{number:05d}", clean(text), labels_of_text)
            except (ValueError, TypeError) as error:
                raise InputError(f"{files[split]}:{number}: expected '[0, 1, ...]<TAB>text' ({error})") from None
            examples.append(example)
            reference[example.id] = split
    return Corpus(examples, labels, reference, phrase_sets)


def indicators(values: Iterable[object], names: Sequence[str]) -> tuple[int, ...]:
    """Label ids of a row of zeros and ones; ValueError says what is wrong with it."""
    values = list(values)
    if len(values) != len(names):
        raise ValueError(f"{len(values)} label values, expected {len(names)}")
    for name, value in zip(names, values, strict=True):
        if value not in (0, 1, "0", "1"):
            raise ValueError(f"the value {value!r} of label {name!r} is neither 0 nor 1")
    return tuple(label for label, value in enumerate(values) if int(value))


def inventory(corpus: str) -> tuple[Labels, dict[str, tuple[str, ...]]]:
    """The labels of a corpus, and named alternatives to their names."""
    block = read_yaml(Path(__file__).with_suffix(".yaml"))[corpus]
    names = tuple(block["names"])
    return Labels(names, names), {name: tuple(phrases) for name, phrases in block.get("phrases", {}).items()}
