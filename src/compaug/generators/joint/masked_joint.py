"""Masked joint generation: a sequence-to-sequence model writes labels and text at once.

Paper "Joint Text and Label Generation for Spoken Language Understanding", §2.2. It always writes a whole sentence of
the augmented language. What it reads is the marker of the labels (`mode: labels`), or the marker and a text with words
or spans hidden. For a new composition its marker stands in front of a real text of the nearest one, in which the words
that speak for other labels are hidden too. What it wrote is read strictly; where that has other labels than were
requested, it is dropped, or keeps them (`relabel: generated`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from accelerate import PartialState

from compaug.core.records import (
    Draft,
    Example,
    InputError,
    atomic_dir,
    digest,
    file_digest,
    read_json,
    sub_seed,
    write_json,
    write_jsonl,
)
from compaug.generators.joint import masking
from compaug.generators.joint.augmented_language import CLOSE, OTHER, Language, Sentence, Unreadable
from compaug.generators.shared.drafts import training_examples
from compaug.generators.shared.keywords import association, words_of
from compaug.generators.shared.real_rows import EXAMPLES, examples_of
from compaug.generators.shared.seq2seq import FACTS, collate, written
from compaug.models.loading import Seq2SeqLoss, load_seq2seq, save, say_cut
from compaug.training.loop import device, fit_and_validate, seed_everything

ROLES = ("seq2seq",)
LABELS = "labels"  # the mode that shows no text
EVIDENCE = 20  # words that speak most for a label


def language_of(task) -> Language:
    names = list(zip(task.labels.names, task.labels.phrases, strict=True))
    return Language(names, names)


def sentence_of(example: Example, task, evidence: Sequence[Sequence[str]], spans: str) -> Sentence:
    """The example's words under its labels; with spans `mi` each word that speaks for one of them is a span of it."""
    words, marked = tuple(example.text.split()), []
    for at, word in enumerate(words if spans == "mi" else ()):
        labels = [label for label in example.labels if not set(words_of(word)).isdisjoint(evidence[label])]
        if labels:
            marked.append((at, at + 1, task.labels.names[labels[0]]))
    return Sentence(tuple(task.labels.names[label] for label in example.labels), words, tuple(marked))


# ---------------------------------------------------------------- training


def train(examples: Sequence[Example], task, params, backbones: Mapping[str, Path], out_dir: Path, seed: int) -> None:
    """Fine-tune on D_cg, with other masks in every epoch, and save the best one; rows without labels are left out."""
    examples, evidence, sentences = learned_from(examples, task, params)
    tokenizer, model = load_seq2seq(backbones["seq2seq"])
    seed_everything(sub_seed(seed, "masked_joint"))
    masks = masks_of(tokenizer, model)
    rows = sentence_rows(examples, sentences, tokenizer, params.max_length)
    batch = partial(collate_masked, tokenizer=tokenizer, masks=masks, params=params)
    data = (task, file_digest(backbones["seq2seq"]), digest(examples))
    history = fit_and_validate("masked_joint", Seq2SeqLoss(model), rows, batch, params, out_dir, seed, *data)
    if not PartialState().is_main_process:
        return
    with atomic_dir(out_dir) as folder:
        save(folder, tokenizer, model)
        keep(folder, "masked_joint", task, params, evidence, history, examples)


def learned_from(examples: Sequence[Example], task, params) -> tuple[list[Example], list[list[str]], list[str]]:
    """(texts with labels, the words that speak most for each label, the texts as sentences)."""
    examples = [e for e in training_examples(examples, params.generator_data) if e.text.split()]
    scores = association([e.text for e in examples], [e.labels for e in examples], len(task.labels), longest=1)
    evidence, language = [list(words)[:EVIDENCE] for words in scores], language_of(task)
    return examples, evidence, [language.write(sentence_of(e, task, evidence, params.spans)) for e in examples]


def keep(
    folder: Path, generator: str, task, params, evidence, history: list[dict], examples: Sequence[Example]
) -> None:
    """What generation needs beside the model."""
    facts = {"generator": generator, **task.facts(), "evidence": evidence, "params": params.in_force()}
    write_json(folder / FACTS, facts)
    write_json(folder / "history.json", {"epochs": history})
    write_jsonl(folder / EXAMPLES, examples)


def masks_of(tokenizer, model=None) -> list[str]:
    """T5's marks of spans, else the tokenizer's one mask; a model that has neither learns one."""
    if marks := sorted((t for t in tokenizer.get_vocab() if t.startswith("<extra_id_")), key=lambda t: int(t[10:-1])):
        return marks
    if tokenizer.mask_token is None and model is not None:
        tokenizer.add_special_tokens({"mask_token": "<mask>"})
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    return [tokenizer.mask_token]


def sentence_rows(examples: Sequence[Example], sentences: Sequence[str], tokenizer, max_length: int) -> list[dict]:
    """Rows for `loop.fit`: the sentence as target, cut at `max_length` tokens, and its words, for batches to mask."""
    end = tokenizer.eos_token_id
    targets = tokenizer(list(sentences), add_special_tokens=False)["input_ids"] if sentences else []
    say_cut("generator", sum(len(target) + 1 > max_length for target in targets), len(targets), max_length)
    return [
        {"id": e.id, "sentence": sentence, "target": [*target, end][:max_length], "length": 2 * len(target)}
        for e, sentence, target in zip(examples, sentences, targets, strict=True)
    ]


def collate_masked(rows: Sequence[Mapping], tokenizer, masks: Sequence[str], params) -> dict[str, torch.Tensor]:
    """As `seq2seq.collate`, with sources of this moment: drawn from torch's generator, which every epoch seeds."""
    draw = lambda n: torch.rand(n).tolist()
    sources = [source(row["sentence"], params.mode, params.masked, masks, draw) for row in rows]
    encoded = tokenizer(sources, add_special_tokens=False)["input_ids"]
    pairs = [
        {"source": [*ids, tokenizer.eos_token_id], "target": r["target"]} for ids, r in zip(encoded, rows, strict=True)
    ]
    return collate(pairs, tokenizer.pad_token_id)


def source(
    sentence: str,
    mode: str,
    share: float,
    masks: Sequence[str],
    draw: Callable[[int], Sequence[float]],
    hide: Callable[[str], bool] = lambda word: False,
) -> str:
    """What the model reads of a sentence; words that `hide` names are hidden in any case."""
    tokens = sentence.split()
    behind = tokens.index(CLOSE) + 1
    marker, tokens = " ".join(tokens[:behind]), tokens[behind:]
    if mode == LABELS:
        return marker
    drawn = masking.MODES[mode](tokens, share, draw)
    hidden = [is_hidden or hide(token) for token, is_hidden in zip(tokens, drawn, strict=True)]
    return " ".join([marker, *masking.masked(tokens, hidden, masks, mode)])


# ---------------------------------------------------------------- generation


def generate(
    model_dir: Path, requests: Sequence[Sequence[int]], task, synthesis, backbones: Mapping[str, Path], seed: int
) -> Iterator[Draft]:
    """One draft per request; where no text of that composition was written, without one and with the reason as fate."""

    def writer(params: SimpleNamespace) -> tuple[list[str], Callable[[list[str]], list[str]]]:
        tokenizer, model = load_seq2seq(model_dir)
        model, decoding = model.to(device()).eval(), decoding_of(synthesis)
        encoded = lambda sources: tokenizer(sources, add_special_tokens=False)["input_ids"] if sources else []
        return masks_of(tokenizer), lambda sources: written(tokenizer, model, encoded(sources), decoding, seed)

    return generate_with(writer, model_dir, requests, task, seed)


def generate_with(
    writer: Callable[[SimpleNamespace], tuple[Sequence[str], Callable[[list[str]], list[str]]]],
    model_dir: Path,
    requests: Sequence[Sequence[int]],
    task,
    seed: int,
) -> Iterator[Draft]:
    """`generate` with the masks, and the model that writes behind what it reads, that `writer` opens."""
    facts = read_json(model_dir / FACTS)
    params, task = SimpleNamespace(**facts["params"]), task.of_model(facts, model_dir)
    (masks, write), language = writer(params), language_of(task)
    templates = Templates(examples_of(model_dir, task), task, facts["evidence"])
    inputs = [
        templates.ask(tuple(label_set), language, params, masks, sub_seed(seed, "mask", n))
        for n, label_set in enumerate(requests)
    ]
    texts = write([text for text, _ in inputs])
    for number, (label_set, text, (_, made_of)) in enumerate(zip(requests, texts, inputs, strict=True)):
        yield drafted(number, tuple(label_set), text, language, task, params.relabel, made_of)


def decoding_of(synthesis, times: int = 1) -> SimpleNamespace:
    """How it is written: marks repeat, so no n-gram is forbidden."""
    names = ("batch_size", "temperature", "top_k", "top_p")
    chosen = {name: getattr(synthesis, name) for name in names}
    return SimpleNamespace(**chosen, max_length=times * synthesis.max_length, no_repeat_ngram=0)


def drafted(
    number: int, label_set: tuple[int, ...], text: str, language: Language, task, relabel: str, made_of
) -> Draft:
    """What the model wrote as a draft."""
    try:
        read = language.read(text)
    except Unreadable as refused:
        return Draft(number, "", label_set, made_of=made_of, fate=refused.reason)
    labels = tuple(sorted(task.labels.index(name) for name in read.names))
    if labels != label_set and relabel == "drop":
        return Draft(number, "", label_set, made_of=made_of, fate=OTHER)
    return Draft(number, " ".join(read.words), labels, made_of=made_of)


class Templates:
    """Real texts to rewrite, by composition."""

    def __init__(self, examples: Sequence[Example], task, evidence: Sequence[Sequence[str]]) -> None:
        self.task, self.evidence = task, [set(words) for words in evidence]
        self.by_composition: dict[tuple[int, ...], list[Example]] = {}
        for example in examples:
            self.by_composition.setdefault(example.labels, []).append(example)
        if not self.by_composition:
            raise InputError("masked_joint: there is no text to start from; train the generator again")

    def ask(
        self, label_set: tuple[int, ...], language: Language, params, masks: Sequence[str], seed: int
    ) -> tuple[str, dict | None]:
        """What the model reads for a request, and what that was made of.

        The composition of the template has most in common with `label_set` (Jaccard index), but is another one.
        """
        if params.mode == LABELS:
            return language.marker(self.task.labels.names[label] for label in label_set), None
        rng = np.random.default_rng(seed)
        common = {
            c: len(set(c) & set(label_set)) / len(set(c) | set(label_set))
            for c in self.by_composition
            if c != label_set
        }
        nearest = [c for c in common if common[c] == max(common.values())] or list(self.by_composition)
        texts = [example for composition in nearest for example in self.by_composition[composition]]
        template = texts[rng.integers(len(texts))]
        kept = tuple(label for label in template.labels if label in label_set)
        reduced = Example(template.id, template.text, kept)
        sentence = sentence_of(reduced, self.task, self.evidence, params.spans)
        rewritten = language.write(
            Sentence(tuple(self.task.labels.names[label] for label in label_set), sentence.words, sentence.spans)
        )
        others = set().union(*(self.evidence[label] for label in range(len(self.evidence)) if label not in label_set))
        others -= set().union(*(self.evidence[label] for label in label_set))
        draw = lambda n: rng.random(n).tolist()
        return source(
            rewritten, params.mode, params.masked, masks, draw, lambda word: not others.isdisjoint(words_of(word))
        ), {"template": template.id}
