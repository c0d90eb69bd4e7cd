"""What a known grammar allows: exact ceilings, fidelity of texts; and the stages that need texts for it, once."""

from __future__ import annotations

import gzip
from pathlib import Path
from types import SimpleNamespace

import pytest

from compaug.core.files import InputError, read_json, write_json
from compaug.core.records import Example, Labels, write_jsonl
from compaug.data.readers import diagnostic
from compaug.evaluation import gold as golds
from compaug.evaluation.text_quality import grammar
from compaug.stages import measure_quality as quality_stage
from compaug.stages import write_gold as gold_stage

ROOT = Path(__file__).parents[1]
LABELS = Labels(("anger", "joy", "love"), ("anger", "joy", "love"))
# A grammar in which a word means its label and "racing" is ambiguous.
READINGS = {"happy": [{1}], "dear": [{2}], "cross": [{0}], "racing": [{0}, {1}]}


def _oracle(text):
    readings = [set()]
    for word in text.split():
        readings = [reading | meaning for reading in readings for meaning in READINGS.get(word, [set()])]
    return {tuple(sorted(reading)) for reading in readings}


def _bayes(texts, prior):
    return [max(sorted(_oracle(text)), key=lambda composition: prior.get(composition, 0)) for text in texts]


KNOWN = SimpleNamespace(
    oracle=_oracle,
    fidelity=lambda text, requested: tuple(requested) in _oracle(text),
    bayes_predictions=_bayes,
)


def example(number, text, labels):
    return Example(id=str(number), text=text, labels=labels)


def parts(**changes) -> dict[str, list[Example]]:
    train = [example(1, "racing", (0,)), example(2, "racing", (0,)), example(3, "happy", (1,))]
    test = [example(4, "racing dear", (1, 2)), example(5, "happy dear", (1, 2))]
    return {"train": train, "support": [], "test": test, "iid_train": train, "iid_test": train} | changes


def test_ceilings_show_that_an_ambiguous_text_is_read_by_the_prior():
    ceilings = grammar.bayes(KNOWN, parts(), LABELS, "one")
    assert ceilings["iid"]["training_prior"]["acc"] == 100  # racing is anger in this prior, and happy is joy
    assert ceilings["unseen"]["training_prior"]["acc"] == 50  # the prior has seen neither reading: the first wins
    assert ceilings["unseen"]["target_prior"] == {
        "acc": 100,
        "jacc": 100,
        "corr": 100,
        "corr_set": 100,
        "comp": 100,
        "n": 2,
    }
    assert set(ceilings) == {"iid", "unseen"} and "harmonic" not in ceilings["unseen"]["training_prior"]


def test_the_mixed_prior_takes_the_weight_that_does_best_on_the_test_sets():
    """It answers with the most probable composition; at weight 0.5 alone it reads the text."""
    priors = []

    def answers(texts, prior):
        priors.append(prior)
        reads = prior.get((0, 1)) == 0.5
        return [((0, 1) if "u text" in text else (0,)) if reads else max(prior, key=prior.get) for text in texts]

    iid = [example(i, "t", y) for i, y in enumerate([(0,), (0,), (0,), (1,)])]
    seen, unseen = [example(5, "k text", (0,))] * 2, [example(7, "u text", (0, 1))] * 2
    whole = {"train": iid, "support": [], "test": unseen, "seen_test": seen, "iid_train": iid, "iid_test": iid}
    ceilings = grammar.bayes(SimpleNamespace(bayes_predictions=answers), whole, LABELS, "one")
    accuracies = {
        prior: [ceilings[split][prior]["acc"] for split in ("seen", "unseen")] + [ceilings["unseen"][prior]["harmonic"]]
        for prior in ("training_prior", "mixed_prior")
    }
    assert accuracies == {"training_prior": [100, 0, 0], "mixed_prior": [100, 100, 100]}
    assert {(0,): 0.375, (1,): 0.125, (0, 1): 0.5} in priors


def test_fidelity_and_samples_report_what_the_oracle_reads():
    selected = [example(1, "happy dear", (1, 2)), example(2, "happy", (1, 2)), example(3, "racing | dear", (0, 2))]
    assert grammar.fidelity(KNOWN, selected) == 66.6667
    assert grammar.fidelity(KNOWN, []) is None
    samples = grammar.judged_samples(KNOWN, selected, LABELS)
    assert [sample["faithful"] for sample in samples] == [True, False, True]
    assert samples[1] == {"text": "happy", "requested": "joy+love", "faithful": False, "readings": ["joy"]}
    assert grammar.judged_samples(KNOWN, [], LABELS) == []
    assert len(grammar.judged_samples(KNOWN, selected * 10, LABELS)) == 10


# ---------------------------------------------------------------- the stages


@pytest.fixture
def split(tmp_path, own_costs):
    """A split of texts that the project's own grammar made, of 40 rows a part."""
    examples, labels = diagnostic.read({"size": 400}, seed=3)
    labels.write(tmp_path / "split" / "labels.json")
    for at, part in enumerate(golds.PARTS):
        if part != "seen_test":
            write_jsonl(tmp_path / "split" / f"{part}.jsonl", examples[40 * at : 40 * at + 40])
    return tmp_path, labels, examples


def run_gold(folder: Path, benchmark: str) -> golds.Gold:
    out = folder / "gold" / f"{benchmark}.jsonl.gz"
    words = ["--benchmark", benchmark, "--split", str(folder / "split"), "--out", str(out)]
    gold_stage.main([*words, "--params", str(ROOT / "params.yaml")])
    return golds.read(out)


def test_the_gold_stage_writes_label_sets_counts_and_ceilings_and_no_text(split):
    folder, labels, examples = split
    gold_sets = run_gold(folder, "diagnostic")
    assert gold_sets.labels.names == labels.names and set(gold_sets.parts) == set(golds.PARTS) - {"seen_test"}
    assert list(gold_sets.parts["test"].values()) == [e.labels for e in examples[80:120]]
    counts = gold_sets.facts["counts"]
    assert (counts["n_train"], counts["n_test"], counts["n_support"], counts["n_labels"]) == (40, 40, 40, len(labels))
    words = [len(e.text.split()) for e in examples[:120]]
    assert counts["avg_words"] == pytest.approx(sum(words) / 120, abs=1e-4)
    assert gold_sets.facts["bayes"]["unseen"]["target_prior"]["acc"] > 50
    content = gzip.decompress((folder / "gold" / "diagnostic.jsonl.gz").read_bytes()).decode()
    assert not any(e.text in content for e in examples)
    assert "bayes" not in run_gold(folder, "semeval").facts  # nobody knows the grammar of tweets


@pytest.mark.parametrize("part", ["train", "test", "iid_train", "iid_test"])
def test_a_part_without_rows_has_no_gold(split, part):
    (split[0] / "split" / f"{part}.jsonl").write_text("")
    with pytest.raises(InputError, match=rf"{part}\.jsonl: no rows; run the stage that makes it"):
        run_gold(split[0], "diagnostic")


def test_the_gold_file_has_its_place_and_suffix(split):
    with pytest.raises(InputError, match="must end in .jsonl.gz"):
        gold_stage.main(["--benchmark", "own", "--split", "s", "--out", "x.gz", "--params", str(ROOT / "params.yaml")])


def run_quality(folder: Path, benchmark: str) -> dict:
    files = {"synthetic": "raw.jsonl", "selected": "kept.jsonl", "compositions": "drawn.json", "split": "split"}
    files |= {"decoder": "decoder", "out": "q.json"}
    words = [word for name, file in files.items() for word in (f"--{name}", str(folder / file))]
    quality_stage.main([*words, "--benchmark", benchmark, "--params", str(ROOT / "params.yaml")])
    return read_json(folder / "q.json")


def test_quality_tells_all_texts_from_the_kept_ones(split, monkeypatch):
    folder, _, examples = split
    monkeypatch.setattr("compaug.evaluation.text_quality.quality.perplexity", lambda prompts, texts, decoder: 12.345678)
    wrong = [Example(f"w{i}", e.text, e.labels, "ld_vae", (0, 1, 2, 3)) for i, e in enumerate(examples[:6])]
    right = [
        Example(f"r{i}", e.text, e.labels, "ld_vae", e.labels, filter_jacc=1.0) for i, e in enumerate(examples[6:9])
    ]
    write_jsonl(folder / "raw.jsonl", [*wrong, *right])
    write_jsonl(folder / "kept.jsonl", right)
    side_car = {
        "requested": 12,
        "produced": 9,
        "kept": 3,
        "dropped": {"blank": 3},
        "per_composition": {},
        "made_of": "x",
    }
    write_json(folder / "kept.json", side_car)
    write_json(
        folder / "drawn.json", {"requested": 12, "rejected": {"empty": 1}, "rejection_rate": 0.1, "made_of": "x"}
    )
    measures = run_quality(folder, "diagnostic")
    assert measures["fidelity"] == {"raw": 33.3333, "kept": 100.0, "n_raw": 9, "n_kept": 3}
    assert measures["selection"] == {name: value for name, value in side_car.items() if name != "made_of"}
    assert measures["label_generator"] == {"requested": 12, "rejected": {"empty": 1}, "rejection_rate": 0.1}
    assert (measures["perplexity"], measures["n"], len(measures["samples"])) == (12.3457, 3, 3)
    assert measures["samples"][0]["text"] == examples[6].text
    of_tweets = run_quality(folder, "semeval")
    assert not {"samples", "fidelity"} & set(of_tweets) and examples[6].text not in str(of_tweets)
