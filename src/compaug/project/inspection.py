"""What is in somebody's file, and which values of a benchmark suit it, each with its reason (`compaug inspect`).

Nothing here is a law: the rules keep a corpus of some hundred rows from being asked for more than it has, and one of
ten thousand from being measured on three combinations. The split that is proposed is tried on the corpus before it is
shown.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import Any

import numpy as np

from compaug.core.files import InputError
from compaug.core.records import text_key
from compaug.data.corpus import Corpus
from compaug.data.splits import Split, split_corpus

# shares of texts with letters that an encoder lacks, or reads without accents: some names do
BEARABLE = {"lacking": 0.02, "changing": 0.1, "foreign": 0.05, "unread": 0.05}
RARE = 10  # rows; a combination with fewer is rare
PAPER = {"compositions": 20, "support": 50, "k": 5000}
PREFIX = 10  # positions for each label before a text that is written, and for its content (params.yaml)
TINY_POSITIONS = 192  # of the tiny decoder (configs/scales.yaml)
PROMPT = "A text with the labels {labels} :"  # of the benchmark that is proposed
SMALLEST_TEST = 100  # rows of D_test under which an interval of accuracy is some 20 points wide


@dataclass(frozen=True)
class Budget:
    """What the training of a pretrained model may take, on one core."""

    tokens: int  # in all, read again in every epoch
    epochs: int  # at most
    steps: int = 1  # that it needs


DECODER = Budget(tokens=160_000, epochs=8)  # SmolLM2 learns from 120 tokens a second
# MiniLM, half frozen, from 2,000, and the pipeline trains five of them. Of 112 steps for 54 labels it learned little
# more than the commonest.
ENCODER = Budget(tokens=1_000_000, epochs=20, steps=600)


# ---------------------------------------------------------------- what is there


@dataclass(frozen=True)
class Reading:
    """How a tokenizer reads the texts.

    `lengths`: tokens of each [n], marks included. `lacks`, `changes`: characters that it has no token for, and letters
    whose accent it drops, with the number of texts that have them. `lacking`, `changing`: shares of the texts that have
    a letter of either kind.
    """

    name: str
    room: int  # tokens that the model can take
    lengths: np.ndarray
    lacks: Mapping[str, int] = field(default_factory=dict)
    changes: Mapping[str, int] = field(default_factory=dict)
    lacking: float = 0.0
    changing: float = 0.0
    foreign: tuple[float, str] = (0.0, "")  # share of texts that are mostly not Latin, and their script
    unread: float = 0.0  # share of the texts of which it has no token for half of the words or more
    apart: bool = False  # letters of scripts without blanks are words each

    def share_above(self, limit: int) -> float:
        return float((self.lengths > limit).mean())


def read_with(name: str, tokenizer, room: int, texts: Sequence[str]) -> Reading:
    """`tokenizer`: a BERT-shaped one of transformers."""
    ids = tokenizer(list(texts), truncation=False, verbose=False)["input_ids"]
    times = Counter(character for text in texts for character in sorted(set(text)) if not character.isspace())
    lacks, changes = {}, {}
    for character, n in times.most_common():
        pieces = tokenizer.tokenize(character)
        if pieces == [tokenizer.unk_token]:
            lacks[character] = n
        elif character.isalpha() and "".join(pieces) != character.lower() and "".join(pieces) != character:
            changes[character] = n
    lengths = np.array([len(tokens) for tokens in ids])
    shares = (_share_with({c for c in counts if c.isalpha()}, texts) for counts in (lacks, changes))
    unknown = tokenizer.unk_token_id
    unread = sum(2 * (n := tokens.count(unknown)) >= len(tokens) - 2 and n > 0 for tokens in ids) / max(len(ids), 1)
    return Reading(name, room, lengths, lacks, changes, *shares, foreign=foreign(texts), unread=unread)


def foreign(texts: Sequence[str]) -> tuple[float, str]:
    """Share of the texts most of whose letters are not Latin, and the commonest script of these."""
    scripts: Counter[str] = Counter()
    for text in texts:
        if text.isascii():  # the most, and quicker
            continue
        letters = Counter(_script(character) for character in text if character.isalpha())
        if letters and letters["Latin"] * 2 < letters.total():
            scripts[max((script for script in letters if script != "Latin"), key=letters.get)] += 1
    return scripts.total() / max(len(texts), 1), max(scripts, key=scripts.get, default="")


@cache
def _script(letter: str) -> str:
    """The first word of a letter's name in Unicode, which is its script."""
    word = unicodedata.name(letter, "UNKNOWN").split()[0]
    return {"CJK": "Chinese", "HANGUL": "Korean"}.get(word, word.capitalize())


def _share_with(letters: set[str], texts: Sequence[str]) -> float:
    return sum(not letters.isdisjoint(text) for text in texts) / max(len(texts), 1)


def facts(corpus: Corpus) -> dict[str, Any]:
    """Counts of a corpus, as `shown` prints them."""
    times = Counter(example.labels for example in corpus.examples)
    per_label = Counter(label for example in corpus.examples for label in example.labels)
    words = np.array([len(example.text.split()) for example in corpus.examples])
    first: dict[str, tuple[int, ...]] = {}
    conflicting = sum(first.setdefault(text_key(e.text), e.labels) != e.labels for e in corpus.examples)
    names = corpus.labels.names
    ranked = sorted(range(len(names)), key=lambda label: (per_label[label], names[label]))
    return {
        "rows": len(corpus.examples),
        "labels": len(names),
        "combinations": len(times),
        "of_two": sum(len(labels) >= 2 for labels in times),
        "rows_of_two": sum(n for labels, n in times.items() if len(labels) >= 2),
        "rare": sum(n < RARE for n in times.values()),
        "single": sum(n == 1 for n in times.values()),
        "unlabelled": times[()],
        "repeated": len(corpus.examples) - len(first),
        "conflicting": conflicting,
        "rarest_labels": [(names[label], per_label[label]) for label in ranked[:3]],
        "commonest_labels": [(names[label], per_label[label]) for label in ranked[:-4:-1]],
        "words": {"median": int(np.median(words)), "p95": int(np.percentile(words, 95)), "longest": int(words.max())},
    }


# ---------------------------------------------------------------- what suits it


@dataclass(frozen=True)
class Value:
    """A value of the benchmark file, and why."""

    value: Any
    why: str


def proposal(corpus: Corpus, encoders: Mapping[str, Reading]) -> dict[str, Value]:
    """Values of a benchmark; `encoders` has a reading for each scale whose encoder could be asked.

    InputError where no combination can be held out: what the corpus lacks.
    """
    values = _split(corpus)
    n_train = values.pop("n_train")
    k = _rounded(min(PAPER["k"], max(50, n_train / 8)))
    values["k"] = Value(k, f"an eighth of the {n_train:,} training texts (the paper: a tenth to a sixth)")
    values["requested"] = Value(2 * k, "twice k, so that the filter has a choice")
    values |= _scale(encoders) | _characters(encoders.get("tiny")) | _lengths(encoders)
    words = np.array([len(example.text.split()) for example in corpus.examples])
    usual = max(48, min(128, 16 * math.ceil(1.4 * float(np.percentile(words, 90)) / 16) + 16))
    written = max(usual, longest := _sixteens(1.25 * _longest_prompt(corpus) + 8))
    why = "nine texts in ten, at most 128" if usual >= longest else "the longest list of labels leaves room for a text"
    values["written"] = Value(written, f"tokens of a text that is written or learned from, prompt included: {why}")
    return values | _positions(corpus, written) | _budgets(n_train, written, encoders.get("pretrained"))


def _longest_prompt(corpus: Corpus) -> float:
    """About how many tokens it has: three Latin letters are one, any other character is three."""
    names = corpus.labels.names
    prompts = (PROMPT.format(labels=", ".join(names[label] for label in e.labels)) for e in corpus.examples)
    return max(sum(1 / 3 if character.isascii() else 3 for character in prompt) for prompt in prompts)


def _positions(corpus: Corpus, written: int) -> dict[str, Value]:
    """Those of the tiny decoder: as many labels as a row has are told by its prefix, and half as many more."""
    n_labels = min(len(corpus.labels), math.ceil(1.5 * max(len(e.labels) for e in corpus.examples)))
    needed = _sixteens((n_labels + 1) * PREFIX + written)
    why = f"{PREFIX} for each of up to {n_labels} labels and for the content, {written} for the text"
    return {"positions": Value(needed if needed > TINY_POSITIONS else None, why)}


def _sixteens(number: float) -> int:
    """The multiple of 16 above it."""
    return 16 * math.ceil(number / 16)


def _budgets(n_train: int, written: int, encoder: Reading | None) -> dict[str, Value]:
    """What keeps a run on two cores within an hour."""
    share = round(min(1.0, max(0.01, DECODER.tokens / DECODER.epochs / n_train / written)), 2)
    mean = float(encoder.lengths.clip(max=256).mean()) if encoder else 30.0
    passes = int(min(ENCODER.epochs, max(1, ENCODER.tokens // (n_train * mean))))
    batch = next((size for size in (32, 16) if passes * n_train >= ENCODER.steps * size), 8)
    epochs = int(min(12, max(3, 40_000 // n_train)))
    return {
        "epoch_share": Value(
            share,
            f"of the texts for each of the decoder's {DECODER.epochs} epochs: half an hour to an hour on one core, "
            "whatever the number of texts",
        ),
        "steps": Value(
            4, "texts of a step: a prefix needs many steps; 16 take a quarter less time for half the progress"
        ),
        "passes": Value(
            passes,
            f"at most, over {n_train:,} texts of {mean:.0f} tokens, so that five trainings of MiniLM keep within an "
            "hour on two cores",
        ),
        "batch": Value(
            batch,
            f"texts of a step: {passes * n_train // batch:,} steps in all; below some {ENCODER.steps} it learns little",
        ),
        "freeze_layers": Value(
            3, "of 6: the lower half of MiniLM stays as it is and is read once, at about half the time"
        ),
        "epochs": Value(epochs, "fewer where there are more texts"),
        "clusters": Value(int(min(200, max(10, n_train // 50))), "a fiftieth of the texts"),
    }


def _split(corpus: Corpus) -> dict[str, Any]:
    """Held-out combinations, tried on the corpus: the first choice that gives a split, from the paper's number down."""
    own_split = None
    tested = corpus.examples
    if corpus.own_split is not None:
        own_split = {
            part: [i for i, p in corpus.own_split.items() if p == part] for part in ("train", "validation", "test")
        }
        tested = [e for e in corpus.examples if corpus.own_split[e.id] == "test"]
    where = "of the test rows" if own_split else "of the rows"
    counts = Counter(e.labels for e in tested if len(e.labels) >= 2)
    if not counts:
        raise InputError(
            "no row has two labels, so that there is no combination to hold out; check --label-delimiter and "
            "--label-column"
        )
    reasons: Counter[str] = Counter()
    for least in (max(RARE, round(len(tested) / 400)), RARE, 5, 3, 2):
        eligible = sorted((n for n in counts.values() if n >= least), reverse=True)
        for m in range(min(PAPER["compositions"], max(len(eligible) // 2, min(1, len(eligible)))), 0, -1):
            expected = m * sum(eligible) / len(eligible)
            if expected > 0.3 * len(tested):
                continue
            share = [_down(0.5 * expected / len(tested)), _up(min(0.45, 2 * expected / len(tested)))]
            support = int(min(PAPER["support"], max(5, expected // 5)))
            options = {
                "mode": "generate",
                "compositions": m,
                "support_size": support,
                "min_count": least,
                "test_share": share,
            }
            try:
                parts = split_corpus(corpus.examples, corpus.labels, Split(**options, seed=0), own_split=own_split)
            except InputError as error:
                reasons[str(error)] += 1
                continue
            n = {part: len(parts.positions[part]) for part in ("train", "test")}
            few = f"; {n['test']} test rows are few: an interval will be wide" if n["test"] < SMALLEST_TEST else ""
            return {
                "compositions": Value(
                    m, f"half of the {len(eligible)} combinations that can be held out, at most the paper's 20{few}"
                ),
                "min_count": Value(least, f"{len(eligible)} combinations of two labels or more have that many rows"),
                "test_share": Value(
                    share,
                    f"these {m} hold about {expected / len(tested):.0%} {where}; a draw may have half or twice that",
                ),
                "support": Value(support, "the paper's 50, but no more than a fifth of the held-out rows"),
                "n_train": n["train"],
            }
    raise InputError(
        f"no combination can be held out: of {len(counts)} with two labels or more the most frequent has "
        f"{max(counts.values())} rows, and every label must keep rows to learn from; "
        + (f"the last reason: {list(reasons)[-1]}" if reasons else "give more rows")
    )


def _scale(encoders: Mapping[str, Reading]) -> dict[str, Value]:
    cased = Value(None, "letters lose case and accents, which English can bear")
    if (reading := encoders.get("tiny")) and reading.changing > BEARABLE["changing"]:
        cased = Value(
            True, f"{_listed(reading.changes)} would lose their accents, in {reading.changing:.0%} of the texts"
        )
    reading = encoders.get("pretrained")
    if reading and reading.foreign[0] > BEARABLE["foreign"]:
        share, script = reading.foreign
        why = f"the pretrained encoder is English, and {share:.0%} of the texts are in another script ({script})"
        return {"scale": Value("tiny", why), "cased": cased}
    if reading and any(
        getattr(reading, name) > most for name, most in BEARABLE.items() if name in ("lacking", "changing")
    ):
        lacks = reading.lacking > BEARABLE["lacking"]
        what = (
            f"no token for {_listed(reading.lacks, str.isalpha)}"
            if lacks
            else f"no accents ({_listed(reading.changes)})"
        )
        share = reading.lacking if lacks else reading.changing
        why = f"the pretrained encoder is English and has {what}, in {share:.0%} of the texts"
        return {"scale": Value("tiny", why), "cased": cased}
    why = (
        "models of two layers trained on some thousand texts learn little; MiniLM and SmolLM2 are fetched once (180 MB)"
    )
    return {"scale": Value("pretrained", why), "cased": cased}


def _characters(tiny: Reading | None) -> dict[str, Value]:
    if tiny and tiny.apart:
        why = "letters are words each: whole sentences without blanks would have no token"
        return {"characters": Value(True, why)}
    return {"characters": Value(None, "words stand between blanks")}


def _listed(letters: Iterable[str], kind: Callable[[str], bool] = bool, most: int = 8) -> str:
    return " ".join(islice(filter(kind, letters), most))


def _lengths(encoders: Mapping[str, Reading]) -> dict[str, Value]:
    limits = {}
    for name, reading in encoders.items():
        most, longest = (16 * math.ceil(float(np.percentile(reading.lengths, at)) / 16) for at in (95, 100))
        # a batch is as long as its longest text, so room costs nothing; outliers do
        room = longest if longest <= 2 * most else most
        limit = max(32, min(room, 128 if name == "tiny" else 256, reading.room))
        cut = reading.share_above(limit)
        why = (
            f"cuts {cut:.1%} of the texts; 95 % have at most {most} tokens, rounded up to 16" if cut else "cuts no text"
        )
        limits[f"max_length_{name}"] = Value(limit, why)
    return limits


def _rounded(value: float) -> int:
    """To two digits."""
    digits = max(0, int(math.log10(value)) - 1)
    return int(round(value / 10**digits) * 10**digits)


def _down(share: float) -> float:
    return math.floor(share * 1000) / 1000


def _up(share: float) -> float:
    return math.ceil(share * 1000) / 1000


def lines(counts: Mapping[str, Any], readings: Mapping[str, Reading], proposed: Mapping[str, Value]) -> Iterator[str]:
    """What a person reads of a file."""
    yield (
        f"rows: {counts['rows']:,}, with {counts['labels']} labels in {counts['combinations']:,} combinations; "
        f"{counts['rows_of_two']:,} rows have two "
        "labels or more"
    )
    yield f"rare: {counts['rare']:,} combinations have fewer than {RARE} rows, {counts['single']:,} have one"
    for word in ("commonest", "rarest"):
        yield f"{word} labels: {', '.join(f'{name} {n:,}' for name, n in counts[f'{word}_labels'])}"
    if counts["repeated"]:
        yield f"repeated texts: {counts['repeated']:,}, of these with other labels {counts['conflicting']:,}"
    yield (
        f"words: median {counts['words']['median']}, 95 % have at most {counts['words']['p95']}, the longest "
        f"{counts['words']['longest']:,}"
    )
    for name, reading in readings.items():
        limit = proposed[f"max_length_{name}"].value
        yield (
            f"{reading.name}: tokens median {int(np.median(reading.lengths))}, longest {reading.lengths.max():,}; "
            f"{reading.share_above(limit):.1%} of "
            f"the texts are cut at {limit}, {reading.share_above(reading.room):.1%} would be at {reading.room}, the "
            "most that it takes"
        )
        if reading.lacks:
            yield (
                f"  it has no token for {_listed(reading.lacks, most=12)}; {reading.lacking:.1%} of the texts have a "
                "letter that it lacks"
            )
        if reading.unread > BEARABLE["unread"]:
            yield f"  of {reading.unread:.0%} of the texts it has no token for half of the words or more"
        if reading.apart:
            yield "  letters are words each (characters: true), since whole sentences had no token"
        if reading.changes:
            yield (
                f"  it drops the accents of {_listed(reading.changes, most=12)}, in {reading.changing:.1%} of the texts"
            )
