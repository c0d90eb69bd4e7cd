"""The diagnostic corpus: a grammar of short emotional messages, its exact oracle and its Bayes classifier.

Each label of a composition y is expressed by a clause of its own (*explicit*) with probability
1 - p, or, with probability p (the option `ambiguity`), by a cue *group* that contains it, drawn uniformly; labels that
draw the same group share one clause. An *outcome* (E, G) is the set E of explicit labels and the set G of groups used.
Wording, order, joiners and topics depend on the outcome only, never on y, hence

    P(x | y) = P(E, G | y) P(x | E, G)   and   argmax_y P(y | x) = argmax_y P(E, G | y) P(y),

which makes the Bayes classifier exact under every prior P(y). No text comes twice: a repeat is drawn again with the
same composition, which changes P(x | y) by no more than the share of repeats (almost none at the default size).

Only reports may use the oracle and the Bayes classifier; a method that does is cheating.
"""

import itertools
import random
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from compaug.core.files import InputError, read_yaml
from compaug.core.records import Composition, Example, Labels, sub_seed, text_key
from compaug.core.schema import Block

Outcome = tuple[frozenset[int], frozenset[str]]  # explicit labels, groups used

bank = SimpleNamespace(**read_yaml(Path(__file__).with_suffix(".yaml")))  # its words: lists of phrases, and P(y)
LABELS = Labels(tuple(bank.labels), tuple(bank.labels))
MOST = 1_000_000  # texts
MAX_LABELS = 4  # of a composition
AMBIGUITY = 0.4  # p; calibrated together with P(y), see tests/test_diagnostic.py
MAX_REPEATS = 1_000  # draws of one text before the corpus counts as exhausted


class Options(Block):
    """`size` texts; each label is expressed ambiguously with probability `ambiguity` (p).

    `forms` says what stands around the clauses: `full`, sentences of time, place, company and scene; `short`, a time or
    a place.
    """

    size: Annotated[int, Field(ge=1, le=MOST)] = 4_000
    ambiguity: Annotated[float, Field(ge=0, le=1)] = AMBIGUITY
    forms: Literal["full", "short"] = "full"


# ---------------------------------------------------------------- corpus


def parsed(options: Mapping[str, object]) -> Options:
    """InputError: one line that names the key."""
    try:
        return Options.model_validate(dict(options))
    except ValidationError as error:
        first = error.errors()[0]
        keys = ", ".join(Options.model_fields)
        raise InputError(f"options.{first['loc'][0]}: {first['msg']}; the keys of this reader are {keys}") from None


def read(options: Mapping[str, object], seed: int) -> tuple[list[Example], Labels]:
    """Generate the corpus: distinct texts in random order, compositions in the proportions of `PRIOR`."""
    settings = parsed(options)
    rng = random.Random(sub_seed(seed, "diagnostic"))
    compositions = [y for y, count in quotas(settings.size).items() for _ in range(count)]
    rng.shuffle(compositions)
    seen: set[str] = set()
    examples = []
    for number, composition in enumerate(compositions, start=1):
        text = _new_text(composition, settings, rng, seen)
        examples.append(Example(id=f"d{number:06d}", text=text, labels=composition))
    return examples, LABELS


def quotas(size: int) -> dict[Composition, int]:
    """Instances of every composition: `size` times `PRIOR`, rounded by largest remainder."""
    counts = {y: int(size * share) for y, share in PRIOR.items()}
    by_remainder = sorted(PRIOR, key=lambda y: (counts[y] - size * PRIOR[y], y))
    for y in by_remainder[: size - sum(counts.values())]:
        counts[y] += 1
    return counts


def compose(composition: Composition, ambiguity: float, rng: random.Random, forms: str = "full") -> str:
    """One text x ~ P(x | y)."""
    clauses = []
    for label in composition:
        clauses.append(rng.choice(GROUPS_OF[label]) if rng.random() < ambiguity else label)
    clauses = [rng.choice(CUES[cue]) for cue in dict.fromkeys(clauses)]
    rng.shuffle(clauses)
    body = clauses[0] + "".join(rng.choice(bank.joiners) + clause for clause in clauses[1:])
    topics = {name: rng.choice(phrases) for name, phrases in TOPICS.items()}
    of_length = bank.forms[forms]
    text = rng.choice(of_length[min(len(clauses), max(of_length))]).format(body=body, **topics)
    return re.sub(r"(?:^|(?<=\. ))[a-z]", lambda start: start[0].upper(), text)


def _new_text(composition: Composition, settings: Options, rng: random.Random, seen: set[str]) -> str:
    for _ in range(MAX_REPEATS):
        text = compose(composition, settings.ambiguity, rng, settings.forms)
        if (key := text_key(text)) not in seen:
            seen.add(key)
            return text
    raise InputError(f"options.size: no new text for {LABELS.key(composition)}; lower size")


def _prior(weights: Mapping[str, int]) -> dict[Composition, float]:
    """P(y) of the whole corpus from weights by composition key."""
    total = sum(weights.values())
    return {LABELS.composition(key): weight / total for key, weight in sorted(weights.items())}


def _explicit_phrases(label: str) -> tuple[str, ...]:
    """Every explicit phrasing of a label: its free clauses and the shared frames with its own words."""
    framed = [frame.format(word) for frame in bank.adjective_frames for word in bank.adjectives[label]]
    framed += [frame.format(word) for frame in bank.noun_frames for word in bank.nouns[label]]
    return (*bank.clauses[label], *framed)


PRIOR = _prior({**bank.frequent, **dict.fromkeys(bank.uncommon, 31), **dict.fromkeys(bank.rare, 10)})
CUES: dict[int | str, tuple[str, ...]] = {  # label id or group name -> its phrases
    **{label: _explicit_phrases(name) for label, name in enumerate(bank.labels)},
    **bank.ambiguous_clauses,
}
GROUPS_OF = tuple(  # label id -> groups that contain it
    tuple(group for group, members in bank.groups.items() if name in members) for name in bank.labels
)
TOPICS = {"time": bank.times, "place": bank.places, "company": bank.company, "scene": bank.scenes}


# ---------------------------------------------------------------- likelihood and Bayes classifier


def likelihood(composition: Composition, ambiguity: float = AMBIGUITY) -> dict[Outcome, float]:
    """P(E, G | y) of every outcome of a composition; sums to one."""
    probabilities: dict[Outcome, float] = defaultdict(float)
    for choice in itertools.product(*((None, *GROUPS_OF[label]) for label in composition)):
        probability = 1.0
        for label, group in zip(composition, choice, strict=True):
            probability *= 1 - ambiguity if group is None else ambiguity / len(GROUPS_OF[label])
        explicit = frozenset(label for label, group in zip(composition, choice, strict=True) if group is None)
        probabilities[explicit, frozenset(choice) - {None}] += probability
    return dict(probabilities)


def decision_rule(prior: Mapping[Composition, float], ambiguity: float = AMBIGUITY) -> dict[Outcome, Composition]:
    """argmax_y P(E, G | y) P(y) for every outcome that `prior` can produce; ties go to the y that sorts first."""
    best: dict[Outcome, tuple[float, Composition]] = {}
    for composition in sorted(prior):
        for outcome, probability in likelihood(composition, ambiguity).items():
            joint = probability * prior[composition]
            if joint > best.get(outcome, (0.0, ()))[0]:
                best[outcome] = (joint, composition)
    return {outcome: composition for outcome, (_, composition) in best.items()}


def bayes_predictions(
    texts: Sequence[str], prior: Mapping[Composition, float], ambiguity: float = AMBIGUITY
) -> list[Composition]:
    """argmax_y P(x | y) P(y) for every text, over the compositions of `prior` (probabilities or counts).

    `ambiguity` is the p that made the texts. A text that no composition of `prior` can produce gets the composition
    that is most probable a priori.
    """
    rule = decision_rule(prior, ambiguity)
    fallback = max(sorted(prior), key=prior.__getitem__)
    return [rule.get(cues(text).outcome, fallback) for text in texts]


# ---------------------------------------------------------------- oracle


@dataclass(frozen=True)
class Cues:
    """What a text says: its outcome (explicit labels, groups used) and the words that belong to no phrase."""

    explicit: frozenset[int]
    groups: frozenset[str]
    unknown: tuple[str, ...]

    @property
    def outcome(self) -> Outcome:
        return self.explicit, self.groups


def words(text: str) -> list[str]:
    """The words of a text as phrases are matched: case and punctuation do not count, white space only separates."""
    return re.findall(r"[^\W_]+", text.lower())


def cues(text: str) -> Cues:
    """Recognise phrases from left to right, the longest first, wherever they stand; other words are unknown."""
    recognised: set[int | str] = set()
    unknown = []
    tokens = words(text)
    position = 0
    while position < len(tokens):
        length, cue = _longest_phrase(tokens, position)
        if length == 0:
            unknown.append(tokens[position])
        elif cue is not None:
            recognised.add(cue)
        position += length or 1
    explicit = frozenset(cue for cue in recognised if isinstance(cue, int))
    return Cues(explicit, frozenset(recognised - explicit), tuple(unknown))


def oracle(text: str) -> frozenset[Composition]:
    """Every label set of 1 to MAX_LABELS labels that the text can express, whatever P(y).

    A text with a word outside all phrases expresses nothing, for the grammar cannot produce it. A repeated cue counts
    once; the order of phrases, case, punctuation and spacing do not count.
    """
    text_cues = cues(text)
    if text_cues.unknown:
        return frozenset()
    return _readings().get(text_cues.outcome, frozenset())


def fidelity(text: str, requested: Sequence[int]) -> bool:
    """Whether a text can express all requested labels and no other."""
    return tuple(sorted(requested)) in oracle(text)


@cache
def _readings() -> dict[Outcome, frozenset[Composition]]:
    """Outcome -> the label sets that can produce it."""
    readings: dict[Outcome, set[Composition]] = defaultdict(set)
    for size in range(1, MAX_LABELS + 1):
        for composition in itertools.combinations(range(len(LABELS)), size):
            for outcome in likelihood(composition):
                readings[outcome].add(composition)
    return {outcome: frozenset(compositions) for outcome, compositions in readings.items()}


_END = ""  # key of a trie node where a phrase ends; no word is empty


@cache
def _trie() -> dict:
    """Words of all phrases as nested dicts; a phrase's end holds its label id, its group, or None for a filler."""
    fillers = (*itertools.chain(*TOPICS.values()), *filter(words, bank.joiners))
    phrases = [(phrase, cue) for cue, texts in CUES.items() for phrase in texts] + [
        (filler, None) for filler in fillers
    ]
    root: dict = {}
    for phrase, cue in phrases:
        node = root
        for word in words(phrase):
            node = node.setdefault(word, {})
        node[_END] = cue
    return root


def _longest_phrase(tokens: Sequence[str], start: int) -> tuple[int, int | str | None]:
    """Length in words (0: none) and cue of the longest phrase that begins at `start`."""
    node, length, cue = _trie(), 0, None
    for depth, token in enumerate(itertools.islice(tokens, start, None), start=1):
        if (node := node.get(token)) is None:
            break
        if _END in node:
            length, cue = depth, node[_END]
    return length, cue
