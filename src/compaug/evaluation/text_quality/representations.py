"""How a generator represents a label in different compositions (paper, Figures 2 and 5).

A generator that keeps labels apart has one place for each of them, whatever stands beside it. Two views:

    latent   what the generator itself has for a label: z_y (LD-VAE), its prefix (LS-PT), the states of its phrase in
             the prompt, of the encoder (Flan-T5) or behind the prefix (GPT2-PT)
    state    the frozen decoder's last states of the label's phrase in the prompt, read behind the generator's prefix

Two numbers say whether it does: the probe, how often the mean of a label's vectors in the other compositions is the
nearest of all labels' means, and the silhouette by label (cosine), 1 when a label is one point in all compositions, 0
when labels overlap. A generator that samples (LD-VAE) has noise in every vector and so a low silhouette however far
apart its labels are; the probe compares it fairly with those that do not.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from sklearn.manifold import TSNE
from sklearn.metrics import silhouette_score
from threadpoolctl import threadpool_limits
from torch import Tensor

from compaug.core.files import InputError
from compaug.core.records import Composition, sub_seed
from compaug.generators.disentangled import gpt2_pt, ld_vae, ls_pt, prefix_tuning
from compaug.generators.shared.facts import facts_of
from compaug.models import prefix_decoder
from compaug.models.loading import load_seq2seq, pad
from compaug.training.loop import device

BATCH = 64
PERPLEXITY = 30


def views(
    generator: str,
    model_dir: Path,
    compositions: Sequence[Composition],
    task,
    backbones: Mapping[str, Path],
    seed: int,
) -> dict[str, np.ndarray]:
    """{view: vectors [N, width]} of the N (composition, label) pairs in order.

    InputError for a generator without such a view.
    """
    if generator not in VIEWS:
        raise InputError(f"--generator {generator}: has no representations to show; choose from {', '.join(VIEWS)}")
    with torch.no_grad():
        return VIEWS[generator](model_dir, compositions, task, backbones, seed)


def _flan_t5(model_dir, compositions, task, backbones, seed) -> dict[str, np.ndarray]:
    _, _, task = facts_of(model_dir, task)
    tokenizer, model = load_seq2seq(model_dir)
    encoder = model.to(device()).eval().get_encoder()

    def states(sources: list[list[int]], batch: Sequence[Composition]) -> Tensor:
        input_ids, mask = pad([[*ids, tokenizer.eos_token_id] for ids in sources], tokenizer.pad_token_id)
        return encoder(input_ids=input_ids.to(device()), attention_mask=mask.to(device())).last_hidden_state

    return {"latent": phrase_states(states, compositions, task, tokenizer)}


def _prefix_tuned(network_of, parts_of, latent_of):
    """`latent_of(network, labels [N])` is the generator's vector of each pair; it is None for the decoder's state."""

    def vectors(model_dir, compositions, task, backbones, seed) -> dict[str, np.ndarray]:
        settings, task, tokenizer, decoder, network = prefix_tuning.opened(network_of, model_dir, task, backbones)
        prompts = compositions, task, settings.prefix_length
        state = decoder_states(decoder, tokenizer, lambda _, index: network(index["pair_label"]), parts_of, *prompts)
        if latent_of is None:
            return {"latent": state, "state": state}
        pairs = torch.tensor([label for composition in compositions for label in composition], device=device())
        return {"latent": latent_of(network, pairs).flatten(1).cpu().numpy(), "state": state}

    return vectors


def _ld_vae(model_dir, compositions, task, backbones, seed) -> dict[str, np.ndarray]:
    settings, task, tokenizer, decoder, network = ld_vae.opened(model_dir, task, backbones)
    seeds = {composition: sub_seed(seed, "representation", *composition) for composition in compositions}

    def rows_of(batch: Sequence[Composition], index: Mapping[str, Tensor]) -> Tensor:
        z_label, z_content = network.sample(batch, [seeds[composition] for composition in batch])
        return network(z_label, z_content[index["pair_row"]])

    z_label, _ = network.sample(compositions, [seeds[c] for c in compositions])  # [N, 1 or L, latent]
    state = decoder_states(decoder, tokenizer, rows_of, tuple, compositions, task, settings.prefix_length)
    return {"latent": z_label.mean(1).cpu().numpy(), "state": state}


VIEWS: dict[str, Callable] = {
    "gpt2_pt": _prefix_tuned(gpt2_pt.network, gpt2_pt.one_part, None),
    "flan_t5": _flan_t5,
    "ls_pt": _prefix_tuned(ls_pt.network, tuple, lambda network, pairs: network(pairs).mean(1)),  # over the L rows
    "ld_vae": _ld_vae,
}


# ---------------------------------------------------------------- states of the phrases in the prompt


def decoder_states(
    decoder,
    tokenizer,
    rows_of: Callable[[Sequence[Composition], Mapping[str, Tensor]], Tensor],
    parts_of: Callable[[Composition], Sequence[int]],
    compositions: Sequence[Composition],
    task,
    prefix_length: int,
) -> np.ndarray:
    """The decoder's last states of the phrases in P(y), behind the prefix whose rows `rows_of` makes.  # [N, H]"""
    decoder = decoder.to(device()).eval()

    def states(sources: list[list[int]], batch: Sequence[Composition]) -> Tensor:
        places = prefix_tuning.pairs([parts_of(composition) for composition in batch], prefix_length)
        index = {name: tensor.to(device()) for name, tensor in places.items()}
        rows = prefix_tuning.place(rows_of(batch, index), index["pair_row"], index["pair_slot"], index["prefix_mask"])
        input_ids, mask = (tensor.to(device()) for tensor in pad(sources, tokenizer.eos_token_id))
        mask = torch.cat([index["prefix_mask"], mask], dim=1)
        return decoder.base_model(
            input_ids,
            attention_mask=mask,
            position_ids=prefix_decoder.positions(mask)[:, index["prefix_mask"].shape[1] :],
            past_key_values=prefix_decoder.prefix_cache(rows, decoder),
            use_cache=True,
        ).last_hidden_state  # [B, T, H]

    return phrase_states(states, compositions, task, tokenizer)


def phrase_states(
    states: Callable[[list[list[int]], Sequence[Composition]], Tensor],
    compositions: Sequence[Composition],
    task,
    tokenizer,
) -> np.ndarray:
    """Mean state of the tokens of every label's phrase in the prompt of its composition.  # [N, H]"""
    vectors = []
    for start in range(0, len(compositions), BATCH):
        batch = compositions[start : start + BATCH]
        prompts = [task.source(composition) for composition in batch]
        encoded = tokenizer(prompts, add_special_tokens=False, return_offsets_mapping=True)
        last = states(encoded["input_ids"], batch)
        for row, composition in enumerate(batch):
            for first, end in phrase_spans(task, composition):
                inside = [at for at, (a, b) in enumerate(encoded["offset_mapping"][row]) if a < end and b > first]
                vectors.append(last[row, inside].mean(0).float().cpu().numpy())
    return np.stack(vectors)


def phrase_spans(task, composition: Composition) -> list[tuple[int, int]]:
    """Where the phrase of every label of a composition stands in its prompt: [first, end) in characters."""
    at, spans = task.template.index("{labels}"), []
    for label in composition:
        phrase = task.labels.phrases[label]
        spans.append((at, at + len(phrase)))
        at += len(phrase) + len(task.separator)
    return spans


# ---------------------------------------------------------------- numbers and points


def silhouette(vectors: np.ndarray, pair_labels: Sequence[int]) -> float | None:
    """Mean silhouette by label with the cosine distance.

    None where it is not defined (fewer than two labels, or a label a pair).
    """
    n_labels = len(set(pair_labels))
    if not 2 <= n_labels < len(pair_labels):
        return None
    return round(float(silhouette_score(vectors, pair_labels, metric="cosine")), 4)


def probe(vectors: np.ndarray, pair_labels: Sequence[int], pair_compositions: Sequence[int]) -> float | None:
    """Share of the pairs whose label has the nearest mean (cosine) in the other compositions.

    Every mean is without the pairs of the same composition: does a label look the same in a combination that nothing
    was learned from? None where fewer than two labels stand in two compositions.
    """
    labels, compositions = np.asarray(pair_labels), np.asarray(pair_compositions)
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    label_set = sorted(set(pair_labels))
    of_label = np.stack([unit[labels == label].sum(0) for label in label_set])  # [labels, width]
    right = []
    for at, vector in enumerate(unit):
        same = compositions == compositions[at]
        sums = of_label.copy()
        for label, gone in zip(labels[same], unit[same], strict=True):
            sums[label_set.index(label)] -= gone
        shown = np.array([(labels[~same] == label).any() for label in label_set])
        if shown[label_set.index(labels[at])] and shown.sum() > 1:
            means = sums[shown] / np.maximum(np.linalg.norm(sums[shown], axis=1, keepdims=True), 1e-12)
            right.append(np.flatnonzero(shown)[(means @ vector).argmax()] == label_set.index(labels[at]))
    return round(float(np.mean(right)), 4) if right else None


def flat(vectors: np.ndarray, seed: int) -> list[list[float]]:
    """t-SNE in two dimensions (perplexity 30, or what fewer pairs allow), scaled to [0, 1].

    Three digits are enough for a figure. One thread: the order in which several sum decides where the points end.
    """
    perplexity = min(PERPLEXITY, max((len(vectors) - 1) / 3, 1))
    tsne = TSNE(2, perplexity=perplexity, metric="cosine", init="random", random_state=seed)
    with threadpool_limits(1, user_api="openmp"):
        points = tsne.fit_transform(vectors)
    points = (points - points.min(0)) / np.maximum(np.ptp(points, axis=0), 1e-9)
    return [[round(float(x), 3), round(float(y), 3)] for x, y in points]
