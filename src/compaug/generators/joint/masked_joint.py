"""Masked joint generation: a sequence-to-sequence model writes labels and text at once.

Paper "Joint Text and Label Generation for Spoken Language Understanding", §2.2. It always writes a whole sentence of
the augmented language. What it reads is the marker of the labels (`mode: labels`), or the marker and a text with words
or spans hidden. For a composition without texts its marker stands in front of a real text of the nearest one, in which
the words that speak for other labels are hidden too. What it wrote is read strictly; where that has other labels than
were requested, it is dropped, or keeps them (`relabel: generated`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch

from compaug.core.records import Draft, Example, sub_seed, write_jsonl
from compaug.generators import Backbones, Requests
from compaug.generators.joint import masking
from compaug.generators.joint.augmented_language import CLOSE, OTHER, Language, Sentence, Unreadable
from compaug.generators.shared.drafts import training_examples
from compaug.generators.shared.facts import facts_of
from compaug.generators.shared.keywords import association, words_of
from compaug.generators.shared.model_folder import learn
from compaug.generators.shared.real_rows import EXAMPLES, by_composition, examples_of, jaccard
from compaug.generators.shared.seq2seq import collate, written
from compaug.generators.shared.tokens import cut, token_ids
from compaug.models.loading import Seq2SeqLoss, load_seq2seq, save
from compaug.training.loop import seed_everything

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


def train(examples: Sequence[Example], task, params, backbones: Backbones, out_dir: Path, seed: int) -> None:
    """Fine-tune on D_cg, with other masks in every epoch, and save the best one; rows without labels are left out."""
    examples, evidence, sentences = learned_from(examples, task, params)
    tokenizer, model = load_seq2seq(backbones["seq2seq"])
    seed_everything(sub_seed(seed, "masked_joint"))
    masks = masks_of(tokenizer, model)
    rows = sentence_rows(examples, sentences, tokenizer, params.max_length)
    batch = partial(collate_masked, tokenizer=tokenizer, masks=masks, params=params)

    def keep(folder: Path) -> None:
        save(folder, tokenizer, model)
        write_jsonl(folder / EXAMPLES, examples)

    of = (examples, task, params, backbones, out_dir, seed)
    learn("masked_joint", Seq2SeqLoss(model), rows, batch, *of, save=keep, evidence=evidence)


def learned_from(examples: Sequence[Example], task, params) -> tuple[list[Example], list[list[str]], list[str]]:
    """(texts with labels, the words that speak most for each label, the texts as sentences)."""
    examples = [e for e in training_examples(examples, params.generator_data) if e.text.split()]
    scores = association([e.text for e in examples], [e.labels for e in examples], len(task.labels), longest=1)
    evidence, language = [list(words)[:EVIDENCE] for words in scores], language_of(task)
    return examples, evidence, [language.write(sentence_of(e, task, evidence, params.spans)) for e in examples]


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
    targets = [[*ids, tokenizer.eos_token_id] for ids in token_ids(tokenizer, sentences)]
    lengths = [2 * (len(target) - 1) for target in targets]
    return [
        {"id": e.id, "sentence": sentence, "target": target, "length": length}
        for e, sentence, target, length in zip(examples, sentences, cut(targets, max_length), lengths, strict=True)
    ]


def collate_masked(rows: Sequence[Mapping], tokenizer, masks: Sequence[str], params) -> dict[str, torch.Tensor]:
    """As `seq2seq.collate`, with sources of this moment: drawn from torch's generator, which every epoch seeds."""
    draw = lambda n: torch.rand(n).tolist()
    sources = [source(row["sentence"], params.mode, params.masked, masks, draw) for row in rows]
    ends = [[*ids, tokenizer.eos_token_id] for ids in token_ids(tokenizer, sources)]
    pairs = [{"source": ids, "target": row["target"]} for ids, row in zip(ends, rows, strict=True)]
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


def generate(model_dir: Path, requests: Requests, task, synthesis, backbones: Backbones, seed: int) -> Iterator[Draft]:
    """One draft per request; where no text of that composition was written, without one and with the reason as fate."""

    def writer(params: SimpleNamespace) -> tuple[list[str], Callable[[list[str]], list[str]]]:
        tokenizer, model = load_seq2seq(model_dir)
        write = lambda sources: written(tokenizer, model, token_ids(tokenizer, sources), decoding_of(synthesis), seed)
        return masks_of(tokenizer), write

    return generate_with(writer, model_dir, requests, task, seed)


def generate_with(
    writer: Callable[[SimpleNamespace], tuple[Sequence[str], Callable[[list[str]], list[str]]]],
    model_dir: Path,
    requests: Requests,
    task,
    seed: int,
) -> Iterator[Draft]:
    """`generate` with the masks, and the model that writes behind what it reads, that `writer` opens."""
    facts, params, task = facts_of(model_dir, task)
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
    chosen = {name: getattr(synthesis, name) for name in ("batch_size", "temperature", "top_k", "top_p")}
    return SimpleNamespace(**chosen, max_length=times * synthesis.max_length, no_repeat_ngram=0)


def drafted(
    number: int, label_set: tuple[int, ...], text: str, language: Language, task, relabel: str, made_of
) -> Draft:
    """What the model wrote as a draft."""
    try:
        read = language.read(text)
    except Unreadable as refused:
        return Draft(number, "", label_set, made_of=made_of, fate=str(refused))
    labels = tuple(sorted(task.labels.index(name) for name in read.names))
    if labels != label_set and relabel == "drop":
        return Draft(number, "", label_set, made_of=made_of, fate=OTHER)
    return Draft(number, " ".join(read.words), labels, made_of=made_of)


class Templates:
    """Real texts to rewrite, by composition."""

    def __init__(self, examples: Sequence[Example], task, evidence: Sequence[Sequence[str]]) -> None:
        self.task, self.evidence = task, [set(words) for words in evidence]
        self.by_composition = by_composition(examples)

    def ask(
        self, label_set: tuple[int, ...], language: Language, params, masks: Sequence[str], seed: int
    ) -> tuple[str, dict | None]:
        """What the model reads for a request, and what that was made of.

        The composition of the template has most in common with `label_set` (Jaccard index), but is another one.
        """
        names = tuple(self.task.labels.names[label] for label in label_set)
        if params.mode == LABELS:
            return language.marker(names), None
        rng = np.random.default_rng(seed)
        common = {c: jaccard(c, label_set) for c in self.by_composition if c != label_set}
        nearest = [c for c in common if common[c] == max(common.values())] or list(self.by_composition)
        texts = [example for composition in nearest for example in self.by_composition[composition]]
        template = texts[rng.integers(len(texts))]
        kept = tuple(label for label in template.labels if label in label_set)
        sentence = sentence_of(replace(template, labels=kept), self.task, self.evidence, params.spans)
        rewritten = language.write(replace(sentence, names=names))
        others = set().union(*(words for label, words in enumerate(self.evidence) if label not in label_set))
        others -= set().union(*(self.evidence[label] for label in label_set))
        draw = lambda n: rng.random(n).tolist()
        hide = lambda word: not others.isdisjoint(words_of(word))
        return source(rewritten, params.mode, params.masked, masks, draw, hide), {"template": template.id}
