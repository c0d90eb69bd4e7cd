"""The second task, parsing: readers, vocabulary, the Transformer, its data maps and subsets, what the experiment runs,
real corpora."""

from __future__ import annotations

import lzma
import math
import os
import re
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import yaml
from graph import ROOT

from compaug.cartography import dynamics
from compaug.cartography import maps as cartography
from compaug.cartography.maps import DataMap, write_map
from compaug.core.files import InputError, file_digest, read_json, write_rows
from compaug.experiments.params import Edited
from compaug.generators.shared.teacher_forcing import VALUES
from compaug.stages import map_parser, parsing_corpus, train_parser
from compaug.tasks.parsing import corpora, learning, parameters, parser_cells
from compaug.tasks.parsing.corpora import Pair
from compaug.tasks.parsing.model import Parser, positions
from compaug.tasks.parsing.vocabulary import BEGIN, END, PAD, UNKNOWN, Vocabulary
from compaug.training import checkpoint

CONFIG = ROOT / "configs" / "parsing.yaml"
SIZE = parameters.Size(
    sample=1.0,
    width=32,
    inner=64,
    heads=2,
    layers=1,
    dropout=0.0,
    steps=160,
    batch_size=8,
    lr=0.01,
    warmup=0.1,
    schedule="decay",
    map_epochs=2,
    min_epoch=0,
    convergence_epoch=None,
    bleu=1.0,
)
NOUNS, VERBS = ("dog", "cat", "girl", "boy"), ("saw", "liked")


def toys() -> list[Pair]:
    """32 sentences with their logical forms."""
    triples = [(subject, verb, other) for subject in NOUNS for verb in VERBS for other in NOUNS]
    return [
        Pair(
            f"train-{at}",
            f"The {subject} {verb} a {other} .",
            f"{verb} ( {subject} , {other} )" + " AND x" * (NOUNS.index(other) % 3),
            "toy",
        )
        for at, (subject, verb, other) in enumerate(triples)
    ]


def map_folder(folder: Path, confidence, variability=None, name="inverse_perplexity") -> Path:
    ids, zeros = [pair.id for pair in toys()], np.zeros(32)
    folder.mkdir(exist_ok=True)
    write_map(
        folder / f"{name}.csv", DataMap(ids, np.array(confidence), zeros if variability is None else variability, zeros)
    )
    return folder


def choice(**values) -> parameters.Choice:
    return parameters.Choice(**{"region": "all", "ratio": 0.5, "keep": 1, "measure": "inverse_perplexity"} | values)


def untrained(seed: int = 0, **values) -> tuple[Parser, Vocabulary, list[dict]]:
    torch.manual_seed(seed)
    vocabulary = Vocabulary.of(toys())
    model = Parser(SIZE.model_copy(update=values), len(vocabulary)).eval()
    return model, vocabulary, learning.rows_of(toys(), vocabulary)


# ---------------------------------------------------------------- corpora


def test_cogs_is_three_columns_plain_or_compressed(tmp_path):
    text = "A dog ran .\tdog ( x _ 1 ) AND run . agent ( x _ 2 , x _ 1 )\tin_distribution\n"
    (tmp_path / "test.tsv").write_text(text)
    (tmp_path / "train.tsv.xz").write_bytes(lzma.compress(2 * text.encode()))
    parts = corpora.cogs({"train": tmp_path / "train.tsv.xz", "test": tmp_path / "test.tsv"})
    assert [pair.id for pair in parts["train"]] == ["train-1", "train-2"]
    assert parts["test"] == [Pair("test-1", *text.rstrip("\n").split("\t"))]


@pytest.mark.parametrize(
    "content, fault",
    [
        (b"a b\tc\tx\na b\tc\n", ":2: not sentence, logical form, category"),
        (b"a b\t \tx\n", ":1: not sentence, logical form, category"),
        (b"a\tb\tactive_to_passive\n\xff\tb\tc\n", ":2: not UTF-8 (byte 0xff); "),
    ],
)
def test_a_line_that_is_no_row_of_cogs_is_named(tmp_path, content, fault):
    path = tmp_path / "gen.tsv"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        corpora.cogs({"gen": path})
    assert f"{path}{fault}" in str(error.value) and "\n" not in str(error.value)
    assert re.search("fetch (it|the file) again$|convert the file to UTF-8$", str(error.value))


def test_cfq_is_two_files_a_part_line_by_line(tmp_path):
    paths = {f"test_{end}": tmp_path / f"test_{end}.txt" for end in ("encode", "decode")}
    paths["test_encode"].write_text("Did M0 run\nWho ran\n")
    paths["test_decode"].write_text("SELECT count ( * )\nSELECT DISTINCT ?x0\n")
    assert corpora.cfq(paths)["test"][1] == Pair("test-2", "Who ran", "SELECT DISTINCT ?x0")
    paths["test_decode"].write_text("SELECT count ( * )\n")
    with pytest.raises(InputError, match=r"test_decode.txt: 1 lines, but .*test_encode.txt has 2"):
        corpora.cfq(paths)


def test_what_is_tested_is_not_what_was_learned_from(tmp_path):
    corpora.write(tmp_path, {"train": toys(), "test": [Pair("test-1", "A dog .", "dog")]})
    assert corpora.read(tmp_path / "train.jsonl") == toys() and corpora.parts_in(tmp_path) == ["test"]
    with pytest.raises(InputError, match="test-7 is a sentence of the training set too"):
        corpora.write(tmp_path, {"train": toys(), "test": [Pair("test-7", toys()[3].source, "dog")]})


@pytest.mark.parametrize(
    "rows, fault",
    [
        ([{"id": "a"}], ":1: source: Field required"),
        ([asdict(toys()[0]) | {"target": 3}], ":1: target: "),
        ([], ": no rows"),
    ],
)
def test_a_file_that_the_corpus_stage_did_not_write_is_refused(tmp_path, rows, fault):
    write_rows(tmp_path / "train.jsonl", rows)
    with pytest.raises(InputError) as error:
        corpora.read(tmp_path / "train.jsonl")
    assert f"train.jsonl{fault}" in str(error.value) and "run the stage again" in str(error.value)


def test_a_vocabulary_gives_words_back_and_knows_no_mark_as_a_word():
    vocabulary = Vocabulary.of([Pair("a", "<pad> runs", "run ( <pad> )")])
    numbers = vocabulary.encode("run ( <pad> ) now")
    assert PAD not in numbers and numbers[-1] == UNKNOWN
    assert vocabulary.decode(numbers) == "run ( <pad> ) <unknown>" and len(vocabulary) == 4 + 5


# ---------------------------------------------------------------- the model


def test_positions_are_the_papers_sines_and_cosines():
    encodings = positions(3, 2, 6)
    assert encodings.shape == (2, 6) and torch.equal(encodings, positions(0, 5, 6)[3:])
    assert encodings[0, 2].item() == pytest.approx(math.sin(3 / 10_000 ** (2 / 6)))
    assert encodings[1, 5].item() == pytest.approx(math.cos(4 / 10_000 ** (4 / 6)))


def test_padding_changes_no_logit():
    model, _, rows = untrained()
    unequal = [rows[0], rows[2]]  # of different length
    alone = [model.logits(*(learning.collate([row])[name] for name in ("source", "written"))) for row in unequal]
    batch = learning.collate([unequal[0] | {"source": unequal[0]["source"][:3]}, *unequal])
    together = model.logits(batch["source"], batch["written"])
    assert torch.allclose(together[len(unequal[0]["input_ids"]) - 1 :], torch.cat(alone), atol=1e-5)


def test_decoding_with_a_cache_gives_what_full_passes_give():
    model, _, rows = untrained(layers=2)
    batch = learning.collate(rows)
    limits = [12 - number % 9 for number in range(len(rows))]  # rows leave the batch one after the other
    greedy = model.greedy(batch["source"], limits)
    assert len({tuple(row) for row in greedy}) > 1  # the sentence is read
    for source, row, limit in zip(batch["source"][:, None], greedy, limits, strict=True):
        written = torch.tensor([[BEGIN]])
        while written.shape[1] <= limit:
            best = model.output(model.states(source, written)[:, -1]).argmax(-1, keepdim=True)
            if best.item() == END:
                break
            written = torch.cat([written, best], dim=1)
        assert row == written[0, 1:].tolist()


def test_no_word_is_read_before_it_is_written():
    model, _, rows = untrained()
    batch = learning.collate(rows[:1])
    before = model.states(batch["source"], batch["written"])
    batch["written"][0, 4] = END
    after = model.states(batch["source"], batch["written"])
    assert torch.equal(before[:, :4], after[:, :4]) and not torch.allclose(before[:, 4:], after[:, 4:])


def test_the_papers_sizes_have_the_papers_parameters():
    """9.3 million on COGS; on CFQ 685 thousand where the output shares the embedding, which it does not here."""
    parsing = parameters.load(CONFIG)
    counts = [
        sum(parameter.numel() for parameter in Parser(parsing.size("paper", corpus), 4 + words).parameters())
        for corpus, words in (("cogs", 831), ("cfq", 181))
    ]
    assert counts[0] == pytest.approx(9.3e6, rel=0.005) and counts[1] - 128 * 185 == pytest.approx(685e3, rel=0.005)


# ---------------------------------------------------------------- training


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A parser that has seen 32 pairs again and again, and its folder of dynamics."""
    folder = tmp_path_factory.mktemp("trained")
    before = Path.cwd()
    os.chdir(folder)
    try:
        vocabulary = Vocabulary.of(toys())
        model, history = learning.train(toys(), vocabulary, SIZE, Path("out"), 1, mapped=Path("maps"))
    finally:
        os.chdir(before)
    return SimpleNamespace(model=model, history=history, vocabulary=vocabulary, folder=folder / "maps")


def test_it_learns_32_pairs_by_heart(trained):
    rows = learning.rows_of(toys(), trained.vocabulary)
    assert len(trained.history) == 40  # 160 steps, four an epoch
    assert learning.exact(trained.model, rows, 8).all()
    decoded = [trained.vocabulary.decode(row) for row in learning.decode(trained.model, rows)]
    assert decoded == [pair.target for pair in toys()]


def test_exact_match_needs_no_decoding():
    """After a few steps some rows are right and most are not; both ways to tell agree on each."""
    model, vocabulary, rows = untrained()
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(25):
        model(**learning.collate(rows))["loss"].backward()
        optimizer.step()
        optimizer.zero_grad()
    right = learning.exact(model, rows, 8)
    decoded = [vocabulary.decode(row) for row in learning.decode(model, rows)]
    assert right.tolist() == [text == pair.target for text, pair in zip(decoded, toys(), strict=True)]
    assert 0 < right.sum() < 32


def test_a_word_that_training_did_not_have_is_never_right(trained):
    pair = toys()[0]
    rows = learning.rows_of([pair, Pair("a", pair.source, pair.target + " elephant")], trained.vocabulary)
    trained.model.output.bias.data[UNKNOWN] += 100  # it would write nothing else
    try:
        assert rows[1]["input_ids"][-2] == UNKNOWN and not learning.exact(trained.model, rows, 2).any()
    finally:
        trained.model.output.bias.data[UNKNOWN] -= 100
    assert learning.exact(trained.model, rows, 2).tolist() == [True, False]


def test_scores_are_percent_by_category():
    pairs = [Pair(str(at), "a", "b", category) for at, category in enumerate(("one", "two", "two", "two"))]
    shares = learning.scores(pairs, np.array([True, True, False, False]))
    assert shares == {"rows": 4, "exact": 50.0, "categories": {"one": 100.0, "two": 33.3333}}


def test_an_interrupted_training_ends_with_the_same_numbers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    vocabulary, size = Vocabulary.of(toys()), SIZE.model_copy(update={"steps": 16, "dropout": 0.1})
    whole, _ = learning.train(toys(), vocabulary, size, Path("a"), 3, mapped=Path("whole"))
    save = checkpoint.Checkpoint.save

    def killed(self, history, *rest):
        save(self, history, *rest)
        if len(history) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(checkpoint.Checkpoint, "save", killed)
        learning.train(toys(), vocabulary, size, Path("a"), 3, mapped=Path("again"))
    again, _ = learning.train(toys(), vocabulary, size, Path("a"), 3, mapped=Path("again"))
    assert all(
        torch.equal(parameter, other) for parameter, other in zip(whole.parameters(), again.parameters(), strict=True)
    )
    assert file_digest(Path("whole")) == file_digest(Path("again"))


# ---------------------------------------------------------------- maps, subsets, curricula


def test_dynamics_are_the_measures_of_the_rows_own_words():
    """By hand, from one full pass over one row, through the functions of cartography."""
    model, vocabulary, rows = untrained()
    values = learning.dynamics(model, rows, vocabulary, SIZE, 1)
    batch = learning.collate(rows[5:6])
    states = model.states(batch["source"], batch["written"][:, :-1])[0]
    log_p = model.output(states).log_softmax(-1)[range(len(states)), rows[5]["input_ids"][1:]].detach().double()
    text = vocabulary.decode(model.greedy(batch["source"], [2 * rows[5]["length"]])[0])
    expected = [log_p.exp().mean().item(), log_p.mean().exp().item(), cartography.bleu(text, toys()[5].target)]
    assert values[5, :3].tolist() == pytest.approx(expected, abs=1e-5) and values[5, 3] == 0


def test_a_row_that_is_right_is_not_decoded(trained, monkeypatch):
    """Because its BLEU is known: decoding says the same."""
    rows = learning.rows_of(toys(), trained.vocabulary)
    rows[3] |= {"input_ids": rows[4]["input_ids"], "length": rows[4]["length"]}  # the logical form of another sentence
    decode, decoded = learning.decode, []
    monkeypatch.setattr(learning, "decode", lambda model, batch: decoded.extend(batch) or decode(model, batch))
    values = learning.dynamics(trained.model, rows, trained.vocabulary, SIZE, 1)
    right = values[:, VALUES.index("right")] == 1
    assert 0 < len(decoded) == np.sum(~right) < len(rows) and not right[3]
    words = [trained.vocabulary.decode(ids) for ids in decode(trained.model, rows)]
    references = [trained.vocabulary.decode(row["input_ids"][1:-1]) for row in rows]
    expected = [cartography.bleu(text, gold) for text, gold in zip(words, references, strict=True)]
    assert values[:, VALUES.index("bleu")].tolist() == pytest.approx(expected, abs=1e-6)
    assert decode(trained.model, []) == []  # what is decoded where every row is right


def test_a_training_leaves_a_map_that_cartography_reads(trained):
    values, ids = dynamics.read(trained.folder)
    assert ids == [pair.id for pair in toys()] and values.shape == (40, 32, 4)
    maps = cartography.generator_maps(values, ids, slice(30, 40))
    assert set(maps) == set(cartography.GENERATED)
    confidence = values[30:, :, 1].astype(float)
    assert maps["inverse_perplexity"].confidence == pytest.approx(confidence.mean(0))
    assert maps["inverse_perplexity"].variability == pytest.approx(confidence.std(0))
    assert maps["bleu"].confidence[-1] == pytest.approx(1, abs=1e-6)  # by heart


def test_the_hard_rows_are_the_least_confident_ones_and_lose_no_word(tmp_path):
    """The eight hardest know two of the four nouns: one row comes with the others, and the last of the eight goes."""
    few = [at for at, pair in enumerate(toys()) if not {"girl", "boy"} & set(pair.source.split())]
    confidence = np.linspace(0.5, 0.9, 32)
    confidence[few] = np.linspace(0.1, 0.2, len(few))
    folder = map_folder(tmp_path / "map", confidence)
    kept, facts = learning.chosen(toys(), choice(region="hard", ratio=0.25), folder, 1)
    assert {word for pair in kept for word in pair.words} == {word for pair in toys() for word in pair.words}
    assert facts["added"] == facts["removed"] > 0 and len(kept) == len(few) == 8
    stay = few[: 8 - facts["removed"]]
    assert [pair.id for pair in kept if int(pair.id[6:]) in few] == [f"train-{at}" for at in stay]
    easy, _ = learning.chosen(toys(), choice(region="easy"), folder, 1)
    assert not {pair.id for pair in easy} & {pair.id for pair in kept[:4]}


def test_a_measure_of_its_own_ranks_otherwise(tmp_path):
    folder = map_folder(tmp_path / "map", np.linspace(0.1, 0.9, 32))
    map_folder(folder, np.linspace(0.9, 0.1, 32), name="bleu")
    by = {
        name: learning.chosen(toys(), choice(region="hard", measure=name), folder, 1)[0]
        for name in ("inverse_perplexity", "bleu")
    }
    assert by["bleu"] == learning.chosen(toys(), choice(region="easy", measure="inverse_perplexity"), folder, 1)[0]
    assert by["bleu"] != by["inverse_perplexity"]


def test_random_rows_need_no_map_and_come_from_the_seed():
    first, other = (learning.chosen(toys(), choice(region="random"), None, seed)[0] for seed in (1, 2))
    assert len(first) >= 16 and first != other and first == learning.chosen(toys(), choice(region="random"), None, 1)[0]


def test_a_sample_has_every_word_and_comes_from_no_seed():
    pairs = [Pair(str(at), f"word{at % 40} runs", "run") for at in range(400)]
    sampled = learning.sample(pairs, 0.25)
    assert len(sampled) == 100 and Vocabulary.of(sampled).words == Vocabulary.of(pairs).words
    assert sampled == learning.sample(pairs, 0.25) and learning.sample(pairs, 1.0) == pairs


def test_a_curriculum_unlocks_in_the_order_of_the_map(tmp_path):
    folder = map_folder(tmp_path / "map", np.linspace(0.9, 0.1, 32))
    ordered, _ = learning.chosen(toys(), choice(pacing="exponential", first="hard"), folder, 1)
    assert ordered == toys()[::-1]


@pytest.mark.parametrize("values", [{"region": "hard"}, {"pacing": "linear", "first": "hard"}])
def test_a_map_that_is_missing_or_that_nothing_asks_for_is_refused(tmp_path, values):
    folder = map_folder(tmp_path / "map", np.zeros(32))
    with pytest.raises(InputError, match="--map: goes together"):
        learning.chosen(toys(), choice(**values), None, 1)
    with pytest.raises(InputError, match="--map: goes together"):
        learning.chosen(toys(), choice(region="random"), folder, 1)


# ---------------------------------------------------------------- parameters, stages, experiment


@pytest.mark.parametrize(
    "edit, fault",
    [
        ("choice.region=hardest", "choice.region: Input should be 'all'"),
        ("choice.pacing=linear", "choice: first: pacing exponential or linear"),
        ("scales.tiny.cogs.width=63", "scales.tiny.cogs: width: 63 is not a multiple of twice the heads, 8"),
        ("scales.tiny.cogs.depth=2", "scales.tiny.cogs.depth: Extra inputs are not permitted"),
    ],
)
def test_a_wrong_parameter_is_one_line_that_names_the_key(edit, fault):
    with pytest.raises(InputError) as error:
        parameters.load(Edited(CONFIG, (edit,)))
    assert fault in str(error.value) and "\n" not in str(error.value)


def test_an_unknown_corpus_or_scale_is_named_with_those_that_there_are():
    parsing = parameters.load(CONFIG)
    with pytest.raises(InputError, match="corpora has no 'scan'; there is cogs, cfq"):
        parsing.corpus_of("scan")
    with pytest.raises(
        InputError, match="scales.huge has no 'cogs'; there is tiny of cogs, tiny of cfq, paper of cogs"
    ):
        parsing.size("huge", "cogs")


def test_the_grid_runs_what_the_experiment_asks_for():
    planned = parser_cells.plan(CONFIG)
    runs = parameters.load(CONFIG).runs
    assert len(planned["train_parser"]) == sum(len(run.choices) * len(run.seeds) for run in runs)
    hard, plain = (planned["train_parser"][f"cogs-tiny-{name}-42"] for name in ("region=hard", "all"))
    assert hard["map"] == "data/maps/parser-cogs-tiny-42" and hard["more"].endswith(f"--map {hard['map']}")
    assert plain["more"] == "" and plain["map"] == "data/parsing/cogs"  # a dependency that it has anyway
    assert set(planned["map_parser"]) == {f"parser-cogs-tiny-{seed}" for seed in runs[0].seeds}


@pytest.fixture()
def desk(tmp_path, monkeypatch):
    """A folder with a corpus of its own, brought by a mirror, and a scale that trains in a second."""
    (tmp_path / "mirror").mkdir()
    rows = [f"{pair.source}\t{pair.target}\tin_distribution" for pair in toys()]
    tested = ["\t".join((pair.source.replace("The", "A"), pair.target, "active_to_passive")) for pair in toys()[:4]]
    for name, lines in {"train": rows, "gen": tested}.items():
        (tmp_path / "mirror" / f"{name}.tsv").write_text("\n".join(lines) + "\n")
    files = {name: {"url": None, "sha256": None, "mirror": f"{name}.tsv"} for name in ("train", "gen")}
    tree = yaml.safe_load(CONFIG.read_text()) | {"corpora": {"toy": {"reader": "cogs", "files": files}}}
    tree["scales"] = {"small": {"toy": SIZE.model_dump() | {"steps": 8}}}
    (tmp_path / "parsing.yaml").write_text(yaml.safe_dump(tree))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COMPAUG_MIRROR", str(tmp_path / "mirror"))
    return tmp_path


def test_from_files_to_a_map_to_numbers_without_a_word_of_the_corpus(desk):
    common = ["--params", "parsing.yaml", "--corpus", "toy"]
    parsing_corpus.main([*common, "--out", "corpus"])
    assert read_json(Path("corpus/corpus.json")) == {"train": 32, "gen": 4}
    more = [*common, "--scale", "small", "--data", "corpus", "--seed", "7"]
    map_parser.main([*more, "--out", "map"])
    assert {path.stem for path in Path("map").glob("*.csv")} == set(cartography.GENERATED)
    for at in "ab":
        words = ["--map", "map", "--set", "choice.region=hard", "--out", f"{at}.json"]
        train_parser.main([*more, *words])
    measures = read_json(Path("a.json"))
    assert measures["rows"] < 32 == measures["of"] and measures["epochs"] == 4 and measures["parts"]["gen"]["rows"] == 4
    assert set(measures["parts"]["gen"]["categories"]) == {"active_to_passive"}
    assert Path("a.json").read_bytes() == Path("b.json").read_bytes()
    assert "dog" not in Path("a.json").read_text() and not list(Path(".checkpoints").rglob("*.pt"))


# ---------------------------------------------------------------- real corpora

CASES = {  # of COGS, section 3 of its paper
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
}


@pytest.mark.parametrize(
    "corpus, counts, words",
    [
        ("cogs", {"train": 24155, "test": 3000, "gen": 21000}, 831),
        ("cfq", {"train": 95743, "test": 11968}, 181),
    ],
)
@pytest.mark.skipif("COMPAUG_MIRROR" not in os.environ, reason="COMPAUG_MIRROR names no folder with the corpora")
def test_real_corpora_have_their_published_rows(corpus, counts, words, tmp_path):
    parsing_corpus.main(["--params", str(CONFIG), "--corpus", corpus, "--out", str(tmp_path / corpus)])
    assert read_json(tmp_path / corpus / "corpus.json") == counts
    assert len(Vocabulary.of(corpora.read(tmp_path / corpus / "train.jsonl")).words) == words
    if corpus == "cogs":
        tested = corpora.read(tmp_path / corpus / "gen.jsonl")
        assert {pair.category for pair in tested} == CASES
        vocabulary = Vocabulary.of(corpora.read(tmp_path / corpus / "train.jsonl"))
        unknown = Counter(pair.category for pair in tested if UNKNOWN in vocabulary.encode(pair.target))
        assert unknown.total() == 1634 and unknown["cp_recursion"] == 844 and unknown["pp_recursion"] == 782
