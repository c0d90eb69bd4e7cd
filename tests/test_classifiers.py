"""BERT+P, BERT+DBloss, BERT+MAGNET, BERT+SGM and T5+CLP beside BERT (paper, "MLTC Models")."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from test_bert import CUES, SETTINGS, examples, write_encoder, write_seq2seq
from torch import nn
from transformers import ModernBertConfig, ModernBertModel

from compaug import classifiers
from compaug.cartography import dynamics
from compaug.classifiers import bert_p, body, dbloss, magnet, sgm, t5_clp
from compaug.classifiers.parameters import Bert, BertP, Dbloss, Magnet, Sgm, T5Clp
from compaug.core.files import InputError, file_digest
from compaug.core.records import Example, Labels
from compaug.models.loading import load_encoder, load_seq2seq
from compaug.training import loop

LABELS = Labels(("joy", "love", "fear"), CUES)  # phrases that the toy encoder's vocabulary knows
COMMON = {name: value for name, value in SETTINGS.in_force().items() if name not in ("head_hidden", "pool")}
DBLOSS = {"gamma": 2.0, "negative_scale": 2.0, "bias_scale": 0.05}
CLP = {"template": "it says {label} clearly", "empty_word": "nothing", "contrast": 0.1, "tau": 0.07, "beams": 2}
CLP |= {"show_labels": False, "strict": False, "warmup": 0.06, "lr_schedule": "decay"}
DBLOSS |= {"weight_offset": 0.1, "weight_slope": 10.0, "weight_centre": 0.9}
OWN = {
    "bert": Bert(**COMMON, head_hidden=0, pool="cls"),
    "bert_p": BertP(**(COMMON | {"epochs": 200, "lr_head": 0.03}), prefix_length=4, pool="cls"),
    "dbloss": Dbloss(**(COMMON | {"epochs": 60}), **DBLOSS, pool="mean"),
    "magnet": Magnet(
        **(COMMON | {"epochs": 120}), gat_layers=2, gat_heads=2, adjacency="identity", adjacency_mask=False
    ),
    "sgm": Sgm(**COMMON, embedding=16, hidden=24, beams=1),
    "t5_clp": T5Clp(**(COMMON | {"epochs": 60, "lr": 3e-3, "lr_head": 3e-3}), **CLP),
}
every = pytest.mark.parametrize("name", OWN)
TEXTS = [e.text for e in examples()]
GOLD = np.array([[label in e.labels for label in range(3)] for e in examples()])


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """Random weights of a size at which attention is not uniform: a frozen encoder has to have some features."""
    folder = tmp_path_factory.mktemp("backbones")
    write_seq2seq(folder / "seq2seq")
    return write_encoder(folder / "encoder", initializer_range=0.3)


def backbone_of(name, encoder):
    return encoder.parent / classifiers.load(name).ROLES[0]


@pytest.fixture(scope="module")
def model_of(encoder, tmp_path_factory):
    """The folder of a classifier trained on 32 rows, and its history, made once."""
    models = {}

    def train(name):
        if name not in models:
            folder = tmp_path_factory.mktemp(name) / "model"
            history = classifiers.load(name).train(
                examples(), LABELS, OWN[name], backbone_of(name, encoder), folder, 13, "toy", []
            )
            models[name] = folder, history
        return models[name]

    return train


@pytest.fixture(autouse=True)
def checkpoints_go_to_a_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def network(name, encoder, **changes):
    """An untrained one, its tokenizer and its facts."""
    torch.manual_seed(0)
    load = load_seq2seq if name == "t5_clp" else load_encoder
    tokenizer, pretrained = load(backbone_of(name, encoder))
    facts = body.facts_of(name, examples(), LABELS, OWN[name].model_copy(update=changes))
    module = classifiers.load(name)
    model = module.build(pretrained, facts)
    if hasattr(model, "take_tokenizer"):
        model.take_tokenizer(tokenizer)
    if hasattr(model, "read_labels"):
        model.read_labels(tokenizer, LABELS)
    return model, tokenizer, facts


def batch_of(tokenizer, rows):
    return body.collate(body.rows_of(rows, tokenizer, 32, 3), tokenizer.pad_token_id)


def test_texts_that_a_classifier_cuts_are_counted(encoder, capsys):
    tokenizer, _ = load_encoder(encoder)
    longest = max(len(ids) for ids in tokenizer(TEXTS)["input_ids"])
    body.rows_of(examples(), tokenizer, longest, 3)
    assert capsys.readouterr().err == ""
    rows = body.rows_of(examples(), tokenizer, longest - 1, 3, "filter")
    cut = sum(len(ids) == longest for ids in tokenizer(TEXTS)["input_ids"])
    note = (
        f"note: filter: {cut} of {len(TEXTS)} texts ({cut / len(TEXTS):.1%}) are longer than "
        f"max_length, {longest - 1} tokens, and are cut\n"
    )
    assert capsys.readouterr().err == note and max(row["length"] for row in rows) == longest - 1


# ---------------------------------------------------------------- what holds for every classifier


@every
def test_it_overfits_32_rows(name, model_of):
    folder, history = model_of(name)
    predicted = classifiers.load(name).predict(folder, TEXTS) > 0.5
    assert (predicted == GOLD).all(1).mean() >= 0.9
    assert history[-1]["train"]["loss"] < history[0]["train"]["loss"]


@every
def test_predictions_do_not_depend_on_the_batch(name, model_of):
    folder, _ = model_of(name)
    predict = classifiers.load(name).predict
    together = predict(folder, TEXTS)
    assert np.allclose(together, predict(folder, TEXTS, batch_size=1), atol=1e-5)
    assert np.allclose(together[::-1], predict(folder, TEXTS[::-1], batch_size=5), atol=1e-5)
    assert predict(folder, []).shape == (0, 3)
    odd = predict(folder, ["zebra " * 100, "", "sunny"])
    assert np.isfinite(odd).all() and ((odd >= 0) & (odd <= 1)).all()


@every
def test_the_same_seed_writes_the_same_bytes(name, encoder, tmp_path):
    short = OWN[name].model_copy(update={"epochs": 2, "dropout": 0.2, "dynamics": True})
    for out, seed in (("a", 13), ("b", 13), ("c", 14)):
        classifiers.load(name).train(
            examples(), LABELS, short, backbone_of(name, encoder), tmp_path / out, seed, "toy", examples(8)
        )
    assert file_digest(tmp_path / "a") == file_digest(tmp_path / "b") != file_digest(tmp_path / "c")
    kept, ids = dynamics.read(tmp_path / "a")
    assert kept.shape == (2, 32, 3) and not np.array_equal(kept[0], kept[1])
    assert ids == [e.id for e in examples()]
    # without early stopping the saved weights are those of the last epoch
    assert np.allclose(kept[-1], classifiers.load(name).predict(tmp_path / "a", TEXTS), atol=1e-5)


ANSWERING = ("bert", "bert_p", "dbloss", "magnet")  # for every label, in training


@pytest.fixture(scope="module")
def without_dropout(tmp_path_factory):
    folder, none = (
        tmp_path_factory.mktemp("without-dropout"),
        {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0},
    )
    return write_encoder(folder / "encoder", initializer_range=0.3, **none)


@pytest.mark.parametrize("name", ANSWERING)
def test_dynamics_in_passing_are_what_the_training_computes_anyway(name, without_dropout, tmp_path):
    still = OWN[name].model_copy(update={"epochs": 2, "lr": 0.0, "lr_head": 0.0, "dropout": 0.0, "batch_size": 7})
    scores = {}
    for kept in (True, "during"):
        settings, folder = still.model_copy(update={"dynamics": kept}), tmp_path / str(kept)
        repeated = [*examples(), *examples(5)]
        classifiers.load(name).train(repeated, LABELS, settings, without_dropout, folder, 13, "toy", examples(8))
        scores[kept], ids = dynamics.read(folder)
        assert ids == [e.id for e in examples()]
    assert np.allclose(scores[True], scores["during"], atol=1e-5)  # of a model that does not move


def test_dynamics_in_passing_are_seen_batch_by_batch_before_its_step(without_dropout, tmp_path):
    settings = OWN["bert"].model_copy(update={"epochs": 2, "dropout": 0.0, "dynamics": "during", "batch_size": 32})
    train = classifiers.load("bert").train
    train(examples(), LABELS, settings, without_dropout, tmp_path / "whole", 13, "toy", [])
    whole, _ = dynamics.read(tmp_path / "whole")
    first = settings.model_copy(update={"dynamics": True, "lr": 0.0, "lr_head": 0.0})
    train(examples(), LABELS, first, without_dropout, tmp_path / "first", 13, "toy", [])
    before, _ = dynamics.read(tmp_path / "first")
    assert np.allclose(whole[0], before[0], atol=1e-5)  # one batch is an epoch, seen before its step
    assert not np.allclose(whole[1], before[1], atol=1e-3)


@pytest.mark.parametrize("name", sorted(set(OWN) - set(ANSWERING)))
def test_dynamics_in_passing_of_a_classifier_that_writes_are_refused(name, encoder, tmp_path):
    settings = OWN[name].model_copy(update={"epochs": 1, "dynamics": "during"})
    with pytest.raises(InputError, match="needs a classifier that answers for every label"):
        classifiers.load(name).train(
            examples(), LABELS, settings, backbone_of(name, encoder), tmp_path / "m", 13, "toy", []
        )


@every
def test_empty_and_soft_label_sets_pass_through(name, encoder):
    model, tokenizer, _ = network(name, encoder)
    rows = [
        Example("a", "sunny today", (0,)),
        Example("b", "again", ()),
        Example("c", "shiver", (2,), soft_labels=(0.2, 0.0, 0.9)),
    ]
    losses = [model.eval()(**batch_of(tokenizer, part))["loss"] for part in (rows, rows[1:2], rows[2:])]
    assert all(torch.isfinite(loss) for loss in losses)
    losses[0].backward()
    assert any(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


@every
def test_a_folder_of_another_classifier_is_refused(name, model_of):
    other = "dbloss" if name != "dbloss" else "bert"
    folder, _ = model_of(name)
    with pytest.raises((InputError, KeyError)):
        classifiers.load(other).predict(folder, TEXTS)


# ---------------------------------------------------------------- BERT+P


def test_training_bert_p_changes_no_weight_of_the_backbone(encoder, model_of):
    folder, history = model_of("bert_p")
    before, after = (load_encoder(place)[1].state_dict() for place in (encoder, folder))
    assert all(torch.equal(value, after[name]) for name, value in before.items())
    width, layers, labels = 16, 2, 3
    assert history[0]["trained_parameters"] == 4 * layers * 2 * width + (width + 1) * 2 * labels


def test_bert_p_learns_what_its_frozen_encoder_holds(encoder, model_of, tmp_path):
    """In front of an encoder that BERT has tuned on the task a few epochs are enough; in front of one that knows
    nothing of it they are not: what keeps BERT+P low on the tiny encoder of `diagnostic` is that encoder, which has
    only restored words."""
    few = OWN["bert_p"].model_copy(update={"epochs": 10})
    tuned, right = model_of("bert")[0], {}
    for name, frozen in (("as given", encoder), ("tuned", tuned)):
        bert_p.train(examples(), LABELS, few, frozen, tmp_path / name, 13, "toy", [])
        right[name] = ((bert_p.predict(tmp_path / name, TEXTS) > 0.5) == GOLD).all(1).mean()
    assert right["tuned"] >= 0.9 and right["as given"] <= 0.6, right


def test_keys_and_values_of_real_tokens_as_prefix_change_what_the_text_attends_to(encoder):
    """With a prefix of no weight on any value and equal keys the states differ from the encoder's; without prefix they
    are its own."""
    model, tokenizer, _ = network("bert_p", encoder)
    batch = batch_of(tokenizer, examples(3))
    model.eval()
    states = model.states(batch["input_ids"], batch["attention_mask"])
    plain = model.backbone(batch["input_ids"], batch["attention_mask"]).last_hidden_state
    assert states.shape == plain.shape and not torch.allclose(states, plain, atol=1e-3)


def test_the_prefix_of_bert_p_stands_before_an_encoder_with_rotary_positions_too(tmp_path):
    """ModernBERT takes no past keys. Padding stays out of sight: a text in a batch is read as it is alone."""
    tokenizer, _ = load_encoder(write_encoder(tmp_path / "bert"))
    shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    torch.manual_seed(0)
    config = ModernBertConfig(vocab_size=len(tokenizer), pad_token_id=0, initializer_range=0.3, **shape)
    model = bert_p.BertPrefix(ModernBertModel(config), 3, 4, 0.0, "mean").eval()
    torch.nn.init.normal_(model.prefix.embedding.weight)
    batch = batch_of(tokenizer, examples(4))
    together = model.states(batch["input_ids"], batch["attention_mask"])
    plain = model.backbone(batch["input_ids"], batch["attention_mask"]).last_hidden_state
    for row, length in enumerate(batch["attention_mask"].sum(1).tolist()):
        alone = model.states(
            batch["input_ids"][row : row + 1, :length], batch["attention_mask"][row : row + 1, :length]
        )
        torch.testing.assert_close(together[row, :length], alone[0], rtol=1e-4, atol=1e-5)
        assert not torch.allclose(together[row, :length], plain[row, :length], atol=1e-2)


def test_the_mean_of_a_text_leaves_padding_out():
    states = torch.tensor([[[1.0], [3.0], [99.0]], [[2.0], [4.0], [6.0]]])
    mask = torch.tensor([[1, 1, 0], [1, 1, 1]])
    assert body.POOLS["mean"](states, mask).flatten().tolist() == [2.0, 4.0]
    assert body.POOLS["cls"](states, mask).flatten().tolist() == [1.0, 2.0]


def test_the_prefix_of_bert_p_is_attended_to_as_by_hand(encoder):
    """Layer 0 of the first text, computed from its weights."""
    model, tokenizer, _ = network("bert_p", encoder)
    model.eval()
    seen = {}
    layer = model.backbone.encoder.layer[0].attention.self
    layer.register_forward_hook(lambda module, args, kwargs, out: seen.update(x=args[0], out=out[0]), with_kwargs=True)
    batch = batch_of(tokenizer, examples(4)[1:2])
    with torch.no_grad():
        model.states(batch["input_ids"], batch["attention_mask"])
        rows = model.prefix(torch.arange(4)).view(4, 2, 2, 2, 8)  # [P, layers, key or value, heads, d]
        query, key, value = (part(seen["x"])[0].view(-1, 2, 8) for part in (layer.query, layer.key, layer.value))
        key, value = torch.cat([rows[:, 0, 0], key]), torch.cat([rows[:, 0, 1], value])  # [P + T, heads, d]
        weights = (torch.einsum("thd,shd->hts", query, key) / math.sqrt(8)).softmax(-1)
        expected = torch.einsum("hts,shd->thd", weights, value).flatten(1)
    torch.testing.assert_close(seen["out"][0], expected, rtol=1e-4, atol=1e-5)


# ---------------------------------------------------------------- DB loss


def by_hand(z, y, n, total):
    """Distribution-balanced loss (Wu et al. 2020), label by label."""
    sigmoid = lambda x: 1 / (1 + math.exp(-x))
    terms = []
    for i in range(len(z)):
        repeated = sum(1 / n[j] for j in range(len(y)) if y[j])
        r = (1 / n[i]) / repeated if repeated else None
        weight = 0.1 + sigmoid(10 * (r - 0.9)) if repeated else 1.1
        p = min(max(n[i] / total, 1 / total), 1 - 1 / total)
        u = z[i] - 0.05 * math.log(1 / p - 1)
        if y[i]:
            q = sigmoid(u)
            term = (1 - q) ** 2 * -math.log(q)
        else:
            q = sigmoid(2 * u)
            term = 0.5 * q**2 * -math.log(1 - q)
        terms.append(weight * 0.5 * term)
    return sum(terms) / len(terms)


@given(
    st.lists(st.tuples(st.floats(-4, 4), st.booleans(), st.integers(1, 50)), min_size=1, max_size=5),
)
def test_the_distribution_balanced_loss_equals_the_formulas(columns):
    z, y, n = zip(*columns, strict=True)
    loss = dbloss.BalancedLoss([float(count) for count in n], 60, DBLOSS)
    balanced = loss(torch.tensor([z]), torch.tensor([y]).float())
    assert balanced.item() == pytest.approx(by_hand(z, y, n, 60), rel=1e-3, abs=1e-6)


def test_the_distribution_balanced_loss_by_hand():
    # z = 0, one positive of n = 10 among N = 20: p = 1/2, v = 0, r = 1, weight 0.1 + sigmoid(1) = 0.83106
    loss = dbloss.BalancedLoss([10.0], 20, DBLOSS)
    expected = 0.83106 * 0.5 * 0.25 * math.log(2)
    assert loss(torch.zeros(1, 1), torch.ones(1, 1)).item() == pytest.approx(expected, rel=1e-4)
    # the same logit for an empty set: weight 1.1, q = 1/2, half of q^2 (-log(1 - q))
    assert loss(torch.zeros(1, 1), torch.zeros(1, 1)).item() == pytest.approx(
        1.1 * 0.5 * 0.5 * 0.25 * math.log(2), rel=1e-4
    )


# ---------------------------------------------------------------- MAGNET


def test_a_graph_attention_layer_equals_its_formula_label_by_label():
    torch.manual_seed(0)
    layer, nodes, adjacency = magnet.GraphAttention(4, 2), torch.randn(3, 4), torch.randn(3, 3)
    states = layer(nodes, adjacency, None)
    for i in range(3):
        heads = []
        for k in range(2):
            projected = [nodes[j] @ layer.weight[k] for j in range(3)]
            a = torch.cat([layer.left[k], layer.right[k]])
            e = [
                nn.functional.leaky_relu(a @ torch.cat([projected[i], projected[j]]), 0.2) * adjacency[i, j]
                for j in range(3)
            ]
            alpha = torch.stack(e).softmax(0)
            heads.append(sum(alpha[j] * projected[j] for j in range(3)))
        torch.testing.assert_close(states[i], torch.tanh(sum(heads) / 2))


def test_masked_pairs_do_not_speak_to_each_other():
    layer, nodes = magnet.GraphAttention(4, 2), torch.randn(3, 4)
    allowed = torch.eye(3, dtype=torch.bool)
    before = layer(nodes, torch.ones(3, 3), allowed)
    nodes[1] += 1
    after = layer(nodes, torch.ones(3, 3), allowed)
    assert torch.equal(before[0], after[0]) and not torch.equal(before[1], after[1])


def test_the_label_graph_starts_as_told_and_learns(encoder):
    facts = {"n_labels": 2, "pairs": [[4.0, 1.0], [1.0, 0.0]]}
    assert magnet.ADJACENCIES["co_occurrence"](facts).tolist() == [[1.0, 0.25], [1.0, 0.0]]
    assert torch.equal(magnet.ADJACENCIES["identity"](facts), torch.eye(2))
    model, tokenizer, _ = network("magnet", encoder)
    assert model.nodes.abs().sum() > 0  # the phrases were read
    model(**batch_of(tokenizer, examples(8)))["loss"].backward()
    assert model.adjacency.grad.abs().sum() > 0


# ---------------------------------------------------------------- SGM


def test_labels_are_written_by_falling_frequency(encoder):
    model, _, facts = network("sgm", encoder)
    counts = facts["positives"]
    assert sorted(counts, reverse=True) == [counts[label] for label in model.order.tolist()]


@pytest.mark.parametrize("seed", range(5))
def test_sgm_never_writes_a_label_twice_and_ends(encoder, seed):
    model, tokenizer, _ = network("sgm", encoder)
    torch.manual_seed(seed)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    model.eval()
    written = []
    write = model.write
    model.write = lambda state, log_p, symbol: written.append((len(symbol), symbol)) or write(state, log_p, symbol)
    batch = batch_of(tokenizer, examples(1))
    model.probabilities(batch["input_ids"], batch["attention_mask"])
    symbols = [int(symbol[0]) for _, symbol in written]
    labels = [symbol for symbol in symbols if symbol < 3]
    assert len(labels) == len(set(labels)) and len(symbols) <= 4


def test_the_written_set_lies_above_one_half_and_nothing_else(encoder, model_of):
    folder, _ = model_of("sgm")
    predicted = classifiers.load("sgm").predict(folder, TEXTS)
    tokenizer, model, _ = body.load(sgm.build, folder)
    for text, row in zip(TEXTS[:8], predicted, strict=False):
        batch = {
            name: value for name, value in tokenizer(text, return_tensors="pt").items() if name != "token_type_ids"
        }
        with torch.no_grad():
            memory = model.memory(**batch)
            state, labels = model.start(memory), []
            while True:
                log_p = model.step(state, memory)
                if (symbol := log_p.argmax(1)).item() == 3:
                    break
                labels.append(int(model.order[symbol]))
                model.write(state, log_p, symbol)
        assert sorted(labels) == np.flatnonzero(row > 0.5).tolist()


@pytest.mark.parametrize("seed", range(4))
def test_a_wide_beam_finds_the_most_probable_sequence_and_a_narrow_one_the_greedy_one(encoder, seed):
    model, tokenizer, _ = network("sgm", encoder)
    torch.manual_seed(seed)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    model.eval()
    batch = batch_of(tokenizer, examples(6))
    inputs = batch["input_ids"], batch["attention_mask"]

    def log_probability(row, symbols):
        memory = model.memory(inputs[0][row : row + 1], inputs[1][row : row + 1])
        state, total = model.start(memory), 0.0
        for symbol in [*symbols, 3]:
            log_p = model.step(state, memory)
            total += log_p[0, symbol].item()
            model.write(state, log_p, torch.tensor([symbol]))
        return total

    sequences = [s for size in range(4) for s in itertools.permutations(range(3), size)]
    model.beams = 16
    wide = model.probabilities(*inputs) > 0.5
    model.beams = 1
    greedy = model.probabilities(*inputs) > 0.5
    with torch.no_grad():
        for row in range(6):
            best = max(sequences, key=lambda s: log_probability(row, s))
            assert sorted(int(model.order[s]) for s in best) == wide[row].nonzero()[:, 0].tolist()
            memory = model.memory(inputs[0][row : row + 1], inputs[1][row : row + 1])
            state, labels = model.start(memory), []
            while (symbol := (log_p := model.step(state, memory)).argmax(1)).item() != 3:
                labels.append(int(model.order[symbol]))
                model.write(state, log_p, symbol)
            assert sorted(labels) == greedy[row].nonzero()[:, 0].tolist()


def test_the_loss_of_sgm_is_the_cross_entropy_of_the_gold_sequence_and_its_end(encoder):
    model, tokenizer, _ = network("sgm", encoder)
    model.eval()
    rows = examples(8)
    with torch.no_grad():
        together = model(**batch_of(tokenizer, rows))["loss"].item()
        total, symbols = 0.0, 0
        for example in rows:
            batch = batch_of(tokenizer, [example])
            memory = model.memory(batch["input_ids"], batch["attention_mask"])
            state = model.start(memory)
            place = {int(label): at for at, label in enumerate(model.order)}
            for symbol in [*sorted(place[label] for label in example.labels), 3]:
                log_p = model.step(state, memory)
                total -= log_p[0, symbol].item()
                symbols += 1
                model.write(state, log_p, torch.tensor([symbol]))
    assert together == pytest.approx(total / symbols, rel=1e-4)


def test_the_prefix_module_of_bert_p_has_the_published_size():
    from transformers import BertConfig, BertModel

    with torch.device("meta"):
        pretrained = BertModel(BertConfig(), add_pooling_layer=False)
        model = bert_p.BertPrefix(pretrained, 11, 20, 0.1, "cls")
    assert sum(p.numel() for p in model.prefix.parameters()) == 20 * 12 * 2 * 768


def test_a_name_without_a_file_and_a_file_without_a_classifier_are_refused():
    with pytest.raises(InputError, match="unknown classifier 'brt'"):
        classifiers.load("brt")
    with pytest.raises(InputError, match=r"body\.py is no classifier"):
        classifiers.load("body")


# ---------------------------------------------------------------- T5+CLP


def clp(encoder, **changes):
    return network("t5_clp", encoder, **changes)[0].eval()


def test_sentences_are_written_in_label_order_and_read_back(encoder):
    model = clp(encoder)
    for label_set in ([], [0], [0, 2], [0, 1, 2]):
        text = model.tokenizer.decode(model.written(label_set), skip_special_tokens=True)
        assert model.read(text) == (label_set, 0)
    assert model.tokenizer.decode(model.written([0, 2])) == "it says sunny clearly [SSEP] it says shiver clearly </s>"


def test_another_separator_takes_its_place_in_what_is_written_and_read(encoder):
    model = clp(encoder, separator=";")
    assert model.between == model.tokenizer(";", add_special_tokens=False)["input_ids"]
    assert model.read("it says sunny clearly ; it says shiver clearly") == ([0, 2], 0)
    assert model.read("it says sunny clearly [SSEP] it says shiver clearly") == ([], 1)
    for separator in ("says", "Sunny", " "):
        with pytest.raises(InputError, match=r"t5_clp\.separator: .* is inside '.*'.*set another one"):
            clp(encoder, separator=separator)


@pytest.mark.parametrize(
    ("answer", "labels", "unparsed"),
    [
        ("it says sunny clearly", [0], 0),
        ("  It says  SUNNY clearly [SSEP] it says darling clearly [SSEP] it says sunny clearly", [0, 1], 0),
        ("it says nothing clearly", [], 0),
        ("it says rainy clearly [SSEP] it says shiver clearly", [2], 1),
        ("says sunny clearly", [], 1),
        ("it says sunny clearly [SSEP]", [0], 1),
        ("", [], 1),
    ],
)
def test_a_piece_that_is_no_sentence_about_a_label_is_skipped_and_counted(encoder, answer, labels, unparsed):
    assert clp(encoder).read(answer) == (labels, unparsed)
    assert clp(encoder, strict=True).read(answer) == ([] if unparsed else labels, unparsed)


def test_the_answer_lies_above_one_half_as_far_as_the_model_is_sure_of_it(encoder, model_of):
    folder, _ = model_of("t5_clp")
    probabilities, unparsed = t5_clp.answers(folder, TEXTS)
    tokenizer, model, _ = body.load(t5_clp.build, folder, load_seq2seq)
    assert not unparsed.any()
    for text, row in zip(TEXTS[:4], probabilities, strict=False):
        inputs = tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            states, mask = model.states(inputs["input_ids"], inputs["attention_mask"])
            answer = model.written(np.flatnonzero(row > 0.5).tolist())
            logits = model.backbone(
                encoder_outputs=(states,), attention_mask=mask, decoder_input_ids=torch.tensor([[0, *answer[:-1]]])
            ).logits[0]
        sure = logits.log_softmax(-1)[range(len(answer)), answer].mean().exp().item()
        assert np.allclose(np.abs(row - 0.5), sure / 2, atol=1e-4)


def test_t5_clp_is_as_good_as_bert_when_it_is_given_the_passes(encoder, model_of, tmp_path):
    """Stopped after a sixth of them it is far below: what keeps T5+CLP below BERT on the iid split of `diagnostic` is
    its four epochs, not what it is."""
    few = OWN["t5_clp"].model_copy(update={"epochs": 10})
    t5_clp.train(examples(), LABELS, few, backbone_of("t5_clp", encoder), tmp_path / "few", 13, "toy", [])
    folders = {"bert": model_of("bert")[0], "t5_clp": model_of("t5_clp")[0], "few": tmp_path / "few"}
    predict = {name: classifiers.load("t5_clp" if name == "few" else name).predict for name in folders}
    right = {name: ((predict[name](folder, TEXTS) > 0.5) == GOLD).all(1).mean() for name, folder in folders.items()}
    assert right["t5_clp"] >= right["bert"] - 0.05 and right["few"] <= right["bert"] - 0.3, right


def test_an_untrained_model_writes_what_does_not_parse_and_it_is_counted(encoder):
    model, tokenizer, _ = network("t5_clp", encoder)
    batch = batch_of(tokenizer, examples(8))
    probabilities, unparsed = model.eval().answers(batch["input_ids"], batch["attention_mask"])
    assert (unparsed > 0).any() and (probabilities[torch.tensor(unparsed > 0)] <= 0.5).all()


def test_the_decoder_does_not_see_the_label_embeddings_unless_told_to(encoder):
    hidden, shown = clp(encoder), clp(encoder, show_labels=True)
    batch = batch_of(load_seq2seq(backbone_of("t5_clp", encoder))[0], examples(4))
    inputs = batch["input_ids"], batch["attention_mask"]
    (states, mask), (more, longer) = hidden.states(*inputs), shown.states(*inputs)
    assert states.shape[1] + 3 == more.shape[1] and torch.equal(longer[:, 3:], mask)
    torch.testing.assert_close(more[:, 3:], states)
    before = hidden.states(*inputs)[0].detach().clone()
    with torch.no_grad():
        hidden.labels += 1
    assert not torch.allclose(hidden.states(*inputs)[0], before)  # the text attends to them


def test_the_contrastive_loss_is_zero_without_positives():
    torch.manual_seed(0)
    never = torch.ones(3, 3, dtype=torch.bool).fill_diagonal_(False)
    one_each = torch.eye(3, dtype=torch.bool)
    labels = torch.randn(3, 4, requires_grad=True)
    loss = t5_clp.contrastive_loss(labels, one_each, never, 0.07)
    assert loss.item() == 0
    loss.backward()
    assert labels.grad.abs().sum() == 0


def test_the_contrastive_loss_by_hand():
    # e_0 = e_1 = (1, 0), e_2 = (0, 1), tau = 1/2: similarities over tau are 2 for (0, 1) and 0 for the others.
    # One row has 0 and 1; 2 never stands with either. Label 0: P = {1}, N = {2}, largest 2:
    # -(0 - log(e^0 + e^-2 + 0.01)) = log(1.14534) = 0.13570; label 1 the same; label 2: no positives.
    labels = torch.tensor([[3.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    present = torch.tensor([[1, 1, 0], [0, 0, 1]], dtype=torch.bool)
    never = torch.tensor([[0, 0, 1], [0, 0, 1], [1, 1, 0]], dtype=torch.bool)
    loss = t5_clp.contrastive_loss(labels, present, never, 0.5)
    assert loss.item() == pytest.approx(2 * math.log(1 + math.exp(-2) + 0.01) / 3, rel=1e-5)


def test_labels_that_never_stand_together_are_those_without_a_common_row(encoder):
    facts = body.facts_of("t5_clp", [Example("a", "x", (0, 1)), Example("b", "y", (2,))], LABELS, OWN["t5_clp"])
    model = t5_clp.T5Clp(load_seq2seq(backbone_of("t5_clp", encoder))[1], facts)
    assert model.never.tolist() == [[False, False, True], [False, False, True], [True, True, False]]


def test_settings_that_cannot_be_read_back_are_refused(encoder):
    with pytest.raises(InputError, match="empty_word: 'sunny' is a label's phrase"):
        clp(encoder, empty_word="sunny")
    with pytest.raises(InputError, match="template must contain"):
        clp(encoder, template="it says")


# ---------------------------------------------------------------- curricula and steps


@pytest.mark.parametrize(("rows", "epochs"), [(32, 3), (16, 5), (8, 10)])
def test_it_takes_as_many_steps_whatever_it_learns_from(rows, epochs, encoder, tmp_path):
    settings = OWN["bert"].model_copy(update={"epochs": 1, "steps": 10, "batch_size": 8})
    history = classifiers.load("bert").train(
        examples(rows), LABELS, settings, backbone_of("bert", encoder), tmp_path / "a", 13, "toy", examples(4)
    )
    assert len(history) == epochs  # whole ones, of 4, 2 and 1 steps
    assert "steps" not in OWN["bert"].in_force() and settings.in_force()["steps"] == 10


@pytest.mark.parametrize("pacing", ["exponential", "linear"])
def test_a_curriculum_unlocks_the_rows_in_the_order_in_which_they_stand_and_does_not_stop(
    pacing, encoder, tmp_path, monkeypatch
):
    seen, fit = [], loop.fit

    def spied(*args, **more):
        order = more["batches"]
        seen.extend([sorted({row for batch in order(epoch, epoch) for row in batch}) for epoch in range(10)])
        return fit(*args, **more)

    monkeypatch.setattr(loop, "fit", spied)
    settings = OWN["bert"].model_copy(update={"epochs": 10, "patience": 1, "pacing": pacing, "first": "hard"})
    history = classifiers.load("bert").train(
        examples(), LABELS, settings, backbone_of("bert", encoder), tmp_path / "a", 13, "toy", examples(8)
    )
    assert len(history) == 10  # patience 1 would end it
    last = [max(rows) for rows in seen]
    assert last[0] < 32 / 4 and last[-1] == 31 and sorted(last) == last and seen[-1] == list(range(32))
