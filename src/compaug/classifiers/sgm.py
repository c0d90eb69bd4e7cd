"""BERT+SGM: the labels as a sequence, most frequent first, by an LSTM that attends to the text (Yang et al. 2018).

A label is never written twice; the sequence may end before its first label, which is the empty set.
"""

from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor, nn

from compaug.classifiers import body

ROLES = ("encoder",)

THRESHOLD = 0.5  # of a soft target: a sequence has a label or it has not


class BertSgm(nn.Module):
    """Symbols: the labels 0 .. n - 1 by falling frequency, then EOS; BOS is an input only."""

    def __init__(self, encoder: nn.Module, facts: Mapping) -> None:
        super().__init__()
        settings, width, n_labels = facts["settings"], encoder.config.hidden_size, facts["n_labels"]
        embedding, hidden = settings["embedding"], settings["hidden"]
        self.backbone, self.n_labels, self.beams = encoder, n_labels, settings["beams"]
        order = sorted(range(n_labels), key=lambda label: (-facts["positives"][label], label))
        self.register_buffer("order", torch.tensor(order))  # symbol -> label
        self.embedding = nn.Embedding(n_labels + 2, embedding)
        self.gate_chosen = nn.Linear(embedding, embedding, bias=False)  # W1
        self.gate_global = nn.Linear(embedding, embedding)  # W2
        self.cell = nn.LSTMCell(embedding + width, hidden)
        self.query = nn.Linear(hidden, width, bias=False)  # W
        self.key = nn.Linear(width, width)  # U
        self.score = nn.Linear(width, 1, bias=False)  # v
        self.from_state = nn.Linear(hidden, hidden, bias=False)  # W_d
        self.from_context = nn.Linear(width, hidden)  # V_d
        self.out = nn.Linear(hidden, n_labels + 1)  # W_o
        self.drop = nn.Dropout(settings["dropout"])

    # -------------------------------------------------------------- one step

    def memory(self, input_ids: Tensor, attention_mask: Tensor) -> dict[str, Tensor]:
        """h_i and U h_i of the text, and where it ends."""
        states = self.backbone(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state  # [B, T, H]
        return {"states": states, "keys": self.key(states), "padding": attention_mask == 0}

    def start(self, memory: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Nothing is written yet: zero states, BOS as the last symbol."""
        states = memory["states"]
        batch, width = len(states), states.shape[2]
        hidden = states.new_zeros(batch, self.cell.hidden_size)
        first = self.embedding.weight[self.n_labels + 1].expand(batch, -1)  # BOS
        written = states.new_zeros(batch, self.n_labels + 1, dtype=torch.bool)
        return {"h": hidden, "c": hidden, "context": states.new_zeros(batch, width), "input": first, "written": written}

    def step(self, state: dict[str, Tensor], memory: Mapping[str, Tensor]) -> Tensor:
        """Log-probabilities of the next symbol [B, n_labels + 1]; moves `state` on."""
        inputs = torch.cat([self.drop(state["input"]), state["context"]], dim=1)
        state["h"], state["c"] = self.cell(inputs, (state["h"], state["c"]))  # s_t
        scores = self.score(torch.tanh(self.query(state["h"])[:, None] + memory["keys"])).squeeze(2)  # e_t [B, T]
        weights = scores.masked_fill(memory["padding"], -torch.inf).softmax(1)
        state["context"] = (weights[:, None] @ memory["states"]).squeeze(1)  # c_t
        output = self.out(self.drop(torch.tanh(self.from_state(state["h"]) + self.from_context(state["context"]))))
        return output.float().masked_fill(state["written"], -torch.inf).log_softmax(1)  # o_t + I_t

    def write(self, state: dict[str, Tensor], log_p: Tensor, symbol: Tensor) -> None:
        """Take `symbol` [B] as the last one: the next input mixes its embedding with the expected (global) one."""
        table = self.embedding.weight[: self.n_labels + 1]
        chosen, expected = table[symbol], log_p.exp().to(table.dtype) @ table
        gate = torch.sigmoid(self.gate_chosen(chosen) + self.gate_global(expected))
        state["input"] = (1 - gate) * chosen + gate * expected
        is_label = symbol < self.n_labels
        taken = nn.functional.one_hot(symbol, self.n_labels + 1).bool() & is_label[:, None]
        state["written"] = state["written"] | taken

    # -------------------------------------------------------------- training, decoding

    def forward(self, input_ids: Tensor, attention_mask: Tensor, targets: Tensor) -> dict[str, Tensor]:
        """Mean cross-entropy of the gold sequence's symbols, EOS included; a soft target counts from 0.5 up."""
        gold = (targets > THRESHOLD)[:, self.order]  # [B, n] in the order of the symbols
        count = gold.sum(1)
        rank = torch.where(gold, gold.cumsum(1) - 1, self.n_labels)  # when each symbol is written
        longest = int(count.max()) + 1
        sequence = input_ids.new_full((len(gold), self.n_labels + 1), self.n_labels)  # EOS everywhere
        symbols = torch.arange(self.n_labels, device=gold.device).expand_as(gold)
        sequence.scatter_(1, rank, torch.where(gold, symbols, self.n_labels))
        memory = self.memory(input_ids, attention_mask)
        state, losses = self.start(memory), []
        for at in range(longest):
            log_p = self.step(state, memory)
            losses.append(-log_p.gather(1, sequence[:, at, None]).squeeze(1) * (at <= count))
            self.write(state, log_p, sequence[:, at])
        return {"loss": torch.stack(losses).sum() / (count + 1).sum()}

    @torch.no_grad()
    def probabilities(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Beam search over label sequences as numbers; exactly the written set lies above 0.5.

        A label in the written set has (1 + p) / 2 with p its probability when it was written, any other half of the
        highest probability that it ever had. A row leaves as soon as its best sequence has ended: scores only fall, so
        nothing can pass it. Shapes: R rows that are still written, k beams each, n labels.
        """
        n, k, where = self.n_labels, self.beams, input_ids.device
        memory = self.memory(input_ids, attention_mask)
        memory = {name: value.repeat_interleave(k, dim=0) for name, value in memory.items()}  # [R k, ...]
        state = self.start(memory)  # [R k, ...]
        alive = torch.arange(len(input_ids), device=where)  # the R rows
        scores = torch.full((len(alive), k), -torch.inf, device=where)  # log-probabilities of the sequences
        scores[:, 0] = 0.0  # all beams begin alike, so only one of them goes on
        ended = torch.zeros_like(scores, dtype=torch.bool)
        numbers = torch.zeros(len(alive), k, n, device=where)
        answers = torch.zeros(len(alive), n, device=where)  # of all rows, in the order of the symbols
        while len(alive):
            log_p = self.step(state, memory).view(len(alive), k, n + 1)
            numbers = torch.where(ended[..., None], numbers, torch.maximum(numbers, log_p[..., :n].exp() / 2))
            scores, beam, symbol = continued(scores, ended, log_p)
            log_p, numbers, ended = (value.flatten(0, 1)[beam] for value in (log_p, numbers, ended))  # [R k, ...]
            state = {name: value[beam] for name, value in state.items()}
            ended = ended | (symbol == n)
            wrote = (~ended).nonzero()[:, 0]
            numbers[wrote, symbol[wrote]] = (1 + log_p.exp()[wrote, symbol[wrote]]) / 2
            self.write(state, log_p, symbol)
            numbers, ended = numbers.view(-1, k, n), ended.view(-1, k)
            done = ended[:, 0]  # the first beam is the best
            answers[alive[done]] = numbers[done, 0]
            alive, scores, ended, numbers = (value[~done] for value in (alive, scores, ended, numbers))
            beams_left = (~done).repeat_interleave(k)
            state, memory = ({name: value[beams_left] for name, value in part.items()} for part in (state, memory))
        in_label_order = torch.zeros_like(answers)
        in_label_order[:, self.order] = answers
        return in_label_order


def continued(scores: Tensor, ended: Tensor, log_p: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The k best sequences of each row after one more symbol, the best first.

    `scores` and `ended` [R, k] are of the sequences before it, `log_p` [R, k, n + 1] of each symbol, the last being
    EOS. Returns their scores [R, k], and for each of all R k the beam that it goes on from and the symbol [R k].
    """
    rows, k, symbols = log_p.shape
    at_no_cost = torch.full((symbols,), -torch.inf, device=log_p.device)
    at_no_cost[-1] = 0.0  # an ended sequence stays as it is
    moves = scores[..., None] + torch.where(ended[..., None], at_no_cost, log_p)
    scores, flat = moves.flatten(1).topk(k, dim=1)
    first_beams = torch.arange(rows, device=flat.device)[:, None] * k
    return scores, (first_beams + flat // symbols).flatten(), (flat % symbols).flatten()


build = BertSgm
train = partial(body.train, "sgm", build)
predict = partial(body.predict, build)
