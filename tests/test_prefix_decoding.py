"""The frozen decoder behind a computed prefix: against the plain model, without cache, one by one and in batches; GPT-2
and Llama."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from toys import LABELS, TASK, examples, synthesis

from compaug.core.files import InputError
from compaug.generators.disentangled import prefix_tuning
from compaug.models import one_query, prefix_decoder, sampling
from compaug.models.loading import load_decoder

REQUESTS = [(0,), (0, 1, 2), (1, 3), (0, 1, 2, 3), (2,), (1, 2)]
LENGTH = 3


@pytest.fixture(scope="module", params=["gpt2", "llama", f"gpt2 {one_query.NAME}", f"llama {one_query.NAME}"])
def decoder(request, folders, llama):
    family, _, attention = request.param.partition(" ")
    tokenizer, model = load_decoder(llama if family == "llama" else folders["decoder"])
    if attention:
        model.set_attn_implementation(attention)
    return tokenizer, model


@pytest.fixture(scope="module")
def rows_of(decoder):
    """Random prefix rows per label, strong enough to steer the decoder."""
    size = prefix_decoder.shape(decoder[1].config).row
    table = 2 * torch.randn(len(LABELS), LENGTH, size, generator=torch.Generator().manual_seed(1))
    return lambda requests, label_sets, index: table[index["pair_label"]]


def texts_of(decoder, rows_of, label_sets, **changes):
    tokenizer, model = decoder
    return prefix_tuning.generate_texts(
        model, tokenizer, rows_of, label_sets, TASK, LENGTH, synthesis(**changes), seed=5
    )


def without_cache(decoder, rows_of, label_set, max_length=40):
    """Greedy decoding by hand: the whole sequence again for every token, no padding, no growing cache."""
    tokenizer, model = decoder
    ids = tokenizer(TASK.source(label_set), add_special_tokens=False)["input_ids"]
    start, index = len(ids), prefix_tuning.pairs([label_set], LENGTH)
    prefix = prefix_tuning.place(
        rows_of([0], [label_set], index), index["pair_row"], index["pair_slot"], index["prefix_mask"]
    )
    while len(ids) < max_length:
        with torch.no_grad():
            logits = model(torch.tensor([ids]), past_key_values=prefix_decoder.prefix_cache(prefix, model)).logits
        if (token := int(logits[0, -1].argmax())) == tokenizer.eos_token_id:
            break
        ids.append(token)
    return " ".join(tokenizer.decode(ids[start:], skip_special_tokens=True).split())


def test_keys_and_values_of_real_tokens_as_prefix_equal_reading_the_tokens(decoder):
    tokenizer, model = decoder
    ids = torch.tensor([tokenizer(" the sun is out and my hands shake")["input_ids"]])
    with torch.no_grad():
        whole = model(ids, use_cache=True)
        rows = prefix_decoder.rows_of(model(ids[:, :4], use_cache=True).past_key_values)
        rest = model(ids[:, 4:], past_key_values=prefix_decoder.prefix_cache(rows, model)).logits
    torch.testing.assert_close(rest, whole.logits[:, 4:])


def test_cached_decoding_equals_a_full_forward_pass_for_every_token(decoder, rows_of):
    expected = [without_cache(decoder, rows_of, label_set) for label_set in REQUESTS]
    assert texts_of(decoder, rows_of, REQUESTS) == expected
    assert len(set(expected)) > 3  # the prefixes do steer


def test_a_text_does_not_depend_on_its_batch_under_greedy_decoding(decoder, rows_of):
    assert texts_of(decoder, rows_of, REQUESTS, batch_size=1) == texts_of(decoder, rows_of, REQUESTS, batch_size=6)


def test_a_sampled_text_does_not_depend_on_its_batch_either(decoder, rows_of):
    sampled = {"top_k": 20, "top_p": 0.9, "no_repeat_ngram": 2}
    alone, together = (texts_of(decoder, rows_of, REQUESTS * 3, batch_size=size, **sampled) for size in (1, 18))
    assert alone == together
    assert len(set(together)) > len(REQUESTS)


def test_rows_that_end_early_leave_the_batch_without_changing_the_others(decoder, rows_of):
    tokenizer, _ = decoder
    texts = texts_of(decoder, rows_of, REQUESTS)
    assert len({len(tokenizer(text)["input_ids"]) for text in texts}) > 1  # they do end at different times
    assert texts == [texts_of(decoder, rows_of, [label_set])[0] for label_set in REQUESTS]


def test_no_text_is_longer_than_the_cap_with_its_prompt(decoder, rows_of):
    tokenizer, model = decoder
    prompts = [tokenizer(TASK.source(label_set))["input_ids"] for label_set in REQUESTS]
    index = prefix_tuning.pairs(REQUESTS, LENGTH)
    prefix = prefix_tuning.place(
        rows_of(None, None, index), index["pair_row"], index["pair_slot"], index["prefix_mask"]
    )
    cap = max(map(len, prompts)) + 2
    tokens = sampling.sample_tokens(
        prefix_decoder.Step(model, prefix_decoder.prefix_cache(prefix, model), index["prefix_mask"]),
        prompts,
        torch.full((6, cap), 0.5),
        tokenizer.eos_token_id,
        synthesis(max_length=cap),
    )
    assert all(0 < len(new) <= cap - len(prompt) for prompt, new in zip(prompts, tokens, strict=True))


def test_greedy_decoding_without_room_for_a_text_names_the_parameter(decoder, rows_of):
    with pytest.raises(InputError, match="max_length 5 leaves no room"):
        texts_of(decoder, rows_of, REQUESTS, max_length=5)
    with pytest.raises(InputError, match="exceed the decoder's 128 positions"):
        texts_of(decoder, rows_of, REQUESTS, max_length=120)


def test_labels_held_against_a_text_must_leave_it_room_behind_their_longer_prompt(decoder, rows_of, monkeypatch):
    tokenizer, model = decoder
    short, other = [(0,)], [(1, 2, 3)]
    monkeypatch.setattr(prefix_tuning, "others", lambda *_: other)
    room = (
        prefix_decoder.shape(model.config).positions - 3 * LENGTH
    )  # what either side has without its prompt being longer
    options = synthesis(max_length=room, guidance=2.0)
    with pytest.raises(InputError, match="exceed the decoder's 128 positions"):
        prefix_tuning.generate_texts(model, tokenizer, rows_of, short, TASK, LENGTH, options, 5)
    of_short, of_other = (len(tokenizer(TASK.source(*label_sets))["input_ids"]) for label_sets in (short, other))
    longer = of_other - of_short
    options = synthesis(max_length=room - longer, guidance=2.0)
    (text,) = prefix_tuning.generate_texts(model, tokenizer, rows_of, short, TASK, LENGTH, options, 5)
    assert text


def test_no_two_gram_occurs_twice_in_prompt_and_text(decoder, rows_of):
    tokenizer, model = decoder
    prompts = [tokenizer("the sun is out and the sun")["input_ids"]]
    index = prefix_tuning.pairs([(0,)], LENGTH)
    prefix = prefix_tuning.place(
        rows_of(None, None, index), index["pair_row"], index["pair_slot"], index["prefix_mask"]
    )
    options = synthesis(no_repeat_ngram=2)
    step = prefix_decoder.Step(model, prefix_decoder.prefix_cache(prefix, model), index["prefix_mask"])
    (new,) = sampling.sample_tokens(step, prompts, torch.full((1, 40), 0.5), 0, options)
    start = len(prompts[0]) - 1
    ids = prompts[0] + new
    bigrams = list(pairwise(ids))
    assert all(bigrams[at] not in bigrams[:at] for at in range(start, len(bigrams)))


def test_repeats_are_banned_by_hand_worked_example():
    tokens = torch.tensor([[9, 1, 2, 3, 1], [4, 4, 4, 5, 6]])
    seen = torch.tensor([[0, 1, 1, 1, 1], [1, 1, 1, 1, 1]])
    logits = torch.zeros(2, 10)
    sampling.ban_repeats(logits, tokens, seen, 2)
    assert (logits[0] == -torch.inf).nonzero().flatten().tolist() == [2]  # "1 2" is known, the padded "9 1" is not
    assert torch.isfinite(logits[1]).all()
    sampling.ban_repeats(logits, torch.tensor([[1, 2, 3, 1, 2], [1, 2, 3, 4, 5]]), torch.ones(2, 5), 3)
    assert logits[0, 3] == -torch.inf and torch.isfinite(logits[1]).all()


def test_top_k_then_top_p_keep_the_hand_worked_tokens():
    logits = torch.log(torch.tensor([[0.5, 0.3, 0.15, 0.05]])).repeat(101, 1)
    uniform = torch.linspace(0, 1, 101)
    drawn = sampling.choose(logits, uniform, synthesis(top_k=3, top_p=0.8))
    assert drawn.unique().tolist() == [0, 1]  # of 0.526, 0.316, 0.158 the first two reach 0.8
    assert (drawn == 0).float().mean().item() == pytest.approx(0.625, abs=0.02)
    assert sampling.choose(logits, uniform, synthesis(top_k=0, top_p=1.0)).unique().tolist() == [0, 1, 2, 3]
    assert sampling.choose(logits, uniform, synthesis(top_k=1)).unique().tolist() == [0]


def test_the_prompt_is_removed_exactly_and_colons_and_line_breaks_of_the_text_are_safe(decoder):
    tokenizer, _ = decoder
    row = prefix_tuning.text_rows([examples()[0]], TASK, tokenizer, 40)[0]
    assert tokenizer.decode(row["input_ids"][row["first"] :]) == f" {examples()[0].text}<|endoftext|>"


def test_only_text_tokens_and_the_end_count_in_the_loss_unless_the_prompt_is_asked_for(decoder):
    tokenizer, _ = decoder
    example = examples()[:1]
    text = [*tokenizer(f" {example[0].text}", add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
    batch = prefix_tuning.collate(prefix_tuning.text_rows(example, TASK, tokenizer, 40), LENGTH, 0)
    assert batch["targets"].tolist() == text
    assert (batch["predicts"] + 1).tolist() == list(
        range(len(batch["input_ids"][0]) - len(text), len(batch["input_ids"][0]))
    )
    batch = prefix_tuning.collate(prefix_tuning.text_rows(example, TASK, tokenizer, 40, loss_on_prompt=True), LENGTH, 0)
    assert batch["targets"].tolist() == batch["input_ids"][0, 1:].tolist()


def test_a_text_cut_at_the_maximal_length_does_not_learn_to_end_and_is_counted(decoder, capsys):
    tokenizer, _ = decoder
    whole = prefix_tuning.text_rows(examples()[:1], TASK, tokenizer, 40)[0]
    assert capsys.readouterr().err == ""
    cut = prefix_tuning.text_rows(examples()[:1], TASK, tokenizer, whole["length"] - 1)[0]
    assert cut["input_ids"] == whole["input_ids"][:-1]
    assert "note: generator: 1 of 1 texts (100.0%) are longer than max_length, " in capsys.readouterr().err


def test_the_loss_of_a_padded_batch_equals_the_losses_of_its_rows(decoder, rows_of):
    tokenizer, model = decoder
    frozen = prefix_decoder.PrefixDecoder(model)
    rows = prefix_tuning.text_rows([e for e in examples() if e.labels][::5], TASK, tokenizer, 40)

    def losses(batch_rows):
        batch = prefix_tuning.collate(batch_rows, LENGTH, tokenizer.eos_token_id)
        index = [batch.pop(name) for name in ("pair_row", "pair_slot")]
        prefix = prefix_tuning.place(rows_of(None, None, batch), *index, batch["prefix_mask"])
        del batch["pair_label"]
        return frozen.token_nll(prefix, **batch)

    torch.testing.assert_close(losses(rows), torch.cat([losses([row]) for row in rows]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_a_frozen_decoder_in_bfloat16_reads_and_writes_as_in_float32(family, folders, llama, monkeypatch):
    """Loss, the prefix's gradient and cached decoding, to what eight bits of mantissa leave."""
    folder = llama if family == "llama" else folders["decoder"]
    whole, model = (load_decoder(folder)[1] for _ in "ab")
    prefix = torch.randn(2, 3, prefix_decoder.shape(model.config).row, generator=torch.Generator().manual_seed(1)) * 0.5
    ids, mask = torch.tensor([[5, 6, 7, 8], [9, 10, 11, 12]]), torch.ones(2, 4, dtype=torch.long)
    inputs = {"input_ids": ids, "token_mask": mask, "prefix_mask": torch.ones(2, 3, dtype=torch.long)}
    inputs |= {"predicts": torch.tensor([0, 1, 4, 5]), "targets": torch.tensor([6, 7, 10, 11])}

    def readings(decoder):
        rows = prefix.clone().requires_grad_()
        loss = prefix_decoder.PrefixDecoder(decoder).token_nll(rows, **inputs).mean()
        (gradient,) = torch.autograd.grad(loss, rows)
        step = prefix_decoder.Step(decoder, prefix_decoder.prefix_cache(prefix, decoder), inputs["prefix_mask"])
        step(ids[:, :2], mask[:, :2], 2)
        return loss.item(), gradient, step(ids[:, :3], mask[:, :3], 1).float()

    exact = readings(whole)
    monkeypatch.setenv("COMPAUG_CPU", "native")
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True)
    loss, gradient, logits = readings(model)
    assert model.dtype == torch.bfloat16 and whole.dtype == gradient.dtype == torch.float32
    assert loss == pytest.approx(exact[0], rel=0.02)
    assert torch.nn.functional.cosine_similarity(gradient.flatten(), exact[1].flatten(), dim=0) > 0.99
    assert (logits - exact[2]).abs().max() < 0.05 * exact[2].abs().max()
