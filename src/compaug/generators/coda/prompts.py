"""From requests to CoDa's prompts: anchors with the labels, their constraints, exemplars, and what fits.

See docs/spec/coda.md, 2 to 5 and 8.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from compaug.core.files import InputError
from compaug.core.records import Example, sub_seed, text_key
from compaug.generators import Requests
from compaug.generators.coda.constraints import Constraints, Shown, lengths, wording
from compaug.generators.coda.constraints.concepts import Concept, to_avoid
from compaug.generators.shared import keywords
from compaug.generators.shared.facts import facts_of
from compaug.generators.shared.real_rows import by_composition, examples_of

EXEMPLARS = 3
PAPER_TOKENS, CHARACTERS = 2000, 3  # of prompt and answer at an endpoint, whose tokens are taken for so many characters
LabelSet = tuple[int, ...]


@dataclass(frozen=True)
class Built:
    """The prompt that some requests share, what is asked for in it, and what it had to leave out."""

    prompt: str
    constraints: Constraints
    dropped: Mapping[str, int]


class Model:
    """What `train` has kept, and what of it is asked for again and again."""

    def __init__(self, folder: Path, task) -> None:
        facts, self.params, self.task = facts_of(folder, task)
        self.folder, self.spread, self.positions = folder, facts["spread"], facts.get("positions")
        self._concepts = [[Concept(**concept) for concept in of_label] for of_label in facts["concepts"]]
        examples = examples_of(folder, self.task)
        self.seen_texts = {text_key(example.text) for example in examples}
        self.compositions = Counter(example.labels for example in examples)
        self.texts = [example for example in examples if example.made_of is not None]  # anchors and exemplars
        self.exact = by_composition(self.texts)
        self._anchors: dict[tuple, list[Example]] = {}

    def concepts(self, labels: LabelSet) -> tuple[Concept, ...]:
        """Those that a text with these labels is to avoid."""
        return tuple(to_avoid(self._concepts, self.compositions, labels))

    def anchors(self, labels: LabelSet, label: int, seed: int) -> list[Example]:
        """Support texts with exactly `labels`, in random order; without any, the nearest texts that have `label`.

        The nearest have most of the other `labels`, then fewest foreign ones. InputError where no text has the label.
        """
        best = [example for example in self.exact.get(labels, []) if example.source == "support"]
        name = (*labels, "exactly") if best else (*labels, "for", label)
        if name not in self._anchors:
            if not best and not (best := [example for example in self.texts if label in example.labels]):
                what = f"no text of D_cg has the label {self.task.labels.names[label]}"
                raise InputError(f"generators.coda: {what}, so no constraints can be taken from one")
            shared = [_in_common(example.labels, labels) for example in best]
            nearest = [example for example, overlap in zip(best, shared, strict=True) if overlap == max(shared)]
            order = np.random.default_rng(sub_seed(seed, "coda", "anchors", *name)).permutation(len(nearest))
            self._anchors[name] = [nearest[at] for at in order]
        return self._anchors[name]


def _in_common(labels: LabelSet, target: LabelSet) -> tuple[int, int]:
    shared = len(set(labels) & set(target))
    return shared, shared - len(labels)


def build(model: Model, requests: Requests, seed: int) -> list[Built]:
    """The prompt of every request; `n_aug` in a row of the same composition share one, that of one source.

    InputError for a label that no text has, and for constraints that do not fit even without exemplars and pattern.
    """
    n_tokens, room = _counter(model)
    built: dict[tuple[LabelSet, int], Built] = {}
    prompts, seen = [], Counter()
    for label_set in (tuple(sorted(request)) for request in requests):
        key = (label_set, seen[label_set] // model.params.n_aug)
        seen[label_set] += 1
        if key not in built:
            whole = _constraints(model, *key, seed)
            prompt, constraints = wording.fitted(model.params.form, model.task, whole, n_tokens, room)
            if not prompt:
                raise InputError(
                    f"generators.coda: the prompt for {model.task.labels.key(label_set)} exceeds {room} tokens "
                    "even without exemplars and pattern; lower max_tokens or switch constraints off"
                )
            exemplars = len(whole.shown) - len(constraints.shown)
            built[key] = Built(
                prompt, constraints, {"exemplars": exemplars, "tags": int(bool(whole.tags) > bool(constraints.tags))}
            )
        prompts.append(built[key])
    return prompts


def _constraints(model: Model, labels: LabelSet, turn: int, seed: int) -> Constraints:
    """What the source of that turn, of one composition, asks for (docs/spec/coda.md, 8; of a single label, 2)."""
    tagged, drawn = (
        np.random.default_rng(sub_seed(seed, "coda", what, turn, *labels)) for what in ("tags", "exemplars")
    )
    anchors = {label: (candidates := model.anchors(labels, label, seed))[turn % len(candidates)] for label in labels}
    sources = list({example.id: example for example in anchors.values()}.values())
    constraints = replace(_taken(model, labels, anchors, sources, tagged), sources=[example.id for example in sources])
    if not model.params.label:
        return constraints
    # noise of its own: an ablation changes nothing but what it leaves out
    shown = []
    for exemplar in _exemplars(model, labels, sources, drawn):
        keeps = _taken(model, exemplar.labels, dict.fromkeys(exemplar.labels, exemplar), [exemplar], tagged)
        shown.append(Shown(exemplar.id, " ".join(exemplar.text.split()), keeps))
    return replace(constraints, named=True, shown=tuple(shown))


def _taken(
    model: Model, labels: LabelSet, anchors: Mapping[int, Example], sources: Sequence[Example], rng
) -> Constraints:
    """All but the exemplars: keywords from each label's anchor, the rest from these and from the corpus."""
    params, fields = model.params, {}
    if params.lexical:
        fields["keywords"] = _keywords(labels, anchors)
    if params.syntactic:
        sentences = sources[rng.integers(len(sources))].made_of["tags"]
        fields["tags"] = tuple(sentences[rng.integers(len(sentences))]) if sentences else ()
    if params.length != "none":
        mean = float(np.mean([lengths.n_words(source.text) for source in sources]))
        fields["length"] = lengths.MODES[params.length](mean, model.spread)
    if params.concepts:
        fields["concepts"] = model.concepts(labels)
    return Constraints(labels, **fields)


def _keywords(labels: LabelSet, anchors: Mapping[int, Example]) -> dict[int, list[str]]:
    """The k best n-grams of one label's text; of m labels ceil(k / m) each (docs/spec/coda.md, 8)."""
    scores, how_many = {}, {}
    for label in labels:
        example, record = anchors[label], anchors[label].made_of
        at = example.labels.index(label)
        scored = record["scores"][at if len(record["scores"]) > 1 else 0]
        if len(labels) > 1:
            scored = [score + share for score, share in zip(scored, record["association"][at], strict=True)]
        scores[label] = dict(zip(record["ngrams"], scored, strict=True))
        how_many[label] = math.ceil(keywords.n_keywords(example.text) / len(labels))
    return keywords.chosen(scores, how_many)


def _exemplars(model: Model, labels: LabelSet, sources: Sequence[Example], rng) -> list[Example]:
    """Up to three texts with exactly `labels`, support texts first, then one of each label alone; in random order.

    None of them is a source.
    """
    used = {example.id for example in sources}

    def fresh(labels: LabelSet) -> list[Example]:
        texts = [example for example in model.exact.get(labels, []) if example.id not in used]
        return [texts[at] for at in rng.permutation(len(texts))]

    exact = sorted(fresh(labels), key=lambda example: example.source != "support")
    alone = [
        texts[0] for label in rng.permutation(list(labels)).tolist() if len(labels) > 1 and (texts := fresh((label,)))
    ]
    chosen = [*exact, *alone][:EXEMPLARS]
    return [chosen[at] for at in rng.permutation(len(chosen))]


def _counter(model: Model) -> tuple[Callable[[str], int], int]:
    """How many tokens a prompt has, and how many it may have beside an answer."""
    context = getattr(model.params, "context", None) or model.positions or PAPER_TOKENS
    if model.positions:
        context = min(context, model.positions)
    room = context - model.params.max_tokens
    if model.params.backend != "local":
        return lambda prompt: math.ceil(len(prompt) / CHARACTERS), room
    from transformers import AutoTokenizer  # slow to import

    tokenizer = AutoTokenizer.from_pretrained(model.folder / "tokenizer", local_files_only=True)
    if model.params.form == "list":
        return lambda prompt: len(tokenizer(prompt, verbose=False)["input_ids"]), room
    if tokenizer.chat_template is None:
        raise InputError("generators.coda.form: instruction, but the decoder has no chat template; set form: list")

    def conversation(prompt: str) -> list[int]:
        messages = [{"role": "user", "content": prompt}]
        return tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)

    return lambda prompt: len(conversation(prompt)), room
