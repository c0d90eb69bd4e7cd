"""How good generated texts are, from the texts alone: variety, copying, length, fluency.

Everything is measured on at most `SAMPLE` texts drawn with a fixed seed, so that generators which kept different
numbers of texts are compared on equal numbers and memory does not grow with them; the corpus is read once, as a stream.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from compaug.core.records import Example, Labels, sub_seed, text_key

SAMPLE = 500  # texts
BLEU_TEXTS = 100  # of the sample, each against all others
SEED_WORDS = 4  # copied runs are found from shared runs of so many words
LONG_RUN = 8  # words in a row from one training text that count as copying
BATCH = 64


def draw(examples: Sequence[Example], n: int = SAMPLE) -> list[Example]:
    """n of the texts, the same at every call, in their order."""
    rows = np.random.default_rng(sub_seed(0, "quality")).permutation(len(examples))[:n]
    return [examples[row] for row in sorted(rows.tolist())]


def distinct(texts: Sequence[str], n: int) -> float | None:
    """Share of different n-grams of words among all n-grams (Li et al. 2016); None without any."""
    grams = [gram for text in texts for gram in _ngrams(text.lower().split(), n)]
    return len(set(grams)) / len(grams) if grams else None


def self_bleu(texts: Sequence[str]) -> float | None:
    """Mean sentence BLEU of every text against all others (Zhu et al. 2018), 0 to 100; None for less than two."""
    from sacrebleu.metrics import BLEU

    texts = list(texts[:BLEU_TEXTS])
    if len(texts) < 2:
        return None
    bleu = BLEU(effective_order=True, lowercase=True)
    scores = [bleu.sentence_score(text, texts[:at] + texts[at + 1 :]).score for at, text in enumerate(texts)]
    return float(np.mean(scores))


def copied(texts: Sequence[str], corpus: Iterable[str]) -> dict[str, float | None]:
    """Copies from `corpus`.

        exact       share of texts that equal one of its texts
        mean_run    longest run of words that a text shares with one of them, mean over texts (below `SEED_WORDS`: 0)
        long_run    share of texts whose run has at least `LONG_RUN` words

    Runs are grown from shared n-grams of `SEED_WORDS` words, so that a corpus is one pass over its words.
    """
    words = [text.lower().split() for text in texts]
    places: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    for number, text in enumerate(words):
        for at, gram in enumerate(_ngrams(text, SEED_WORDS)):
            places.setdefault(gram, []).append((number, at))
    keys = {text_key(text) for text in texts}
    longest, exact = [0] * len(texts), set()
    for real in corpus:
        if (key := text_key(real)) in keys:
            exact.add(key)
        real_words = real.lower().split()
        for at, gram in enumerate(_ngrams(real_words, SEED_WORDS)):
            for number, start in places.get(gram, ()):
                if start and at and words[number][start - 1] == real_words[at - 1]:
                    continue  # this run was grown from an earlier word
                pairs = zip(words[number][start:], real_words[at:], strict=False)
                length = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
                longest[number] = max(longest[number], length)
    if not texts:
        return {"exact": None, "mean_run": None, "long_run": None}
    return {
        "exact": sum(text_key(text) in exact for text in texts) / len(texts),
        "mean_run": float(np.mean(longest)),
        "long_run": float(np.mean([run >= LONG_RUN for run in longest])),
    }


def lengths(texts: Sequence[str]) -> dict[str, float | None]:
    """Words per text: mean and the 5 %, 50 % and 95 % quantiles."""
    if not texts:
        return dict.fromkeys(("mean", "p5", "p50", "p95"))
    counts = [len(text.split()) for text in texts]
    low, middle, high = np.quantile(counts, [0.05, 0.5, 0.95])
    return {"mean": float(np.mean(counts)), "p5": float(low), "p50": float(middle), "p95": float(high)}


def perplexity(prompts: Sequence[str], texts: Sequence[str], decoder: Path) -> float | None:
    """exp of the mean negative log-likelihood per token of the texts (end of text included), each after its prompt.

    Under the decoder in this folder: how a text reads to a model that knows what it is to say.
    """
    import torch

    from compaug.models.loading import frozen, load_decoder, pad
    from compaug.models.prefix_decoder import shape
    from compaug.training.batching import batches_by_length
    from compaug.training.loop import device

    if not texts:
        return None
    tokenizer, model = load_decoder(decoder)
    frozen(model)
    end, limit = tokenizer.eos_token_id, shape(model.config).positions
    heads = tokenizer(list(prompts))["input_ids"]
    ids = [
        [*head, *text, end][:limit]
        for head, text in zip(heads, tokenizer([f" {text}" for text in texts])["input_ids"], strict=True)
    ]
    total, count = 0.0, 0
    with torch.inference_mode():
        for rows in batches_by_length([len(row) for row in ids], BATCH):
            batch, mask = (tensor.to(device()) for tensor in pad([ids[row] for row in rows], end))  # [B, T]
            for at, row in enumerate(rows):
                mask[at, : len(heads[row])] = 0  # the prompt is read and not judged
            scores = model(batch).logits[:, :-1].float().log_softmax(-1)  # padding comes after every token that counts
            chosen = scores.gather(2, batch[:, 1:, None]).squeeze(2) * mask[:, 1:]
            total, count = total - float(chosen.sum()), count + int(mask[:, 1:].sum())
    return math.exp(total / count) if count else None  # prompts that leave no room


def agreement(examples: Sequence[Example]) -> dict[str, float | None]:
    """The filter's reading of the kept texts: mean Jaccard index with the requested labels, share that is exact."""
    scores = [example.filter_jacc for example in examples if example.filter_jacc is not None]
    if not scores:
        return {"jacc": None, "exact": None}
    return {"jacc": float(np.mean(scores)), "exact": float(np.mean([score == 1.0 for score in scores]))}


def coverage(kept: Sequence[Example], drawn: Mapping[str, int], labels: Labels) -> float | None:
    """Percent of the label generator's draws {composition: how often} whose composition has a kept text.

    Below 100 where a generator cannot make some (Concat), or the filter takes all texts of one.
    """
    written = {labels.key(example.labels) for example in kept}
    total = sum(drawn.values())
    return 100 * sum(times for composition, times in drawn.items() if composition in written) / total if total else None


def measure(
    kept: Sequence[Example], corpus: Iterable[str], decoder: Path, prompt_of: Callable[[Sequence[int]], str]
) -> Mapping[str, object]:
    """Every measure of one generator's kept texts; `prompt_of(labels)` is P(y)."""
    sample = draw(kept)
    texts = [example.text for example in sample]
    return {
        "n": len(kept),
        "sample": len(texts),
        "filter": agreement(kept),
        "distinct_1": distinct(texts, 1),
        "distinct_2": distinct(texts, 2),
        "self_bleu": self_bleu(texts),
        "copied": copied(texts, corpus),
        "words": lengths(texts),
        "perplexity": perplexity([prompt_of(example.labels) for example in sample], texts, decoder),
    }


def _ngrams(words: Sequence[str], n: int) -> Iterable[tuple[str, ...]]:
    return zip(*(words[at:] for at in range(n)), strict=False)
