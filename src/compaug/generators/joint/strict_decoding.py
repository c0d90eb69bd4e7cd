"""A decoder that can write nothing but augmented language: a step has only the tokens that some sentence has there.

Only what is cut for its length can still be unreadable.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from compaug.generators.joint.augmented_language import BAR, BEGIN, CLOSE, END, OPEN, Follows, Language
from compaug.models.sampling import Step

INSIDE = "a"  # a token is decoded behind it: some tokenizers drop a space at the beginning of a text
BRACKETS = (BEGIN, END, BAR)


class Vocabulary:
    """What each token of a tokenizer adds to a text, by the part that it can play in augmented language."""

    def __init__(self, tokenizer) -> None:
        self.eos = tokenizer.eos_token_id
        ((before, *_),) = tokenizer([INSIDE], add_special_tokens=False)["input_ids"]
        skip = len(tokenizer.decode([before]))
        texts = [text[skip:] for text in tokenizer.batch_decode([[before, at] for at in range(len(tokenizer))])]
        special = set(tokenizer.all_special_ids)
        self.adds = ["" if at in special else text for at, text in enumerate(texts)]  # "": cannot be written
        self.of: dict[str, list[int]] = {}
        for at, text in enumerate(self.adds):
            self.of.setdefault(text, []).append(at)
        words = [bool(text) and not any(mark in text for mark in (*BRACKETS, OPEN, CLOSE)) for text in self.adds]
        self.words = torch.tensor(words)  # [vocabulary]; so are these
        self.apart = self.words & torch.tensor([text[:1].isspace() for text in self.adds])
        self.no_parenthesis = self.words & ~torch.tensor([text[:1] in (OPEN[0], CLOSE[0]) for text in self.adds])

    def texts_of(self, tokens: Tensor) -> list[str]:
        """Texts of the rows of tokens [B, T]."""
        return ["".join(self.adds[at] for at in row) for row in tokens.tolist()]

    def allowed(self, text: str, follows: Follows) -> Tensor:
        """The tokens that may come behind a text.  # [vocabulary]"""
        if follows.phrases:
            mask = torch.zeros(len(self.adds), dtype=torch.bool)
            for phrase in set(follows.phrases):
                for end in range(1, len(phrase) + 1):
                    mask[self.of.get(phrase[:end], [])] = True
        else:
            mask = self._words(text).clone()
            if follows.mark:
                mask[self.of.get(follows.mark if text.endswith(" ") else f" {follows.mark}", [])] = True
        if follows.end or not mask.any():
            mask[self.eos] = True
        return mask

    def _words(self, text: str) -> Tensor:
        if text.endswith((*(f" {mark}" for mark in (BEGIN, END)), f" {CLOSE}")):
            return self.apart  # a mark is a word of its own
        return self.no_parenthesis if text.endswith((OPEN[0], CLOSE[0])) else self.words  # two of them would be a mark

    def spells(self, language: Language) -> bool:
        """Whether each letter of its phrases has a token of its own.

        Of a script whose letters take several, tokens are no beginnings of a phrase.
        """
        return set(language.alphabet()) <= self.of.keys()


class StrictStep:
    """A `sampling.Step` behind which only sentences of a language can be written."""

    def __init__(self, step: Step, language: Language, vocabulary: Vocabulary) -> None:
        self.step, self.language, self.vocabulary = step, language, vocabulary
        self.width: int | None = None  # of what the decoder is shown

    def __call__(self, tokens: Tensor, seen: Tensor, new: int) -> Tensor:
        self.width = tokens.shape[1] if self.width is None else self.width
        logits = self.step(tokens, seen, new)  # [B, at least vocabulary]
        texts = self.vocabulary.texts_of(tokens[:, self.width :])
        allowed = torch.stack([self.vocabulary.allowed(text, self.language.follows(text)) for text in texts])
        allowed = F.pad(allowed, (0, logits.shape[1] - allowed.shape[1]))
        return logits.masked_fill(~allowed.to(logits.device), -torch.inf)

    def keep(self, rows: Tensor) -> None:
        self.step.keep(rows)
