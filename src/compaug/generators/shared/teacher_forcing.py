"""What a generator thinks of its training texts after an epoch, for data maps (cartography spec, sections 1 and 5.B).

The probabilities of their tokens, each after the text's own tokens before it, and of a sample how well its greedy text
fits.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from accelerate.utils import send_to_device
from torch import Tensor

from compaug.cartography import maps
from compaug.core.records import sub_seed
from compaug.training.batching import batches_by_length
from compaug.training.loop import device

VALUES = (*maps.GENERATED, "right")  # of a text after an epoch
KEPT = len(maps.TOKEN_MEASURES)


def values(
    rows: Sequence[Mapping],
    collate: Callable[[list], dict[str, Tensor]],
    batch_size: int,
    logits_of: Callable[[Mapping[str, Tensor]], Tensor],
    greedy: Callable[[list[int]], list[tuple[str, str]]],
    bleu_share: float | None,
    seed: int,
    decode_right: bool = True,
) -> np.ndarray:
    """VALUES of every row: the measures, and whether greedy decoding gives the text itself.  # float32 [n, 4]

    It does where every token of the text is the most likely one after those before it. `logits_of(batch)` [tokens,
    vocabulary] are those of the batch's "targets". BLEU is of a random share of the rows, the same in every epoch, and
    NaN of the others; `greedy(rows)` gives the decoded and the original text of row numbers. Without `decode_right` a
    text that is right is not decoded: its BLEU is 1.
    """
    table = np.full((len(rows), len(VALUES)), np.nan, dtype=np.float32)
    with torch.no_grad():
        for numbers in batches_by_length([row["length"] for row in rows], batch_size):
            batch = send_to_device(collate([rows[number] for number in numbers]), device())
            logits = logits_of(batch)
            probabilities = logits.softmax(-1).gather(1, batch["targets"][:, None])[:, 0].double().cpu().numpy()
            best = (logits.argmax(-1) == batch["targets"]).cpu().numpy()
            ends = np.cumsum([len(rows[number]["input_ids"]) - rows[number]["first"] for number in numbers])[:-1]
            for number, of_text, right in zip(
                numbers, np.split(probabilities, ends), np.split(best, ends), strict=True
            ):
                table[number, :KEPT] = [measure(of_text) for measure in maps.TOKEN_MEASURES.values()]
                table[number, -1] = right.all()
    if bleu_share:
        count = max(1, round(bleu_share * len(rows)))
        sample, at = np.random.default_rng(sub_seed(seed, "bleu")).permutation(len(rows))[:count], VALUES.index("bleu")
        table[sample, at] = 1
        to_decode = [row for row in sample.tolist() if decode_right or not table[row, -1]]
        table[to_decode, at] = [maps.bleu(text, original) for text, original in greedy(to_decode)]
    return table
