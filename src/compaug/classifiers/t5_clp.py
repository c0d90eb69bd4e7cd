"""T5+CLP: a sequence-to-sequence model writes one sentence for every label; label embeddings in front of the text are
pulled together by a contrastive loss where labels stand together (Chai et al. 2022).
"""

import re
from collections.abc import Mapping
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from compaug.classifiers import body
from compaug.core.files import InputError
from compaug.models.loading import IGNORED, BaseModelOutput, load_seq2seq, pad

ROLES = ("seq2seq",)
SEPARATOR = "[SSEP]"  # between two sentences, where the settings name nothing else
THRESHOLD = 0.5  # of a soft target: a sentence is written or it is not
SMALL = 0.01  # in the logarithm of L_con


class T5Clp(nn.Module):
    """E [n_labels, H] stands in front of the text's token embeddings; its states are hidden from the decoder."""

    def __init__(self, backbone: nn.Module, facts: Mapping) -> None:
        super().__init__()
        settings, n_labels = facts["settings"], facts["n_labels"]
        self.backbone, self.n_labels, self.settings, self.phrases = backbone, n_labels, settings, facts["phrases"]
        if settings["empty_word"] in self.phrases:
            raise InputError(
                f"classifiers.t5_clp.empty_word: {settings['empty_word']!r} is a label's phrase, "
                "so it cannot stand for no label; set another word"
            )
        if settings["template"].count("{label}") != 1:
            raise InputError("classifiers.t5_clp.template must contain {label} exactly once")
        self.separator = (settings.get("separator") or SEPARATOR).strip()
        for words in (settings["template"], settings["empty_word"], *self.phrases):
            if _plain(self.separator) in _plain(words):
                raise InputError(
                    f"classifiers.t5_clp.separator: {self.separator!r} is inside {words!r}, "
                    "so answers could not be cut at it; set another one"
                )
        self.labels = nn.Parameter(torch.randn(n_labels, backbone.config.d_model))  # E
        self.register_buffer("never", (torch.tensor(facts["pairs"]) == 0).fill_diagonal_(False))  # no row has both

    def take_tokenizer(self, tokenizer) -> None:
        """The sentences of the labels, as tokens and as a pattern."""
        template, words = self.settings["template"], [*self.phrases, self.settings["empty_word"]]
        self.tokenizer = tokenizer
        encoded = tokenizer([template.replace("{label}", word) for word in words], add_special_tokens=False)
        *self.sentences, self.empty = encoded["input_ids"]
        self.between = tokenizer(f" {self.separator} ", add_special_tokens=False)["input_ids"]
        before, after = (re.escape(_plain(part)) for part in template.split("{label}"))
        self.pattern = re.compile(f"{before}(.*?){after}")
        self.label_of = {_plain(phrase): label for label, phrase in enumerate(self.phrases)}
        self.label_of[_plain(self.settings["empty_word"])] = None
        self.longest = sum(len(sentence) + len(self.between) for sentence in self.sentences) + 1

    # -------------------------------------------------------------- the text, the answer

    def states(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Encoder states that the decoder sees [B, S, H] and their mask [B, S]."""
        embedded = self.backbone.get_input_embeddings()(input_ids)
        batch = len(input_ids)
        embedded = torch.cat([self.labels.to(embedded.dtype).expand(batch, -1, -1), embedded], dim=1)  # [B, n + T, H]
        mask = torch.cat([attention_mask.new_ones(batch, self.n_labels), attention_mask], dim=1)
        hidden = self.backbone.get_encoder()(inputs_embeds=embedded, attention_mask=mask).last_hidden_state
        first = 0 if self.settings["show_labels"] else self.n_labels
        return hidden[:, first:], mask[:, first:]

    def written(self, label_set: list[int]) -> list[int]:
        """Tokens of the sentences of a label set, in label-id order, and the end."""
        tokens: list[int] = []
        for place, label in enumerate(label_set):
            tokens += (self.between if place else []) + self.sentences[label]
        return [*(tokens or self.empty), self.tokenizer.eos_token_id]

    def read(self, answer: str) -> tuple[list[int], int]:
        """(labels, pieces that are no sentence about a label) of a written answer.

        With `strict` one such piece empties the set.
        """
        labels, unparsed = [], 0
        for piece in _plain(answer).split(_plain(self.separator)):
            match = self.pattern.fullmatch(piece.strip())
            if match is None or match[1].strip() not in self.label_of:
                unparsed += 1
            elif (label := self.label_of[match[1].strip()]) is not None:
                labels.append(label)
        return ([] if unparsed and self.settings["strict"] else sorted(set(labels))), unparsed

    # -------------------------------------------------------------- training, decoding

    def forward(self, input_ids: Tensor, attention_mask: Tensor, targets: Tensor) -> dict[str, Tensor]:
        """0.9 CE of the answer's tokens + 0.1 L_con; a soft target counts from 0.5 up."""
        hard = targets > THRESHOLD
        ids, _ = pad([self.written(row.nonzero()[:, 0].tolist()) for row in hard.cpu()], IGNORED)
        ids = ids.to(input_ids.device)
        losses = self._token_losses(*self.states(input_ids, attention_mask), ids)
        cross_entropy = losses.sum() / (ids != IGNORED).sum()
        contrast = contrastive_loss(self.labels, hard, self.never, self.settings["tau"])
        weight = self.settings["contrast"]
        return {"loss": (1 - weight) * cross_entropy + weight * contrast, "ce": cross_entropy, "contrast": contrast}

    def _token_losses(self, states: Tensor, mask: Tensor, ids: Tensor) -> Tensor:
        """-log p of every token of the answers `ids` [B, T], 0 where they are IGNORED."""
        logits = self.backbone(
            encoder_outputs=BaseModelOutput(states),
            attention_mask=mask,
            decoder_input_ids=self.backbone.prepare_decoder_input_ids_from_labels(labels=ids),
            use_cache=False,
        ).logits
        return F.cross_entropy(logits.float().transpose(1, 2), ids, ignore_index=IGNORED, reduction="none")

    @torch.no_grad()
    def answers(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, np.ndarray]:
        """Beam search as numbers; exactly the labels of the answer lie above 0.5.

        With c the geometric mean of the probabilities of the answer's tokens, a label has (1 + c) / 2 when it is in the
        answer and (1 - c) / 2 when it is not.
        """
        states, mask = self.states(input_ids, attention_mask)
        sequences = self.backbone.generate(
            encoder_outputs=BaseModelOutput(states),
            attention_mask=mask,
            num_beams=self.settings["beams"],
            do_sample=False,
            max_new_tokens=self.longest,
        )[:, 1:]  # without the start token
        end = self.tokenizer.eos_token_id
        over = (sequences == end).cumsum(1) - (sequences == end).long() > 0  # after the first end
        losses = self._token_losses(states, mask, sequences.masked_fill(over, IGNORED))
        sure = (-losses.sum(1) / (~over).sum(1)).exp()  # c [B]
        texts = self.tokenizer.batch_decode(sequences.masked_fill(over, end), skip_special_tokens=True)
        read = [self.read(text) for text in texts]
        inside = torch.zeros(len(read), self.n_labels, dtype=torch.bool, device=sure.device)
        for row, (labels, _) in enumerate(read):
            inside[row, labels] = True
        probabilities = torch.where(inside, 1 + sure[:, None], 1 - sure[:, None]) / 2
        return probabilities, np.array([unparsed for _, unparsed in read])

    def probabilities(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.answers(input_ids, attention_mask)[0]


def contrastive_loss(labels: Tensor, present: Tensor, never: Tensor, tau: float) -> Tensor:
    """L_con of the label embeddings E [n, H]; the mean over all labels, 0 for one without positives.

    P(i) are the labels that stand with i in a row of the batch `present` [B, n], N(i) those that `never` [n, n] do in
    the training data. The largest similarity of the labels that take part is subtracted first, as in the original; with
    0.01 in the logarithm that is more than a numerical precaution.
    """
    together = present.to(labels.dtype)
    positive = (together.T @ together > 0).fill_diagonal_(False)  # P(i)
    takes_part = positive | never
    unit = F.normalize(labels.float(), dim=1)  # e_i
    scores = unit @ unit.T / tau
    scores = scores - scores.detach().masked_fill(~takes_part, -torch.inf).amax(1, keepdim=True).nan_to_num(neginf=0.0)
    log_sum = ((scores.exp() * takes_part).sum(1, keepdim=True) + SMALL).log()
    count = positive.sum(1)
    return (-((scores - log_sum) * positive).sum(1) / count.clamp(min=1)).mean()


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


build = T5Clp
train = partial(body.train, "t5_clp", build, load_backbone=load_seq2seq)
predict = partial(body.predict, build, load_backbone=load_seq2seq)
answers = partial(body.answers, build, load_backbone=load_seq2seq)
