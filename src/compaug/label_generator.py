"""The label generator P_t(y): label sets sampled from the target distribution of compositions (paper, Eq. 3).

`fine_tuned` (the paper): the decoder learns the support set's label lists and is sampled; `zero_shot`: the untouched
decoder is sampled under constraints, for a support set of size 0; `empirical`: the support frequencies themselves.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path

import numpy as np

from compaug.core.files import InputError
from compaug.core.records import Composition, Labels, sub_seed

LISTS_PER_BATCH = 256  # label lists sampled at once


@dataclass(frozen=True)
class Listing:
    """How a label list is written: `<prompt> <phrase><separator><phrase>...`, phrases in label-id order."""

    prompt: str
    separator: str


@dataclass
class Draws:
    """Accepted label sets and how many lists were refused on the way, by reason."""

    label_sets: list[Composition] = field(default_factory=list)
    rejected: Counter[str] = field(default_factory=Counter)

    @property
    def drawn(self) -> int:
        return len(self.label_sets) + self.rejected.total()


def sample_label_sets(
    options,
    listing: Listing,
    labels: Labels,
    *,
    train: Sequence[Composition],
    support: Sequence[Composition],
    decoder: Path,
    seed: int,
    work_dir: Path,
) -> tuple[list[Composition], dict]:
    """`options.requested` label sets from P_t(y), and a report.

    `train` and `support` are the compositions of D_train and D_s, one per instance. Without support label sets
    `fine_tuned` is `zero_shot`. InputError for `empirical` then, for a separator that occurs in a phrase, and when
    `max_tries` times the requested number of lists did not suffice.
    """
    labels.check_separator(listing.separator)
    nonempty = [composition for composition in support if composition]
    mode = "zero_shot" if options.mode == "fine_tuned" and not nonempty else options.mode  # nothing to tune it on
    if mode == "empirical" and not nonempty:
        raise InputError(
            "label_generator.mode empirical needs support label sets and the support set has none; use zero_shot"
        )
    draws = MODES[mode](options, listing, labels, train, nonempty, decoder, seed, work_dir)
    return draws.label_sets, report(draws, labels, train, nonempty)


def report(draws: Draws, labels: Labels, train: Sequence[Composition], support: Sequence[Composition]) -> dict:
    """What was drawn and refused, and how the sampled histogram relates to the compositions of D_train and D_s.

    `spearman` is over the compositions in the support set or in the sample (absent = 0); null when it is undefined.
    """
    from scipy.stats import spearmanr  # takes half a second to import

    sampled, supported = Counter(draws.label_sets), Counter(support)
    compositions = sorted(sampled.keys() | supported.keys())
    frequencies = [[counter[composition] for composition in compositions] for counter in (sampled, supported)]
    defined = all(len(set(values)) > 1 for values in frequencies)
    novel = sampled.keys() - supported.keys() - set(train)
    reasons = {reason: draws.rejected[reason] for reason in ("unknown", "empty", "repeated")}
    return {
        "requested": len(draws.label_sets),
        "drawn": draws.drawn,
        "rejected": reasons,
        "rejection_rate": round(draws.rejected.total() / draws.drawn, 6),
        "distinct": len(sampled),
        "spearman": round(float(spearmanr(*frequencies).statistic), 6) if defined else None,
        "in_support": sum(sampled[composition] for composition in supported),
        "new_compositions": {labels.key(composition): sampled[composition] for composition in sorted(novel)},
        "compositions": {labels.key(composition): count for composition, count in sorted(sampled.items())},
    }


def parse(text: str, labels: Labels, separator: str) -> tuple[Composition, str | None]:
    """The label set of a generated list (cut at the first newline), or the reason to refuse it.

    Phrases match whatever their case: an inventory has no two that differ in case alone. Reasons: "empty" (no list, or
    an empty piece), "unknown" phrase, "repeated" label.
    """
    ids = {phrase.casefold().strip(): label for label, phrase in enumerate(labels.phrases)}
    first_line = text.strip().split("\n")[0]
    pieces = [piece.strip().casefold() for piece in first_line.split(separator.strip())]
    if not all(pieces):
        return (), "empty"
    if any(piece not in ids for piece in pieces):
        return (), "unknown"
    label_ids = [ids[piece] for piece in pieces]
    return (tuple(sorted(label_ids)), None) if len(set(label_ids)) == len(label_ids) else ((), "repeated")


# ---------------------------------------------------------------- the three modes


def _fine_tuned(options, listing, labels, train, support, decoder, seed, work_dir) -> Draws:
    """The whole decoder learns one list per support instance (duplicates kept), loss on phrases and end of text."""
    from compaug.models.loading import IGNORED, LanguageModelLoss, load_decoder, pad
    from compaug.training.loop import FitOptions, fit

    tokenizer, model = load_decoder(decoder)
    prompt_ids = tokenizer(listing.prompt.strip())["input_ids"]
    _check_room(model, prompt_ids, options.max_tokens)
    rows = []
    for number, composition in enumerate(support):
        words = _inner(tokenizer, f" {labels.phrase(composition, listing.separator)}") + [tokenizer.eos_token_id]
        if len(words) > options.max_tokens:
            raise InputError(
                f"label_generator.max_tokens {options.max_tokens} cannot hold the {len(words)} tokens of "
                f"{labels.key(composition)}; raise it"
            )
        rows.append({"id": f"support {number}", "length": len(words), "ids": prompt_ids + words})

    def collate(batch: list[dict]) -> dict:
        ids, mask = pad([row["ids"] for row in batch], tokenizer.pad_token_id)  # [B, T]
        targets = ids.masked_fill(mask == 0, IGNORED)
        targets[:, : len(prompt_ids)] = IGNORED
        return {"input_ids": ids, "attention_mask": mask, "labels": targets}

    of = FitOptions(epochs=options.epochs, batch_size=options.batch_size, lr=options.lr)
    more = {"seed": sub_seed(seed, "label generator"), "work_dir": work_dir, "description": "label generator"}
    fit(LanguageModelLoss(model), rows, [], collate, of, **more)
    settings = {"max_new_tokens": options.max_tokens, "top_p": options.top_p, "top_k": options.top_k}
    return _accept(_lists(model, tokenizer, prompt_ids, seed, options, settings), options, labels, listing.separator)


def _zero_shot(options, listing, labels, train, support, decoder, seed, work_dir) -> Draws:
    """The untouched decoder, allowed to write nothing but lists of distinct known phrases.

    Drawn at `temperature` alone: top-k and top-p would only forbid labels that the constraint allows. `max_tokens` does
    not apply, the constraint ends every list.
    """
    from compaug.models.loading import load_decoder

    tokenizer, model = load_decoder(decoder)
    phrases = [tuple(_inner(tokenizer, f" {phrase.strip()}")) for phrase in labels.phrases]
    glue = tuple(_inner(tokenizer, listing.separator.rstrip()))
    longest = options.max_labels or max((len(composition) for composition in train), default=len(labels))
    allowed = label_list_constraint(phrases, glue, tokenizer.eos_token_id, options.min_labels, longest)
    prompt_ids = tokenizer(listing.prompt.strip())["input_ids"]
    lengths = sorted((len(phrase) + len(glue) for phrase in phrases), reverse=True)
    room = sum(lengths[:longest]) + 1
    _check_room(model, prompt_ids, room)
    settings = {"max_new_tokens": room, "top_p": 1.0, "top_k": 0}
    settings["prefix_allowed_tokens_fn"] = lambda _, ids: allowed(ids[len(prompt_ids) :].tolist())
    return _accept(_lists(model, tokenizer, prompt_ids, seed, options, settings), options, labels, listing.separator)


def _empirical(options, listing, labels, train, support, decoder, seed, work_dir) -> Draws:
    """Support instances drawn with replacement."""
    rng = np.random.default_rng(sub_seed(seed, "label lists"))
    return Draws([support[row] for row in rng.integers(len(support), size=options.requested)])


MODES = {"fine_tuned": _fine_tuned, "zero_shot": _zero_shot, "empirical": _empirical}


def label_list_constraint(
    phrases: Sequence[tuple[int, ...]], glue: tuple[int, ...], end: int, min_labels: int, max_labels: int
) -> Callable[[list[int]], list[int]]:
    """The next tokens that a list may have, given its tokens so far.

    A list is `phrase glue phrase ... end`: `phrases` are the token ids of each label's phrase, none used twice,
    between `min_labels` and `max_labels` of them. This is a trie over phrase + glue and phrase + end, so that a phrase
    that begins another one may either stop or go on. InputError when no list can be long enough.
    """
    max_labels = min(max_labels, len(phrases))
    if min_labels > max_labels:
        raise InputError(
            f"label_generator.min_labels {min_labels} is above the {max_labels} labels that a set can have; lower it"
        )
    stems: dict[tuple[int, ...], dict[int, set[tuple[int, int]]]] = {}  # tokens of an item -> next token -> its items
    items: dict[tuple[int, ...], int] = {}  # a whole item -> its label
    for label, phrase in enumerate(phrases):
        for ending in (glue, (end,)):
            item = (*phrase, *ending)
            items[item] = label
            for at, token in enumerate(item):
                stems.setdefault(item[:at], {}).setdefault(token, set()).add((label, ending[-1]))

    def allowed(tokens: list[int]) -> list[int]:
        used: set[int] = set()
        item: tuple[int, ...] = ()
        for token in tokens:
            if token == end:
                return [end]  # a finished row waits for its batch
            item += (token,)
            if item in items:
                used.add(items[item])
                item = ()
        may_end, may_go_on = len(used) + 1 >= min_labels, len(used) + 1 < max_labels
        return sorted(
            token
            for token, leads_to in stems[item].items()
            if any(label not in used and (may_end if last == end else may_go_on) for label, last in leads_to)
        )

    return allowed


# ---------------------------------------------------------------- sampling


def _inner(tokenizer, text: str) -> list[int]:
    """Tokens of a text that goes on after others: no mark of a beginning."""
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def _check_room(model, prompt_ids: list[int], new_tokens: int) -> None:
    places = model.config.max_position_embeddings
    if len(prompt_ids) + new_tokens > places:
        raise InputError(
            f"label_generator: a prompt of {len(prompt_ids)} tokens and a list of {new_tokens} exceed the decoder's "
            f"{places} positions; lower label_generator.max_tokens or max_labels"
        )


def _lists(model, tokenizer, prompt_ids: list[int], seed: int, options, settings: Mapping) -> Iterator[str]:
    """Endless label lists after the prompt, in large batches; prompt and end of text removed."""
    import torch

    from compaug.models.loading import frozen

    model = frozen(model)
    prompts = torch.tensor([prompt_ids] * LISTS_PER_BATCH, device=model.device)  # [B, P]
    for batch in count():
        with torch.random.fork_rng():
            torch.manual_seed(sub_seed(sub_seed(seed, "label lists"), batch))
            lists = model.generate(
                prompts,
                attention_mask=torch.ones_like(prompts),
                do_sample=True,
                eos_token_id=tokenizer.eos_token_id,
                pad_token_id=tokenizer.pad_token_id,
                temperature=options.temperature,
                **settings,
            )[:, len(prompt_ids) :]  # [B, new]
        yield from tokenizer.batch_decode(lists, skip_special_tokens=True)


def _accept(lists: Iterator[str], options, labels: Labels, separator: str) -> Draws:
    """Parse lists until enough are label sets; refuse the others, at most `max_tries` lists for each requested set."""
    draws = Draws()
    for text in islice(lists, options.max_tries * options.requested):
        label_set, reason = parse(text, labels, separator)
        if reason is None:
            draws.label_sets.append(label_set)
        else:
            draws.rejected[reason] += 1
        if len(draws.label_sets) == options.requested:
            return draws
    raise InputError(
        f"label_generator: only {len(draws.label_sets)} of {options.requested} label sets after {draws.drawn} lists "
        f"({dict(draws.rejected)}); raise label_generator.epochs or lr, or use mode zero_shot or empirical"
    )
