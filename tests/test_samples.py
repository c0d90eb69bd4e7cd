"""The page that Git ignores: some texts with their scores, what was cut, and nothing that markup could make of a
text."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from compaug.core.files import InputError, write_json
from compaug.core.records import Example, Labels, write_jsonl
from compaug.project import samples
from compaug.stages import write_samples as stage

LABELS = Labels(("joy", "love", "fear"), ("joy", "love", "fear"))


def kept(number: int, text: str, label_set=(0, 1), score: float | None = 0.5) -> Example:
    return Example(f"g{number}", text, label_set, "ls_pt", label_set, 3, score)


@pytest.fixture
def model(tmp_path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.enable_truncation(max_length=3)
    tokenizer.save(str(folder / "tokenizer.json"))
    facts = {"classifier": "bert", "n_labels": 3, "phrases": ["joy", "love", "fear"], "settings": {"max_length": 3}}
    write_json(folder / "classifier.json", facts | {"rows": 1, "positives": [1.0], "pairs": [[1.0]]})
    return folder


def test_three_texts_of_each_combination_are_shown_best_middle_and_last():
    texts = [kept(at, f"text {at}", score=1 - at / 10) for at in range(7)] + [kept(9, "alone", (2,), None)]
    shown = samples.page(texts, LABELS, {"train": [3, 5]}, 4)
    assert "### joy+love (7)" in shown and "### fear (1)" in shown
    assert [line for line in shown.splitlines() if line.startswith(("- 1.00", "- 0.70", "- 0.40", "- –"))] == [
        "- 1.00: text 0", "- 0.70: text 3", "- 0.40: text 6", "- –: alone",
    ]  # fmt: skip
    assert "- train: 1 of 2 texts (50.0%), 12.5% of all tokens; the longest has 5" in shown


def test_a_text_is_one_line_and_no_markup():
    shown = samples.page([kept(1, "a\n# <b>*x*</b> | `y`" + "z" * 500)], LABELS, {}, 4)
    (line,) = [line for line in shown.splitlines() if line.startswith("- 0.50")]
    assert line.startswith(r"- 0.50: a \# \<b>\*x\*\</b> \| \`y\`") and line.endswith("…") and len(line) < 450


def test_the_stage_counts_what_the_classifier_cuts_without_its_own_limit(tmp_path, model):
    LABELS.write(tmp_path / "labels.json")
    rows = [Example("a", "one two three four", (0,)), Example("b", "one", (1,))]
    write_jsonl(tmp_path / "train.jsonl", rows)
    write_jsonl(tmp_path / "kept.jsonl", [kept(1, "five six")])
    words = ["--labels", str(tmp_path / "labels.json"), "--selected", str(tmp_path / "kept.jsonl")]
    words += ["--train", str(tmp_path / "train.jsonl"), "--model", str(model), "--out", str(tmp_path / "run.md")]
    stage.main(words)
    shown = (tmp_path / "run.md").read_text(encoding="utf-8")
    assert "- train: 1 of 2 texts (50.0%), 20.0% of all tokens; the longest has 4" in shown
    assert "- kept synthetic texts: 0 of 1 texts" in shown and "five six" in shown
    (model / "tokenizer.json").unlink()
    with pytest.raises(InputError, match="tokenizer.json: no such file; train the classifier again"):
        stage.main(words)
