"""GoEmotions: Reddit comments with 28 emotions (Demszky et al., ACL 2020; CC BY 4.0)."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from compaug.core.files import InputError
from compaug.core.records import Example, Labels, label_ids, text_key
from compaug.data.corpus import Corpus, clean, no_options, require_files
from compaug.data.streams import lines

FILES = ("train", "dev", "test")


def read(files: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus:
    """`files`: train, dev, test, lines `text<TAB>label ids<TAB>comment id`; labels (emotions.txt), a name per line.

    Stock phrases ("Thank you") recur with different labels and would link the parts of any split, so every text that
    occurs more than once, within a file or across files, is left out.
    """
    no_options("goemotions", options)
    require_files(files, *FILES, "labels")
    names = tuple(name for _, name in lines(files["labels"]))
    examples = [example for name in FILES for example in _read_file(files[name], len(names))]
    times = Counter(text_key(example.text) for example in examples)
    kept = [example for example in examples if times[text_key(example.text)] == 1]
    return Corpus(kept, Labels(names, names), dropped={"text occurs more than once": len(examples) - len(kept)})


def _read_file(path: Path, n_labels: int) -> list[Example]:
    examples = []
    for number, line in lines(path):
        try:
            text, ids, comment_id = line.split("\t")
            labels = label_ids([int(label) for label in ids.split(",")], n_labels)
            examples.append(Example(comment_id, clean(text), labels))
        except ValueError as error:  # InputError included
            raise InputError(f"{path}:{number}: expected 'text<TAB>ids<TAB>comment id' ({error})") from None
    return examples
