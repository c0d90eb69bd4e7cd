"""Whether a model that writes between two texts goes from the one to the other (LINDA, §3.1 and §5).

For pairs of texts that it was not trained on and every alpha, the weight of the first text: how many words of what it
writes are in either text, how near it is to either for an encoder, how often it is one of them, or any known text, and
how fluent it is to the decoder.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from scipy.stats import spearmanr

from compaug.core.files import InputError
from compaug.core.records import Example, sub_seed, text_key
from compaug.evaluation.text_quality.quality import perplexity
from compaug.generators.linda import interpolation, linda, linda_prefix
from compaug.generators.linda.interpolation import Interpolation
from compaug.generators.shared.facts import facts_of
from compaug.generators.shared.real_rows import examples_of
from compaug.models.loading import IGNORED, load_encoder, mean_states, pad
from compaug.training import loop

OPENED = {"linda": linda.opened, "linda_prefix": linda_prefix.opened}
ALPHAS = tuple(at / 10 for at in range(11))
PAIRS = 100
BATCH = 64


def behaviour(generator: str, model_dir: Path, task, synthesis, backbones: Mapping[str, Path], seed: int) -> dict:
    """{"pairs": how many, "alphas": {alpha: measures}, "between": the two texts of a pair measured against each other}.

    Texts are decoded as for augmentation, so that this is what augmentation gets.

    InputError for a generator that writes between no texts, and where too few texts were held out of its training.
    """
    if generator not in OPENED:
        raise InputError(f"{generator!r} writes between no texts; choose from {', '.join(OPENED)}")
    facts, params, task = facts_of(model_dir, task)
    examples = interpolation.written(examples_of(model_dir, task), task)
    a, b = held_out_pairs(examples, facts["held_out"], seed)
    if not a:
        raise InputError(
            f"{model_dir}: fewer than two texts were held out of its training; raise generators.{generator}.validation"
        )
    model = OPENED[generator](model_dir, params, backbones)
    similarity = similarities(backbones["encoder"], params.max_length)
    known_keys = {text_key(example.text) for example in examples}
    measured = {}
    for alpha in ALPHAS:
        texts = interpolation.write_between(model, a, b, [alpha] * len(a), synthesis, sub_seed(seed, "between"))
        fluent = [text for text in texts if text]
        fluency = perplexity([""] * len(fluent), fluent, backbones["decoder"])
        scores = measures(texts, a, b, known_keys, similarity) | {"perplexity": fluency}
        measured[f"{alpha:g}"] = scores | preferences(model, a, b, alpha)
    between = {"precision": mean(precision(x, y) for x, y in zip(a, b, strict=True)), "similarity": similarity(a, b)}
    real = perplexity([""] * len(a), a, backbones["decoder"])
    return {"pairs": len(a), "alphas": measured, "between": between | {"perplexity": real}}


def held_out_pairs(examples: Sequence[Example], held_out: Collection[str], seed: int) -> tuple[list[str], list[str]]:
    """Texts that were held out, and for each of them another one.

    A text that is also among those learned from is none of them.
    """
    held = set(held_out)
    learned = {text_key(example.text) for example in examples if example.id not in held}
    text_of = {text_key(e.text): e.text for e in examples if e.id in held and text_key(e.text) not in learned}
    texts = list(text_of.values())
    order = np.random.default_rng(sub_seed(seed, "held out")).permutation(len(texts)).tolist()
    if len(texts) < 2:
        return [], []
    return [texts[at] for at in order][:PAIRS], [texts[at] for at in [*order[1:], order[0]]][:PAIRS]


# ---------------------------------------------------------------- measures


def measures(
    texts: Sequence[str],
    a: Sequence[str],
    b: Sequence[str],
    known_keys: Collection[str],
    similarity: Callable[[Sequence[str], Sequence[str]], float],
) -> dict[str, float]:
    """Means over the pairs; `known_keys` are the keys of all texts that the model may have seen."""
    keys = [text_key(text) for text in texts]
    copies = [key in (text_key(x), text_key(y)) for key, x, y in zip(keys, a, b, strict=True)]
    return {
        "precision_a": mean(precision(text, source) for text, source in zip(texts, a, strict=True)),
        "precision_b": mean(precision(text, source) for text, source in zip(texts, b, strict=True)),
        "similarity_a": similarity(texts, a),
        "similarity_b": similarity(texts, b),
        "copies": mean(copies),
        "novel": mean(bool(key) and key not in known_keys for key in keys),
        "words": mean(len(text.split()) for text in texts),
    }


def precision(text: str, source: str) -> float:
    """Share of the words of a text that are in the source, each as often as it is there at most.

    0 for a text without words.
    """
    words, there = Counter(text.lower().split()), Counter(source.lower().split())
    return (words & there).total() / words.total() if words else 0.0


def similarities(encoder_dir: Path, max_length: int) -> Callable[[Sequence[str], Sequence[str]], float]:
    """The mean cosine of texts and others, by an encoder's mean states."""
    tokenizer, encoder = load_encoder(encoder_dir)
    encoder.to(loop.device())

    def similarity(texts: Sequence[str], others: Sequence[str]) -> float:
        first, second = (mean_states(encoder, tokenizer, list(side), max_length, BATCH) for side in (texts, others))
        return float(torch.cosine_similarity(first, second).mean())

    return similarity


def preferences(model: Interpolation, a: Sequence[str], b: Sequence[str], alpha: float) -> dict[str, float]:
    """The article's desiderata.

    prefers_a   share of the pairs with p(x^a) > p(x^b)
    mass        mean of p(x^a) + p(x^b), which must be well below 1 where alpha is near 0.5, or nothing but the two
                texts is likely
    """
    limit, body = model.params.max_length, model.body
    first, second = body.sources(a, limit), body.sources(b, limit)
    prefers, mass = [], []
    with torch.no_grad():
        for start in range(0, len(a), BATCH):
            part = slice(start, start + BATCH)
            mixed, mask = model.between(first[part], second[part], [alpha] * len(a[part]))
            labels, _ = pad(body.targets([*a[part], *b[part]], limit), IGNORED)
            nll_a, nll_b = body.nll(mixed, mask, labels.to(mixed.device)).sum(1).chunk(2)
            prefers += (nll_a < nll_b).tolist()
            mass += ((-nll_a).exp() + (-nll_b).exp()).tolist()
    return {"prefers_a": mean(prefers), "mass": mean(mass)}


def monotony(measured: Mapping[str, Mapping[str, float]], name: str) -> float:
    """Spearman's correlation of alpha and the mean of a measure.

    1: it grows with every step; 0 where it never moves.
    """
    values = [scores[name] for scores in measured.values()]
    return float(spearmanr(range(len(values)), values).statistic) if len(set(values)) > 1 else 0.0


def mean(values) -> float:
    return float(np.mean(list(values)))
