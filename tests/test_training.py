"""The training loop on a linear model: batches, resume, early stopping, and the faults that it names."""

from __future__ import annotations

import copy
import io
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from compaug.cartography.dynamics import Dynamics
from compaug.core.files import InputError, file_digest, read_json
from compaug.core.records import Example, sub_seed
from compaug.evaluation.text_quality import quality
from compaug.training import batching, checkpoint, loop
from compaug.training.batching import batches_by_length, containing, holdout
from compaug.training.checkpoint import checkpoints_kept, work_dir_for
from compaug.training.loop import FitOptions, fit, seed_everything

OPTIONS = FitOptions(epochs=4, batch_size=4, lr=0.05)


class Regression(nn.Module):
    """y = w x + b with dropout on x, so that a resumed run must also draw the same noise."""

    def __init__(self) -> None:
        super().__init__()
        self.dropout, self.body, self.head = nn.Dropout(0.3), nn.Linear(3, 3), nn.Linear(3, 1)

    def forward(self, x, y) -> dict:
        error = (self.head(self.body(self.dropout(x))).squeeze(-1) - y) ** 2
        return {"loss": error.mean(), "largest": error.max()}


def rows_of(count: int, seed: int = 0) -> list[dict]:
    x = torch.randn(count, 3, generator=torch.Generator().manual_seed(seed))
    return [{"id": f"r{i}", "length": i % 5 + 1, "x": x[i], "y": x[i].sum()} for i in range(count)]


def collate(rows: list[dict]) -> dict:
    return {"x": torch.stack([row["x"] for row in rows]), "y": torch.stack([row["y"] for row in rows])}


def model_of(seed: int = 1) -> Regression:
    torch.manual_seed(seed)
    return Regression()


def fitted(work_dir, options=OPTIONS, model=None, train=None, valid=(), collate=collate, **more):
    model = model or model_of()
    history = fit(
        model,
        train or rows_of(22),
        list(valid),
        collate,
        options,
        seed=13,
        work_dir=work_dir,
        description="toy",
        **more,
    )
    return model, history


def weights(model) -> dict[str, list]:
    return {name: value.tolist() for name, value in model.state_dict().items()}


# ---------------------------------------------------------------- batches

lengths_and_groups = st.lists(st.tuples(st.integers(0, 60), st.sampled_from("abc")), max_size=80)


@given(lengths_and_groups, st.integers(1, 9), st.none() | st.integers(0, 2**31 - 1), st.booleans())
def test_every_row_is_in_one_batch_and_groups_are_never_mixed(pairs, batch_size, seed, grouped):
    lengths = [length for length, _ in pairs]
    groups = [group for _, group in pairs] if grouped else None
    batches = batches_by_length(lengths, batch_size, seed, groups)
    assert sorted(row for batch in batches for row in batch) == list(range(len(pairs)))
    assert all(1 <= len(batch) <= batch_size for batch in batches)
    if groups:
        assert all(len({groups[row] for row in batch}) == 1 for batch in batches)
    assert batches == batches_by_length(lengths, batch_size, seed, groups)


@given(st.lists(st.integers(0, 60), max_size=80), st.integers(1, 9))
def test_inference_goes_from_the_longest_text_to_the_shortest(lengths, batch_size):
    order = [row for batch in batches_by_length(lengths, batch_size) for row in batch]
    assert [lengths[row] for row in order] == sorted(lengths, reverse=True)


def test_another_seed_makes_other_batches_with_as_little_padding():
    lengths = [i % 40 + 1 for i in range(1000)]
    batches = {seed: batches_by_length(lengths, 10, seed) for seed in (1, 2)}
    assert batches[1] != batches[2]
    for epoch_batches in batches.values():
        padded = sum(max(lengths[row] for row in batch) * len(batch) for batch in epoch_batches)
        assert padded < 1.1 * sum(lengths)  # batches in reading order would need 1.6 times as many tokens


@given(st.integers(0, 60), st.floats(0, 0.9), st.integers(0, 99))
def test_the_holdout_partitions_the_rows_in_order(count, share, seed):
    rows = list(range(count))
    train, valid = holdout(rows, share, seed)
    assert sorted(train + valid) == rows and train == sorted(train) and valid == sorted(valid)
    assert len(valid) == (min(max(1, round(share * count)), count - 1) if count > 1 and share > 0 else 0)
    assert (train, valid) == holdout(rows, share, seed)


@given(st.lists(st.integers(0, 6), min_size=2, max_size=60), st.floats(0.01, 0.9), st.integers(0, 20))
def test_of_rows_that_are_alike_one_is_held_out_or_none(words, share, seed):
    rows = [(word, at) for at, word in enumerate(words)]
    train, valid = holdout(rows, share, seed, lambda row: row[0])
    held = [word for word, _ in valid]
    assert len(set(held)) == len(held) and valid == sorted(valid, key=lambda row: row[1])
    assert train == [row for row in rows if row[0] not in held] and train
    distinct = len(set(words))
    assert len(valid) == (min(max(1, round(share * distinct)), distinct - 1) if distinct > 1 else 0)
    assert holdout(rows, share, seed) == holdout(rows, share, seed, lambda row: row)  # alone in their group


def test_a_text_that_stands_there_often_is_held_out_no_more_often_than_another():
    rows = [("often", at) for at in range(500)] + [(at, at) for at in range(500)]
    held = sum("often" in dict(holdout(rows, 0.05, seed, lambda row: row[0])[1]) for seed in range(400))
    assert 8 <= held <= 35  # 20 are expected


def test_the_holdout_follows_the_seed():
    assert len({tuple(holdout(list(range(50)), 0.1, seed)[1]) for seed in range(4)}) == 4


@pytest.mark.parametrize(
    ("held", "text", "contained"),
    [
        ("the sun is out", "It rains. the sun is out He left.", True),
        ("the sun is out", "The  SUN\tis out", True),  # equal: white space and case do not count
        ("the sun is out", "the sun is the sun is out", True),  # after a false start
        ("the sun is out", "the sun is", False),
        ("the sun is out", "the sun is not out", False),
        ("the sun is out", "the sun is outside", False),
        ("the sun is out", "bathe sun is out", False),
        ("the sun is out", "the sun is out.", False),  # a mark belongs to its word
        ("the sun is out again", "and the sun is out", False),
        ("the sun is out again", "and the sun is out again", True),
        ("ice cream", "nice cream cake", False),
        ("we like ice cream", "we like ice creams", False),
        ("we like ice cream", "now we like ice cream cake", True),
        ("so dark again", "it was so dark again", False),  # three words stand there by chance
        ("", "it was so dark again", False),
    ],
)
def test_a_text_is_contained_where_all_its_four_or_more_words_stand_in_a_row(held, text, contained):
    example = Example("synthetic", text, ())
    assert containing([example], [Example("held", held, ())]) == ([example] if contained else [])


def test_texts_that_contain_none_stay_out_and_the_others_keep_their_order():
    texts = [Example(str(n), text, ()) for n, text in enumerate(["a b c d e", "x", "b c d e", "", "a b c d", "b c d"])]
    held = [Example("p", "a b c d", ()), Example("q", "b c d e f", ()), Example("r", "b c d", ())]
    assert [e.id for e in containing(texts, held)] == ["0", "4"]
    assert containing(texts, []) == [] == containing([], held)


def test_by_chance_is_what_the_measure_of_copies_takes_for_it():
    assert batching.SHARED_WORDS == quality.SEED_WORDS


def test_eight_hundred_held_out_texts_that_begin_alike_are_looked_up_in_no_time():
    words = [f"w{n}" for n in range(50)]
    rng = np.random.default_rng(0)
    text = lambda n: " ".join(["last night in the", *rng.choice(words, n)])
    held = [Example(str(n), text(10), ()) for n in range(800)]
    texts = [Example(str(n), f"{text(10)} {text(10)}", ()) for n in range(4800)]
    start = time.process_time()
    assert not containing(texts, held)
    assert time.process_time() - start < 2  # a fifth of a second


# ---------------------------------------------------------------- fitting


def test_training_lowers_the_loss_and_history_holds_the_mean_of_every_part(tmp_path):
    model, history = fitted(tmp_path / "work", FitOptions(epochs=30, batch_size=4, lr=0.05), valid=rows_of(8, seed=1))
    assert [entry["epoch"] for entry in history] == list(range(1, 31))
    assert set(history[0]) == {"epoch", "trained_parameters", "train", "valid"}
    assert history[0]["trained_parameters"] == sum(p.numel() for p in model.parameters())
    assert set(history[0]["train"]) == {"loss", "largest"}
    assert history[-1]["valid"]["loss"] < 0.2 * history[0]["valid"]["loss"]


def test_validation_losses_are_means_over_rows_not_over_batches(tmp_path):
    rows = rows_of(6)
    model, history = fitted(tmp_path / "work", FitOptions(epochs=1, batch_size=4, lr=0.05), train=rows, valid=rows)
    with torch.no_grad():
        expected = model(**collate(rows))["loss"].item()
    assert history[0]["valid"]["loss"] == pytest.approx(expected, rel=1e-5)


def test_two_runs_end_with_the_same_bytes(tmp_path):
    first, second = (fitted(tmp_path / name, valid=rows_of(6, seed=1)) for name in ("a", "b"))
    assert weights(first[0]) == weights(second[0]) and first[1] == second[1]


def test_another_seed_ends_elsewhere(tmp_path):
    model = model_of()
    fit(model, rows_of(22), [], collate, OPTIONS, seed=14, work_dir=tmp_path / "a", description="toy")
    assert weights(model) != weights(fitted(tmp_path / "b")[0])


def interrupted_at(call: int):
    """A collate that is interrupted at its n-th call, as by Ctrl-C."""
    calls = iter(range(call))

    def counting(rows):
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return collate(rows)

    return counting


@pytest.mark.parametrize("steps", [3, 8, 15, 31])  # 6 training and 2 validation batches an epoch
@pytest.mark.parametrize("patience", [None, 2])
def test_a_run_that_was_killed_resumes_and_ends_with_the_same_bytes(tmp_path, capsys, steps, patience):
    options = FitOptions(epochs=4, batch_size=4, lr=0.05, warmup=0.2, weight_decay=0.1, patience=patience)
    valid = rows_of(6, seed=1)
    undisturbed = fitted(tmp_path / "undisturbed", options, valid=valid)
    with pytest.raises(KeyboardInterrupt):
        fitted(tmp_path / "work", options, valid=valid, collate=interrupted_at(steps))
    capsys.readouterr()
    finished = steps // 8
    other = model_of(seed=2 if finished else 1)  # what it starts from does not matter once there is a checkpoint
    resumed = fitted(tmp_path / "work", options, other, valid=valid)
    assert weights(resumed[0]) == weights(undisturbed[0]) and resumed[1] == undisturbed[1]
    assert capsys.readouterr().err == (f"resuming after epoch {finished} (work)\n" if finished else "")


def test_a_checkpoint_that_takes_long_is_written_less_often_and_a_resumed_run_still_has_the_same_bytes(
    tmp_path, capsys, monkeypatch
):
    undisturbed = fitted(tmp_path / "undisturbed", valid=rows_of(6, seed=1))
    monkeypatch.setattr(checkpoint.Checkpoint, "LONG", 0.0)  # seconds: every checkpoint takes longer
    monkeypatch.setattr(checkpoint.Checkpoint, "BETWEEN", 1e9)
    with pytest.raises(KeyboardInterrupt):
        fitted(tmp_path / "work", valid=rows_of(6, seed=1), collate=interrupted_at(15))
    capsys.readouterr()
    resumed = fitted(tmp_path / "work", model=model_of(seed=2), valid=rows_of(6, seed=1))
    assert capsys.readouterr().err == "resuming after epoch 1 (work)\n"
    assert weights(resumed[0]) == weights(undisturbed[0]) and resumed[1] == undisturbed[1]


def test_a_finished_run_leaves_no_checkpoint(tmp_path):
    fitted(tmp_path / "work")
    assert not list(tmp_path.iterdir())


def test_a_stage_that_fails_while_it_writes_does_not_train_again(tmp_path, capsys):
    """Disk full, Ctrl-C during the predictions: the finished training is kept until the stage has ended well."""
    with pytest.raises(OSError), checkpoints_kept():
        model, history = fitted(tmp_path / "w")
        raise OSError("disk full")
    steps = []
    with checkpoints_kept():
        again, second = fitted(tmp_path / "w", collate=lambda rows: steps.append(1) or collate(rows))
        assert (tmp_path / "w").exists()
    assert not steps and second == history and weights(again) == weights(model)
    assert "resuming after epoch 4" in capsys.readouterr().err
    assert not (tmp_path / "w").exists()
    fitted(tmp_path / "w")
    assert not (tmp_path / "w").exists()


def test_a_hook_sees_every_epoch_once_also_across_a_kill(tmp_path):
    seen = []

    def hook(end):
        assert not end.model.training
        seen.append((end.epoch, end.model.head.bias.item(), end.entry["train"]["loss"], end.work_dir))

    model, history = fitted(tmp_path / "w", on_epoch_end=[hook])
    undisturbed = [(epoch, bias, loss) for epoch, bias, loss, _ in seen]
    assert [epoch for epoch, *_ in seen] == [1, 2, 3, 4] and len({bias for _, bias, _, _ in seen}) == 4
    assert undisturbed[-1][1] == model.head.bias.item()
    assert [loss for _, _, loss in undisturbed] == [entry["train"]["loss"] for entry in history]

    seen.clear()
    with pytest.raises(KeyboardInterrupt):
        fitted(tmp_path / "w", collate=interrupted_at(15), on_epoch_end=[hook])  # 6 steps an epoch
    assert [epoch for epoch, *_ in seen] == [1, 2]
    fitted(tmp_path / "w", model=model_of(seed=2), on_epoch_end=[hook])
    assert [(epoch, bias, loss) for epoch, bias, loss, _ in seen] == undisturbed
    assert {folder for *_, folder in seen} == {tmp_path / "w"}


def test_a_hook_that_fails_costs_its_epoch_and_no_other(tmp_path):
    """Its epoch has no checkpoint yet, so the next run goes through it, and the hook, again."""
    epochs = []

    def hook(end):
        epochs.append(end.epoch)
        if epochs == [1, 2]:
            raise OSError("disk full")

    with pytest.raises(OSError):
        fitted(tmp_path / "w", on_epoch_end=[hook])
    fitted(tmp_path / "w", on_epoch_end=[hook])
    assert epochs == [1, 2, 2, 3, 4]


def test_the_dynamics_of_a_resumed_training_are_those_of_an_undisturbed_one(tmp_path):
    def dynamics(work_dir, out, **more):
        model = model_of()
        kept = Dynamics(work_dir, ["a", "b"], lambda: np.array([[model.head.bias.item()], [float(model.training)]]))
        with checkpoints_kept():
            fitted(work_dir, model=model, on_epoch_end=[kept], **more)
            kept.write(out)
        return model

    model = dynamics(tmp_path / "w", tmp_path / "whole")
    whole = np.load(tmp_path / "whole" / "dynamics.npy")
    assert whole.shape == (4, 2, 1) and whole[-1, 0, 0] == model.head.bias.item() and not whole[:, 1].any()
    assert len(set(whole[:, 0, 0])) == 4 and read_json(tmp_path / "whole" / "dynamics.json") == {"ids": ["a", "b"]}
    assert not (tmp_path / "w").exists()
    with pytest.raises(KeyboardInterrupt):
        dynamics(tmp_path / "w", tmp_path / "resumed", collate=interrupted_at(15))
    dynamics(tmp_path / "w", tmp_path / "resumed")
    assert file_digest(tmp_path / "resumed") == file_digest(tmp_path / "whole")


def test_a_block_inside_another_leaves_the_checkpoints_to_the_outer_one(tmp_path):
    with checkpoints_kept():
        with checkpoints_kept():
            fitted(tmp_path / "w")
        assert (tmp_path / "w").exists()
    assert not (tmp_path / "w").exists()


# ---------------------------------------------------------------- the order of batches


def easy_first(epoch: int, seed: int) -> list[list[int]]:
    """The first 8, 16, 22 rows of 22, in batches of 4; the seed orders the batches."""
    rows = range(min(8 * (epoch + 1), 22))
    batches = [list(rows[at : at + 4]) for at in range(0, len(rows), 4)]
    return [batches[at] for at in np.random.default_rng(seed).permutation(len(batches))]


def test_training_follows_the_order_of_batches_it_is_given(tmp_path):
    seen = []
    watching = lambda rows: seen.append([int(row["id"][1:]) for row in rows]) or collate(rows)
    _, history = fitted(tmp_path / "w", batches=easy_first, collate=watching)
    per_epoch = [len(easy_first(epoch, 0)) for epoch in range(4)]
    assert per_epoch == [2, 4, 6, 6] and len(seen) == sum(per_epoch)
    for epoch, count in enumerate(per_epoch):
        epoch_order, seen = seen[:count], seen[count:]
        assert sorted(epoch_order) == sorted(easy_first(epoch, 0))
        assert epoch_order == easy_first(epoch, sub_seed(13, "epoch", epoch))
    assert all(entry["train"]["loss"] > 0 for entry in history)


@given(st.integers(1, 40), st.floats(0.02, 1), st.integers(1, 9), st.integers(0, 99), st.booleans())
def test_epochs_of_a_share_go_through_all_rows_before_one_comes_again(count, share, batch_size, seed, grouped):
    rows = [{"length": n % 5 + 1} | ({"group": n % 3} if grouped else {}) for n in range(count)]
    batches = batching.shares(rows, share, batch_size, seed)
    size = max(1, round(share * count))
    epochs = [batches(epoch, sub_seed(seed, "epoch", epoch)) for epoch in range(2 * count // size + 2)]
    assert all(sum(map(len, epoch)) == size and max(map(len, epoch)) <= batch_size for epoch in epochs)
    seen = Counter()
    for epoch in epochs:
        seen.update(row for batch in epoch for row in batch)
        assert max(seen.values()) - min(seen[row] for row in range(count)) <= 1
        assert not grouped or all(len({rows[row]["group"] for row in batch}) == 1 for batch in epoch)
    again = batching.shares(rows, share, batch_size, seed)
    assert again(1, 5) == batches(1, 5)  # of its arguments alone


def test_a_generator_sees_its_share_of_the_rows_in_an_epoch(tmp_path):
    rows = [{"id": str(n), "length": 2, "x": torch.ones(2) * n} for n in range(20)]
    seen = []

    def collate(batch_rows):
        seen.append([row["id"] for row in batch_rows])
        return {"x": torch.stack([row["x"] for row in batch_rows])}

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(2))

        def forward(self, x):
            return {"loss": (x * self.weight).sum()}

    params = SimpleNamespace(epochs=4, batch_size=4, lr=0.1, warmup=0.0, patience=None, validation=0.0, epoch_share=0.5)
    loop.fit_and_validate("toy", Model(), rows, collate, params, tmp_path / "out", 1)
    halves = [sorted(row for batch in seen[at : at + 3] for row in batch) for at in range(0, 12, 3)]
    assert [len(half) for half in halves] == [10] * 4 and len(seen) == 12
    everything = sorted(row["id"] for row in rows)
    assert sorted(halves[0] + halves[1]) == everything == sorted(halves[2] + halves[3]) and halves[0] != halves[2]


def test_the_schedule_ends_with_the_last_batch_of_a_curriculum(tmp_path):
    rates = []

    class Watched(torch.optim.AdamW):
        def step(self, *args, **kwargs):
            rates.append(self.param_groups[0]["lr"])
            return super().step(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.optim, "AdamW", Watched)
        fitted(tmp_path / "w", batches=easy_first)
    assert rates == pytest.approx([0.05 * left / 18 for left in range(18, 0, -1)])


@pytest.mark.parametrize("steps", [1, 5, 13])
def test_a_curriculum_that_was_killed_ends_with_the_same_bytes(tmp_path, steps):
    undisturbed = fitted(tmp_path / "undisturbed", batches=easy_first)
    with pytest.raises(KeyboardInterrupt):
        fitted(tmp_path / "w", batches=easy_first, collate=interrupted_at(steps))
    resumed = fitted(tmp_path / "w", batches=easy_first)
    assert weights(resumed[0]) == weights(undisturbed[0]) and resumed[1] == undisturbed[1]
    assert weights(resumed[0]) != weights(fitted(tmp_path / "by length")[0])


def test_the_rate_can_grow_to_the_very_end(tmp_path):
    """T5+CLP's reference schedule."""
    seen = []

    class Watched(torch.optim.AdamW):
        def step(self, *args, **kwargs):
            seen.append(self.param_groups[0]["lr"])
            return super().step(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.optim, "AdamW", Watched)
        fitted(tmp_path / "w", options=FitOptions(epochs=2, batch_size=11, lr=0.4, schedule="increase"))
    assert seen == pytest.approx([0.1, 0.2, 0.3, 0.4])


def loaded(work_dir: Path) -> dict:
    """A checkpoint's state, which stands behind its digest."""
    data = (work_dir / "checkpoint.pt").read_bytes()[checkpoint.DIGEST :]
    return torch.load(io.BytesIO(data), weights_only=True)


def test_a_checkpoint_holds_no_code(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        fitted(tmp_path / "work", collate=interrupted_at(9))
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["checkpoint.pt"]
    loaded(tmp_path / "work")


def test_early_stopping_keeps_the_epoch_with_the_best_validation_loss(tmp_path):
    """The validation target is the opposite of the training target, so that training makes it ever worse."""
    opposite = [row | {"y": -row["y"]} for row in rows_of(6)]
    options = FitOptions(epochs=20, batch_size=4, lr=0.05, patience=3)
    model, history = fitted(tmp_path / "work", options, valid=opposite)
    losses = [entry["valid"]["loss"] for entry in history]
    best = losses.index(min(losses))
    assert len(history) == best + 1 + 3 < 20
    with torch.no_grad():
        assert model(**collate(opposite))["loss"].item() == pytest.approx(losses[best], rel=1e-5)
    assert not model.training


def test_a_resumed_run_remembers_its_best_epoch_and_its_patience(tmp_path):
    opposite = [row | {"y": -row["y"]} for row in rows_of(6)]
    options = FitOptions(epochs=20, batch_size=4, lr=0.05, patience=3)
    undisturbed = fitted(tmp_path / "undisturbed", options, valid=opposite)
    last = len(undisturbed[1]) - 1  # epochs before the one that uses up the patience
    with pytest.raises(KeyboardInterrupt):
        fitted(tmp_path / "work", options, valid=opposite, collate=interrupted_at(8 * last + 3))
    resumed = fitted(tmp_path / "work", options, model_of(seed=2), valid=opposite)
    assert weights(resumed[0]) == weights(undisturbed[0]) and resumed[1] == undisturbed[1]


def test_without_patience_the_last_epoch_is_kept(tmp_path):
    opposite = [row | {"y": -row["y"]} for row in rows_of(6)]
    model, history = fitted(tmp_path / "work", valid=opposite)
    with torch.no_grad():
        assert model(**collate(opposite))["loss"].item() == pytest.approx(history[-1]["valid"]["loss"], rel=1e-5)


def test_frozen_parameters_are_neither_changed_nor_checkpointed(tmp_path):
    model = model_of()
    model.body.requires_grad_(False)
    before = copy.deepcopy(weights(model))
    with pytest.raises(KeyboardInterrupt):
        fitted(tmp_path / "work", model=model, collate=interrupted_at(9))
    saved = loaded(tmp_path / "work")["weights"]
    assert set(saved) == {"head.weight", "head.bias"}
    fitted(tmp_path / "work", model=model)
    after = weights(model)
    assert all((before[name] == after[name]) == name.startswith("body.") for name in before)


def test_a_parameter_can_have_its_own_learning_rate(tmp_path):
    """The first AdamW step moves a parameter by its learning rate, whatever the gradient."""
    options = FitOptions(epochs=1, batch_size=50, lr=0.05)
    model = model_of()
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    fitted(tmp_path / "work", options, model, lr_of=lambda name: 0.5 if name.startswith("head.") else 0.05)
    for name, parameter in model.named_parameters():
        moved = (parameter - before[name]).abs()
        assert torch.allclose(moved, torch.full_like(moved, 0.5 if name.startswith("head.") else 0.05), rtol=1e-3)


def test_the_learning_rate_warms_up_and_falls_to_nothing(tmp_path):
    """With one weight and a constant gradient every AdamW step is as long as its learning rate."""

    class Slope(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight, self.seen = nn.Parameter(torch.zeros(())), []

        def forward(self, x, y) -> dict:
            self.seen.append(self.weight.item())
            return {"loss": self.weight * 1.0}

    model = Slope()
    fitted(tmp_path / "work", FitOptions(epochs=2, batch_size=5, lr=1.0, warmup=0.2), model, rows_of(25))
    path = torch.tensor([*model.seen, model.weight.item()])
    steps = [0.5, 1.0, 1.0, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8]  # 10 steps, 2 of them warming up
    assert torch.allclose(path[:-1] - path[1:], torch.tensor(steps), atol=1e-4)


def test_a_loss_that_is_not_finite_names_the_step_and_the_rows(tmp_path):
    rows = rows_of(12)
    rows[7]["x"] = torch.full((3,), float("nan"))
    with pytest.raises(InputError) as error:
        fitted(tmp_path / "work", train=rows)
    message = str(error.value)
    assert "\n" not in message and message.startswith("toy, epoch 1/4: the loss is not finite at step ")
    assert "r7" in message.split("(rows ")[1].split(")")[0].split(", ")


def test_the_work_dir_follows_everything_that_makes_the_model():
    same = [work_dir_for("models/run/filter", {"lr": 0.1}, 13) for _ in range(2)]
    assert same[0] == same[1] != work_dir_for("models/run/filter", {"lr": 0.2}, 13)
    assert same[0].parts[0] == ".checkpoints" and same[0].name.startswith("models-run-filter-")


def test_seeding_makes_torch_draws_repeatable():
    draws = []
    for _ in range(2):
        seed_everything(5)
        draws.append(torch.rand(3).tolist())
    assert draws[0] == draws[1]


@pytest.mark.parametrize(
    "schedule, step, expected",
    [
        ("decay", 4, 0.5),
        ("decay", 55, 0.5),
        ("constant", 90, 1.0),
        ("root", 4, 0.5),
        ("root", 39, 0.5),
        ("increase", 49, 0.5),
    ],
)
def test_a_rate_grows_over_the_warm_up_and_then_does_what_the_schedule_says(schedule, step, expected):
    """100 steps, 10 of them warm-up: root is then the square root of 10 over the number of the step."""
    options = FitOptions(1, 1, 1.0, warmup=0.1, schedule=schedule)
    assert options.rate(step, 100) == pytest.approx(expected)
