"""Intents and slots: corpora, measures, the joint classifier and the writer of utterances (§2.2, §2.3)."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import longtables
import pytest
import torch
import worlds
from hypothesis import given
from hypothesis import strategies as st
from toys import LABELS, PHRASES, pretrain

from compaug.core.files import InputError, write_json
from compaug.core.records import Example
from compaug.generators.joint import lora
from compaug.generators.joint.augmented_language import Unreadable, spans_of
from compaug.models.loading import IGNORED, LanguageModelLoss, load_decoder, load_encoder
from compaug.reports import contents
from compaug.stages import slu_backbone, slu_corpus, slu_texts, train_slu
from compaug.tasks.slu import joint_classifier, parameters, slot_f1, slu_cells, writer
from compaug.tasks.slu import utterances as corpus
from compaug.tasks.slu.utterances import Utterance
from compaug.training import loop

ROOT = Path(__file__).parents[1]
SNIPS = {part: f"Play\tplay {part} now\tO B-song O\nRest\tstop\tO\n" for part in corpus.PARTS}


def utterances() -> list[Utterance]:
    """32: two phrases of the toys, the second of which is a slot; the first says the intent."""
    rows = []
    for a, b in ((a, b) for a in range(4) for b in range(4)):
        for way in (0, 1):
            head, tail = PHRASES[a][way].split(), PHRASES[b][way].split()
            slot = LABELS.names[b]
            tags = ["O"] * len(head) + [f"{'I' if at else 'B'}-{slot}" for at in range(len(tail))]
            rows.append(Utterance(f"u{a}{b}{way}", (*head, *tail), tuple(tags), LABELS.names[a]))
    return rows


NAMES = corpus.inventory(utterances())


# ---------------------------------------------------------------- measures


def test_spans_are_found_by_the_rule_of_conlleval():
    assert slot_f1.chunks(["B-a", "I-a", "O", "B-b", "B-b"]) == {(0, 2, "a"), (3, 4, "b"), (4, 5, "b")}
    assert slot_f1.chunks(["I-a", "I-b", "I-b", "O", "I-a"]) == {(0, 1, "a"), (1, 3, "b"), (4, 5, "a")}
    assert slot_f1.chunks([]) == slot_f1.chunks(["O"]) == set()


def test_what_a_tagger_found_is_written_as_a_corpus_writes_it():
    assert slot_f1.as_bio(["I-a", "I-a", "I-b", "O", "I-b", "B-b"]) == ("B-a", "I-a", "B-b", "O", "B-b", "B-b")


TAGS = st.lists(st.sampled_from(["O", "B-a", "I-a", "B-b", "I-b"]), max_size=9)


@given(TAGS)
def test_tags_with_beginnings_have_the_same_spans_and_can_be_read(tags):
    mended = slot_f1.as_bio(tags)
    assert slot_f1.chunks(mended) == slot_f1.chunks(tags) and slot_f1.as_bio(mended) == mended
    assert set(spans_of(mended)) == slot_f1.chunks(tags)


@given(TAGS)
def test_spans_are_apart_and_those_of_whole_tags_are_read_back(tags):
    spans = sorted(slot_f1.chunks(tags))
    assert all(end <= start for (_, end, _), (start, _, _) in itertools.pairwise(spans))
    assert {at for first, behind, _ in spans for at in range(first, behind)} == {
        at for at, tag in enumerate(tags) if tag != "O"
    }
    try:
        whole = spans_of(tags)
    except InputError:
        return  # an I- that continues nothing
    assert set(spans) == set(whole)


def test_f1_counts_whole_spans_over_all_utterances():
    gold = [["B-a", "I-a", "O"], ["B-b"]]
    assert slot_f1.slot_f1(gold, gold) == 100 and slot_f1.slot_f1([["O"]], [["O"]]) == 100
    assert slot_f1.slot_f1(gold, [["B-a", "O", "O"], ["B-b"]]) == 50  # 1 right, 2 found, 2 real
    assert slot_f1.slot_f1(gold, [["O", "O", "O"], ["B-b"]]) == pytest.approx(200 / 3)
    assert slot_f1.intent_accuracy(["x", "y"], ["x", "x"]) == 50


# ---------------------------------------------------------------- corpora


def written(folder: Path, texts: dict[str, str]) -> dict[str, Path]:
    for name, text in texts.items():
        (folder / f"{name}.tsv").write_text(text)
    return {name: folder / f"{name}.tsv" for name in texts}


def test_snips_is_read_from_one_file_a_part(tmp_path):
    parts = corpus.read_snips(written(tmp_path, SNIPS))
    assert parts["train"][0] == Utterance("train-1", ("play", "train", "now"), ("O", "B-song", "O"), "Play")
    assert [row.id for row in parts["test"]] == ["test-1", "test-2"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("Play\tplay it", "train.tsv:1: 2 fields"),
        ("Play\tplay it\tO", "train.tsv:1: 2 words, 1 tags"),
        ("\tplay\tO", "intent ''"),
        ("Play\t\t", "0 words"),
        ("Play\tplay it\tO I-song", "train.tsv:1: "),
    ],
)
def test_a_wrong_line_of_snips_is_named(tmp_path, line, says):
    with pytest.raises(InputError, match=says) as error:
        corpus.read_snips(written(tmp_path, SNIPS | {"train": line + "\n"}))
    assert "\n" not in str(error.value)


def test_few_has_every_intent_and_a_smaller_share_is_part_of_a_larger_one():
    rows = utterances()
    small, large = (corpus.few(rows, share, seed=1) for share in (0.01, 0.5))
    assert Counter(row.intent for row in small) == dict.fromkeys(LABELS.names, 1)
    assert Counter(row.intent for row in large) == dict.fromkeys(LABELS.names, 4)
    assert set(small) < set(large) and corpus.few(rows, 1, seed=2) == rows
    assert small != corpus.few(rows, 0.01, seed=2)


def test_what_stands_in_a_later_part_is_left_out_of_an_earlier_one():
    rows = utterances()
    parts = {"train": rows, "validation": rows[:3], "test": rows[2:4]}
    kept = corpus.apart(parts)
    assert kept["test"] == rows[2:4] and kept["validation"] == rows[:2] and kept["train"] == rows[4:]


def test_files_are_read_back_and_a_wrong_one_is_named(tmp_path):
    corpus.write(tmp_path, {"train": utterances()}, NAMES)
    path = tmp_path / "train.jsonl"
    assert corpus.read(path, corpus.read_inventory(tmp_path)) == utterances()
    good = json.loads(path.read_text().splitlines()[0])
    for wrong in (
        {"words": []},
        {"tags": ["O"]},
        {"intent": 5},
        {"tags": ["X-joy", *good["tags"][1:]]},
        {"intent": "z"},
    ):
        path.write_text(json.dumps(good | wrong) + "\n")
        with pytest.raises(InputError, match=r"train\.jsonl:.* run the stage again"):
            corpus.read(path, NAMES)
    path.write_text("")
    with pytest.raises(InputError, match="no rows"):
        corpus.read(path, NAMES)


def test_the_real_corpus_has_the_published_counts(mirror):
    source = parameters.load(ROOT / parameters.FILE).corpora["snips"]
    parts = corpus.READERS[source.reader]({part: mirror / f"{file.mirror}.xz" for part, file in source.files.items()})
    assert tuple(len(parts[part]) for part in corpus.PARTS) == (13084, 700, 700)
    names = corpus.inventory(row for part in parts.values() for row in part)
    assert (len(names["intents"]), len(names["slots"])) == (7, 39)
    language = writer.language_of(names)
    for row in parts["test"]:
        assert writer.read(language.write(writer.sentence_of(row, "span")), language, row.id) == row


# ---------------------------------------------------------------- joint classifier


JOINT = parameters.Joint(
    balanced=True, steps=240, batch_size=8, lr=0.01, lr_head=0.01, warmup=0.0, dropout=0.0, max_length=40
)


def test_a_word_is_tagged_at_its_first_sub_word(folders):
    tokenizer, _ = load_encoder(folders["encoder"])
    row = Utterance("a", ("the-sun", "is"), ("B-joy", "O"), "joy")  # three tokens, then one
    (tagged,) = joint_classifier.rows_of([row], tokenizer, NAMES, 40)
    tags = joint_classifier.tags_of(NAMES)
    assert tagged["first"] == {0: 1, 1: 4} and tagged["length"] == 6
    assert tagged["tags"] == [IGNORED, tags.index("B-joy"), IGNORED, IGNORED, tags.index("O"), IGNORED]
    (cut,) = joint_classifier.rows_of([row], tokenizer, NAMES, 4)
    assert cut["first"] == {0: 1}


def test_the_joint_classifier_takes_as_many_steps_whatever_it_learns_from(folders, in_a_temporary_folder, monkeypatch):
    taken = []
    monkeypatch.setattr(loop, "fit", lambda *of, **more: taken.append(of) or [{"train": {"loss": 0.0}}])
    for rows in (utterances(), utterances()[:5]):
        joint_classifier.train(rows, NAMES, JOINT, folders["encoder"], seed=1)
    many, few = (of[4].epochs * -(-len(of[1]) // of[4].batch_size) for of in taken)
    assert many == JOINT.steps == few


def test_the_joint_classifier_learns_32_utterances(folders, in_a_temporary_folder):
    tokenizer, model, _ = joint_classifier.train(utterances(), NAMES, JOINT, folders["encoder"], seed=1)
    intents, tags = joint_classifier.predict(tokenizer, model, utterances(), NAMES, 40)
    assert slot_f1.intent_accuracy([row.intent for row in utterances()], intents) == 100
    assert slot_f1.slot_f1([row.tags for row in utterances()], tags) == 100
    alone = joint_classifier.predict(tokenizer, model, utterances()[3:4], NAMES, 40)
    assert alone == (intents[3:4], tags[3:4])  # a batch changes nothing


@pytest.mark.parametrize(("few", "many", "copies"), [(3, 0, 1), (3, 2, 1), (3, 8, 3), (3, 12, 4), (2, 1, 1)])
def test_real_utterances_are_repeated_until_they_are_as_many_as_the_written_ones(few, many, copies):
    real, synthetic = utterances()[:few], utterances()[few : few + many]
    rows = joint_classifier.balanced(real, synthetic)
    assert rows == real * copies + synthetic and abs(few * copies - many) <= max(few / 2, few - many)


def test_the_stage_balances_or_does_not(desk, folders, monkeypatch):
    taken = []
    train = joint_classifier.train
    monkeypatch.setattr(
        joint_classifier, "train", lambda rows, *more: taken.append(len(rows)) or train(rows[:4], *more)
    )
    corpus.write(Path("few"), {"train": utterances()[:4], "test": utterances()[:3]}, NAMES)
    corpus.write(Path(), {"more": utterances()[4:16]}, NAMES)
    write_json(Path("few/corpus.json"), {"corpus": "toy", "share": 0.5, "seed": 1})
    side_car = {"mode": "span", "validity": 100.0, "fresh": 100.0, "loss": 1.0, "requested": 12, "written": 12}
    write_json(Path("more.json"), side_car | {"copied": 0, "duplicate": 0, "refused": {}})
    words = "--params slu.yaml --seed 1 --corpus few --scale small --synthetic more.jsonl --out both.json"
    for value in ("true", "false"):
        train_slu.main([*words.split(), "--encoder", str(folders["encoder"]), "--set", f"joint.balanced={value}"])
    assert taken == [24, 16]


# ---------------------------------------------------------------- the writer

WRITER = parameters.Writer(
    mode="span", strict=False, masked=0.3, lora=8, epochs=1, batch_size=8, lr=0.01, warmup=0.0,
    max_length=100, each=2, temperature=1.0, top_p=0.9,
)  # fmt: skip


def test_a_sentence_is_an_utterance_and_back():
    language = writer.language_of(NAMES)
    for row in utterances():
        assert writer.read(language.write(writer.sentence_of(row, "span")), language, row.id) == row
    plain = language.write(writer.sentence_of(utterances()[0], writer.FACTORISED))
    assert set(writer.read(plain, language, "x").tags) == {"O"}
    with pytest.raises(Unreadable):
        writer.read("the sun is out", language, "x")


def test_what_is_read_is_not_learned_and_the_sentence_is(folders):
    tokenizer, _ = load_decoder(folders["decoder"])
    sentence = writer.language_of(NAMES).write(writer.sentence_of(utterances()[0], "span"))
    target = [*tokenizer(sentence)["input_ids"], tokenizer.eos_token_id]
    torch.manual_seed(0)
    batch = writer.collate([{"sentence": sentence, "target": target}], tokenizer, WRITER)
    (labels,), (ids,) = batch["labels"].tolist(), batch["input_ids"].tolist()
    head = len(ids) - len(target)
    assert labels == [IGNORED] * head + target and ids[head:] == target
    read = tokenizer.decode(ids[:head])
    assert read.endswith(lora.BEHIND) and read.startswith("(( joy ))") and "_" in read


def test_lora_begins_as_the_decoder_and_merges_into_it(folders):
    _, plain = load_decoder(folders["decoder"])
    tokenizer, loaded = load_decoder(folders["decoder"])
    model = lora.with_lora(loaded, 4)
    ids = torch.tensor([tokenizer("the sun is out")["input_ids"]])
    torch.testing.assert_close(model.eval()(input_ids=ids).logits, plain(ids).logits)
    learns = [name for name, parameter in model.named_parameters() if parameter.requires_grad]
    assert learns and all("lora" in name for name in learns)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.1)
    before = model(input_ids=ids).logits
    assert (before - plain(ids).logits).abs().max() > 0.01
    torch.testing.assert_close(model.merge_and_unload()(ids).logits, before, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ("gpt2", "llama"))
def test_the_loss_of_the_labelled_tokens_is_that_of_all_logits(folders, llama, kind):
    tokenizer, loaded = load_decoder({"gpt2": folders["decoder"], "llama": llama}[kind])
    model = lora.with_lora(loaded, 4).eval()
    sentences = [writer.language_of(NAMES).write(writer.sentence_of(row, "span")) for row in utterances()[:5]]
    rows = [{"sentence": s, "target": [*tokenizer(s)["input_ids"], tokenizer.eos_token_id]} for s in sentences]
    batch = writer.collate(rows, tokenizer, WRITER)
    gradients_by = []
    for loss in (lora.TargetLoss(model), LanguageModelLoss(model)):
        value = loss(**batch)["loss"]
        value.backward()
        gradients = [p.grad.clone() for p in model.parameters() if p.requires_grad]
        model.zero_grad()
        gradients_by.append([value, *gradients])
    torch.testing.assert_close(gradients_by[0], gradients_by[1])


@pytest.mark.slow
def test_the_writer_learns_to_write_what_can_be_read(folders, in_a_temporary_folder):
    """From a decoder that has seen the marks: LoRA cannot teach it tokens."""
    settings = WRITER.model_copy(
        update={"epochs": 200, "lr": 0.01, "lora": 16, "each": 4, "mode": "words", "temperature": 0.3}
    )
    rows, language = utterances(), writer.language_of(NAMES)
    tokenizer, model = load_decoder(folders["decoder"])
    sentences = [language.write(writer.sentence_of(row, "words")) for row in rows]
    pretrain(
        model.train(), tokenizer, [Example(row.id, text, ()) for row, text in zip(rows, sentences, strict=True)], False
    )
    model.save_pretrained("decoder")
    tokenizer.save_pretrained("decoder")
    tokenizer, model, _ = writer.train(rows, NAMES, settings, Path("decoder"), seed=1)
    drafts, refused = writer.write(tokenizer, model, rows, NAMES, settings, seed=1)
    assert len(drafts) + sum(map(len, refused.values())) == 4 * len(LABELS) and len(drafts) >= 12
    assert (drafts, refused) == writer.write(tokenizer, model, rows, NAMES, settings, seed=1)


# ---------------------------------------------------------------- stages


@pytest.fixture
def desk(tmp_path, in_a_temporary_folder, monkeypatch) -> Path:
    """A mirror with a toy corpus, and its configuration."""
    text = "".join(f"{row.intent}\t{' '.join(row.words)}\t{' '.join(row.tags)}\n" for row in utterances())
    other = "joy\twe laughed all night\tO O O O\nfear\tmy hands\tO O\n"
    for part, content in (
        ("train", text),
        ("validation", f"{other}joy\tgood news\tO O\n"),
        ("test", text.splitlines(keepends=True)[0] + other),
    ):
        (tmp_path / f"{part}.tsv").write_text(content)
    file = lambda part: {"url": None, "sha256": None, "mirror": f"{part}.tsv"}
    study = {"corpus": "toy", "scale": "pretrained", "shares": [0.5, 1.0], "seeds": [1, 2]}
    values = {
        "experiment": study | {"modes": ["none", "span", "factorised"]},
        "corpora": {"toy": {"reader": "snips", "files": {part: file(part) for part in corpus.PARTS}}},
        "joint": JOINT.model_dump() | {"steps": 4},
        "writer": WRITER.model_dump() | {"epochs": 2, "batch_size": 8},
    }
    (tmp_path / "slu.yaml").write_text(json.dumps(values))
    monkeypatch.setenv("COMPAUG_MIRROR", str(tmp_path))
    return tmp_path


def test_the_stages_run_from_files_to_measures(desk, folders):
    config = ["--params", "slu.yaml", "--seed", "1"]
    slu_corpus.main([*config, "--corpus", "toy", "--share", "0.5", "--out", "few"])
    rows = corpus.read(Path("few/train.jsonl"), NAMES)
    assert len(rows) == 16 and utterances()[0].words not in {row.words for row in rows}  # it stands in the test set
    trained = [*config, "--corpus", "few", "--scale", "small", "--encoder", str(folders["encoder"])]
    train_slu.main([*trained, "--out", "real.json"])
    slu_texts.main([*config, "--corpus", "few", "--decoder", str(folders["decoder"]), "--out", "made.jsonl"])
    facts = json.loads(Path("made.json").read_text())
    assert (
        facts["requested"]
        == 8
        == facts["written"] + facts["copied"] + facts["duplicate"] + sum(facts["refused"].values())
    )
    writes = ["--corpus", "few", "--decoder", str(folders["decoder"]), "--set", "writer.strict=true"]
    slu_texts.main([*config, *writes, "--out", "strict.jsonl"])
    strict = json.loads(Path("strict.json").read_text())
    assert set(strict["refused"]) <= {"unbalanced brackets"}  # cut within a span
    utterances_read = corpus.read(Path("made.jsonl"), NAMES, may_be_empty=True)
    assert len(utterances_read) == facts["written"]
    corpus.write(Path(), {"more": utterances()[:2]}, NAMES)
    Path("made.json").rename("more.json")
    train_slu.main([*trained, "--synthetic", "more.jsonl", "--out", "both.json"])
    with pytest.raises(InputError, match=r"--out more.json: is the side-car of --synthetic"):
        train_slu.main([*trained, "--synthetic", "more.jsonl", "--out", "more.json"])
    real, both = (json.loads(Path(name).read_text()) for name in ("real.json", "both.json"))
    assert (real["n_train"], real["n_synthetic"], real["n_test"]) == (16, 0, 3) and both["n_synthetic"] == 2
    assert [real[name] for name in ("corpus", "scale", "share", "seed", "mode")] == ["toy", "small", 0.5, 1, "none"]
    train_slu.main([*trained, "--on", "validation", "--out", "trial.json"])
    trial = json.loads(Path("trial.json").read_text())
    assert (trial["on"], trial["n_test"], real["on"]) == ("validation", 1, "test")
    assert both["mode"] == facts["mode"] and both["validity"] == facts["validity"] and both["fresh"] == facts["fresh"]
    assert set(facts["for_instance"]) == set(facts["refused"])
    assert all(0 <= real[name] <= 100 for name in ("slot_f1", "intent_acc", "whole"))


def test_copies_of_real_utterances_and_of_each_other_are_left_out_and_counted():
    real = utterances()
    new = replace(real[0], id="n", words=("say", *real[0].words), tags=("O", *real[0].tags))
    again = replace(new, id="again", intent=real[-1].intent)  # the words count
    assert slu_texts.fresh([real[3], new, again, real[5]], real) == ([new], {"copied": 2, "duplicate": 1})
    assert slu_texts.fresh([], real) == ([], {"copied": 0, "duplicate": 0})


def test_factorised_texts_are_tagged_by_the_classifier(desk, folders, monkeypatch):
    config = ["--params", "slu.yaml", "--seed", "1"]
    slu_corpus.main([*config, "--corpus", "toy", "--out", "all"])
    plain = [replace(row, words=(*row.words, "now"), tags=("O",) * (len(row.words) + 1)) for row in utterances()[:3]]
    monkeypatch.setattr(writer, "write", lambda *of: (plain, {}))
    words = [
        *config,
        "--corpus",
        "all",
        "--decoder",
        str(folders["decoder"]),
        "--set",
        "writer.mode=factorised",
        "--out",
        "f.jsonl",
    ]
    with pytest.raises(InputError, match="--encoder"):
        slu_texts.main(words)
    tagged = [["I-joy", *["B-joy"] * len(row.words)][: len(row.words)] for row in plain]  # what no corpus has
    monkeypatch.setattr(joint_classifier, "predict", lambda tokenizer, model, rows, *of: (["joy"] * len(rows), tagged))
    slu_texts.main([*words, "--encoder", str(folders["encoder"])])
    tagged_rows = corpus.read(Path("f.jsonl"), NAMES)
    assert [list(row.tags) for row in tagged_rows] == [["B-joy"] * len(row.words) for row in plain] and [
        row.intent for row in tagged_rows
    ] == [row.intent for row in plain]


def test_what_cannot_be_is_refused_in_one_line(desk, capsys):
    words = ["--params", "slu.yaml", "--seed", "1", "--out", "x"]
    with pytest.raises(InputError, match="there is no corpus 'other'; choose from toy"):
        slu_corpus.main([*words, "--corpus", "other"])
    with pytest.raises(SystemExit):
        slu_corpus.main([*words, "--corpus", "toy", "--share", "0"])
    assert "argument --share: '0' is not a number above 0" in capsys.readouterr().err


# ---------------------------------------------------------------- the experiment


def test_the_grid_trains_on_few_utterances_with_and_without_what_was_written(desk):
    planned = slu_cells.plan(Path("slu.yaml"))
    assert {kind: len(entries) for kind, entries in planned.items()} == {
        "slu_corpus": 4, "slu_backbone": 2, "slu_texts": 8, "train_slu": 12,
    }  # fmt: skip
    alone, span = (planned["train_slu"][f"toy-pretrained-{mode}-0.5-1"] for mode in ("none", "span"))
    assert alone["more"] == "" and alone["texts"] == "data/slu/toy-0.5-1"  # a dependency that it has anyway
    assert span["more"] == "--synthetic data/slu/texts/toy-pretrained-span-0.5-1.jsonl"
    tagged, plain = (planned["slu_texts"][f"toy-pretrained-{mode}-1-2"] for mode in ("factorised", "span"))
    assert tagged["more"] == "--encoder models/slu/pretrained-encoder" and plain["more"] == ""


def test_a_tiny_backbone_is_none_for_few_utterances(tmp_path):
    with pytest.raises(InputError, match="tiny.backbones.encoder: kind tiny would have to learn from a few dozen"):
        slu_backbone.main(
            [
                "--params",
                str(ROOT / "params.yaml"),
                "--scale",
                "tiny",
                "--role",
                "encoder",
                "--out",
                str(tmp_path / "m"),
            ]
        )
    assert not (tmp_path / "m").exists()


def test_the_tables_compare_with_few_utterances_alone_and_show_what_could_be_read(tmp_path):
    folder = longtables.reports(tmp_path / "reports", longtables.paper_rows())
    numbers = {"none": (40.0, 50.0, 60.0), "span": (44.0, 53.0, 65.0)}
    for mode, values in numbers.items():
        for seed, value in enumerate(values):
            facts = {"corpus": "snips", "scale": "pretrained", "mode": mode, "share": 0.0025, "seed": seed, "loss": 0.1}
            facts["on"] = "test"
            facts |= {
                "slot_f1": value,
                "intent_acc": 80.0,
                "whole": 10.0,
                "n_train": 34,
                "n_test": 700,
                "n_synthetic": 0,
            }
            facts |= {"validity": 90.0 + seed, "fresh": 60.0, "n_synthetic": 450} if mode == "span" else {}
            worlds.write_measure(folder, "slu", f"{mode}-{seed}", facts)
            worlds.write_measure(folder, "slu", f"trial-{mode}-{seed}", facts | {"on": "validation", "slot_f1": 99.0})
    f1, intents, written = contents.tables("slu", longtables.load(folder))
    rows = {row[0]: dict(zip(f1.header, row, strict=True)) for row in f1.rows}
    assert list(rows) == ["none", "span"] and rows["span"]["0.25 %"].ours == 54.0
    assert (rows["span"]["0.25 %"].paper, rows["none"]["0.25 %"].paper) == (61.24, 45.96)
    assert rows["span"]["over none, 0.25 %"].ours == pytest.approx(4.0) and "34 real utterances" in f1.note
    assert intents.rows[0][1].paper == 87.11
    (row,) = written.rows
    assert [row[0], row[1].ours, row[2].ours, row[3].ours] == ["span", 91.0, 60.0, 450] and "minilm" in f1.note.lower()
