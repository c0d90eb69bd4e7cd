"""What people write in files of texts and labels; words.yaml has the lists."""

from pathlib import Path

from compaug.core.files import read_yaml

WORDS = {name: tuple(words) for name, words in read_yaml(Path(__file__).with_suffix(".yaml")).items()}
