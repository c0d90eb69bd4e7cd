"""The label and content encoders of LD-VAE: many small biGRUs that run together (paper, Eqs. 9 to 11).

A batch needs one encoder per label that occurs in it, on the rows that have the label, and the content encoder on every
row. Their sequences are sorted into slots of equal size, each slot with the weights of its encoder, so that one loop
over time with one batched matrix product per step serves all encoders and both directions. Encoders so wide that a
CPU's time goes into the products themselves run one after the other.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

SLOTS = ("lengths", "slot_encoder", "slot_row", "slot_filled", "slot_of")  # of a batch, what the posteriors take
WIDE = 512  # of the states, from which on products cost a CPU more than calls; measured at 128, 384 and 768


def slots(label_sets: Sequence[Sequence[int]], n_labels: int) -> dict[str, Tensor]:
    """Sort the N (row, label) pairs and the B rows of a batch into S slots of g sequences of one encoder each.

    slot_encoder [S]: label id, or n_labels for the content encoder; slot_row [S, g]: the batch row of a place (0 where
    empty); slot_filled [S, g]; slot_of [N + B]: flat place of every pair, in order, then of every row.
    """
    pairs = [(label, row) for row, label_set in enumerate(label_sets) for label in label_set]
    content = [(n_labels, row) for row in range(len(label_sets))]
    by_encoder: dict[int, list[tuple[int, int]]] = {}
    for item, (encoder, row) in enumerate(pairs + content):
        by_encoder.setdefault(encoder, []).append((item, row))
    size = max(len(items) for encoder, items in by_encoder.items() if encoder != n_labels or len(by_encoder) == 1)
    chunks = [
        (encoder, items[at : at + size])
        for encoder, items in sorted(by_encoder.items())
        for at in range(0, len(items), size)  # the content encoder has most rows and takes several slots
    ]
    slot_row = torch.zeros(len(chunks), size, dtype=torch.long)
    slot_filled = torch.zeros(len(chunks), size, dtype=torch.bool)
    slot_of = torch.zeros(len(pairs) + len(content), dtype=torch.long)
    for slot, (_, items) in enumerate(chunks):
        for place, (item, row) in enumerate(items):
            slot_row[slot, place], slot_filled[slot, place], slot_of[item] = row, True, slot * size + place
    encoders = torch.tensor([encoder for encoder, _ in chunks])
    return {"slot_encoder": encoders, "slot_row": slot_row, "slot_filled": slot_filled, "slot_of": slot_of}


class Posterior(nn.Module):
    """Q(z_y | x, y) for every label and Q(z_c | x): biGRU, pooling, one linear map to the mean and log variance.

    Encoder n_labels is the content encoder, always mean-pooled. `pool` "last" gives label encoders their final forward
    and backward states; `shared_heads` gives all labels one head (docs/spec/ld-vae.md, 11.8 and 11.9).
    """

    def __init__(self, n_labels: int, width: int, latent: int, pool: str = "mean", shared_heads: bool = False) -> None:
        super().__init__()
        self.n_labels, self.hidden, self.pool = n_labels, width // 2, pool
        encoders, gates = n_labels + 1, 3 * self.hidden
        head_of = [0] * n_labels + [1] if shared_heads else range(encoders)
        self.register_buffer("head_of", torch.tensor(head_of), persistent=False)
        heads = max(head_of) + 1
        self.w_ih = nn.Parameter(torch.empty(encoders, 2, gates, width))  # gates in the order reset, update, new
        self.w_hh = nn.Parameter(torch.empty(encoders, 2, gates, self.hidden))
        self.b_ih = nn.Parameter(torch.empty(encoders, 2, gates))
        self.b_hh = nn.Parameter(torch.empty(encoders, 2, gates))
        self.head = nn.Parameter(torch.empty(heads, 2 * latent, 2 * self.hidden))  # both maps of Eq. 10
        self.head_bias = nn.Parameter(torch.empty(heads, 2 * latent))
        for parameter in (self.w_ih, self.w_hh, self.b_ih, self.b_hh):
            nn.init.uniform_(parameter, -1 / math.sqrt(self.hidden), 1 / math.sqrt(self.hidden))  # as torch.nn.GRU
        for parameter in (self.head, self.head_bias):
            nn.init.uniform_(parameter, -1 / math.sqrt(2 * self.hidden), 1 / math.sqrt(2 * self.hidden))

    def forward(
        self,
        states: Tensor,
        lengths: Tensor,
        slot_encoder: Tensor,
        slot_row: Tensor,
        slot_filled: Tensor,
        slot_of: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Means and log variances, each [N + B, latent], of all pairs, then of the content of all rows.

        states: [B, T, H], right-padded; lengths: [B]. In float32 also under mixed precision: the recurrence is long and
        small.
        """
        wide = states.device.type == "cpu" and states.shape[-1] >= WIDE
        of_places = self.pooled_in_turn if wide else self.pooled
        with torch.autocast(states.device.type, enabled=False):
            pooled = of_places(states.float(), lengths, slot_encoder, slot_row, slot_filled)  # [S, g, 2 h]
            head = self.head_of[slot_encoder]
            moments = torch.baddbmm(self.head_bias[head][:, None], pooled, self.head[head].transpose(1, 2))
        mean, log_variance = moments.flatten(0, 1)[slot_of].chunk(2, dim=-1)
        return mean, log_variance.clamp(-10, 10)

    def pooled(
        self, states: Tensor, lengths: Tensor, slot_encoder: Tensor, slot_row: Tensor, slot_filled: Tensor
    ) -> Tensor:
        """v = Mean(biGRU(V_x)) of every place, [S, g, 2 h]."""
        n_slots, size = slot_row.shape
        time = states.shape[1]
        steps = torch.arange(time, device=states.device)
        backwards = (lengths[:, None] - 1 - steps).clamp(min=0)  # [B, T]: each sequence from its own end
        reversed_states = states.gather(1, backwards[..., None].expand_as(states))
        both = torch.stack([states, reversed_states], dim=1)  # [B, 2, T, H]
        inputs = both[slot_row].transpose(1, 2).reshape(2 * n_slots, size * time, -1)  # [2 S, g T, H]

        def of_slots(parameter: Tensor) -> Tensor:  # [encoders, 2, ...] -> [2 S, ...]
            return parameter[slot_encoder].flatten(0, 1)

        projected = torch.baddbmm(of_slots(self.b_ih)[:, None], inputs, of_slots(self.w_ih).transpose(1, 2))
        projected = projected.view(2 * n_slots, size, time, -1).permute(2, 0, 1, 3)  # [T, 2 S, g, 3 h]
        remaining = (lengths[slot_row] * slot_filled).repeat_interleave(2, dim=0)[..., None]  # [2 S, g, 1]
        alive = steps[:, None, None, None] < remaining  # [T, 2 S, g, 1]
        outputs = gru(projected, of_slots(self.w_hh).transpose(1, 2), of_slots(self.b_hh)[:, None], alive)
        pooled = (torch.stack(outputs) * alive).sum(dim=0) / remaining.clamp(min=1)
        if self.pool == "last":
            is_label = (slot_encoder < self.n_labels).repeat_interleave(2)[:, None, None]
            pooled = torch.where(is_label, outputs[-1], pooled)
        return pooled.view(n_slots, 2, size, -1).transpose(1, 2).flatten(2)  # forward half, backward half

    def pooled_in_turn(
        self, states: Tensor, lengths: Tensor, slot_encoder: Tensor, slot_row: Tensor, slot_filled: Tensor
    ) -> Tensor:
        """`pooled` with torch's GRU, one encoder after the other; 0 where a place is empty."""
        encoder_of = slot_encoder[:, None].expand_as(slot_row)[slot_filled]  # [N + B], of the filled places in order
        row_of = slot_row[slot_filled]
        parameters = [parameter.flatten(0, 1).unbind() for parameter in (self.w_ih, self.w_hh, self.b_ih, self.b_hh)]
        order, vectors = [], []
        for encoder in slot_encoder.unique().tolist():
            places = (encoder_of == encoder).nonzero().squeeze(1)
            counts = lengths[row_of[places]]
            packed = pack_padded_sequence(states[row_of[places]], counts.cpu(), batch_first=True, enforce_sorted=False)
            weights = [values[2 * encoder + direction] for direction in (0, 1) for values in parameters]
            start = states.new_zeros(2, len(places), self.hidden)
            outputs, last = torch.gru(packed.data, packed.batch_sizes, start, weights, True, 1, 0.0, False, True)
            if self.pool == "last" and encoder < self.n_labels:
                pooled = last[:, packed.unsorted_indices].transpose(0, 1).flatten(1)
            else:
                outputs, _ = pad_packed_sequence(PackedSequence(outputs, *packed[1:]), batch_first=True)
                pooled = outputs.sum(dim=1) / counts[:, None]  # [n, 2 h]
            order.append(places)
            vectors.append(pooled)
        pooled = torch.cat(vectors)[torch.cat(order).argsort()]
        return pooled.new_zeros(*slot_row.shape, 2 * self.hidden).masked_scatter(slot_filled[..., None], pooled)


def gru(projected: Tensor, w_hh: Tensor, b_hh: Tensor, alive: Tensor) -> list[Tensor]:
    """States after every step, [2 S, g, h] each; as torch.nn.GRU, but a sequence that has ended keeps its state."""
    hidden = w_hh.shape[1]
    state = projected.new_zeros(*projected.shape[1:3], hidden)
    outputs = []
    for inputs, running in zip(projected, alive, strict=True):
        recurrent = torch.baddbmm(b_hh, state, w_hh)  # [2 S, g, 3 h]
        gates = torch.sigmoid(inputs[..., : 2 * hidden] + recurrent[..., : 2 * hidden])
        reset, update = gates.chunk(2, dim=-1)
        new = torch.tanh(torch.addcmul(inputs[..., 2 * hidden :], reset, recurrent[..., 2 * hidden :]))
        state = torch.where(running, torch.lerp(new, state, update), state)
        outputs.append(state)
    return outputs
