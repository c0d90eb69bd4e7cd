"""Texts and classifier in the formats that others open: a data set with a card, and a folder for plain transformers.

A classifier here is an encoder, one state of the text, and a linear head. The number that transformers makes of the
same weights must be the same number, so a family of encoders is exported as an architecture that has exactly this:

- BERT-shaped, reading [CLS]. `BertForSequenceClassification` has a tanh in between that we do not. ELECTRA is the same
  encoder, and its head is dense, GELU, linear. Since gelu(z) - gelu(-z) = z, a dense layer with the rows z and -z of
  every label, subtracted again by the linear one, is the linear head: as long as there are two places a label in the
  hidden width.
- MPNet-shaped, reading <s>. The head of `MPNetForSequenceClassification` is dense, tanh, linear. A dense layer that has
  each label's row times 2**-16 stays where tanh(z) is z to the last digit of float32, and the linear layer multiplies
  by 2**16, as long as there is a place a label in the hidden width. In float16 such small numbers are lost.
- ModernBERT-shaped. `ModernBertForSequenceClassification` normalises in its head, which no weights can undo; a
  classifier that was trained with that head (`classifiers.bert.prediction_head`) is that model.

Two-way heads become one logit, present minus absent, whose sigmoid is the same probability.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from compaug.core.files import InputError, file_digest, read_json, read_yaml, write_csv, write_json, write_text
from compaug.core.pages import render
from compaug.core.records import Example, Labels
from compaug.project import cards
from compaug.project.classifier import THRESHOLD
from compaug.project.names import facts_of

COLUMNS = ("id", "text", "labels", "requested", "source", "score")
CORPUS = "corpus"  # where nobody says its name
Audited = Mapping[str, Mapping[str, float]]  # measures by arm
STEEP = 2.0**16  # tanh(z / STEEP) * STEEP is z: off by less than a float32's last digit for all |z| below 20


# ---------------------------------------------------------------- texts


def texts(
    parts: Mapping[str, Sequence[Example]],
    labels: Labels,
    format: str,
    folder: Path,
    repaired: bool = False,
    corpus: str = CORPUS,
    audit: Audited = MappingProxyType({}),
) -> None:
    """One file for each part, with label names, and a card (README.md) by which datasets.load_dataset finds them.

    `folder` is empty; `repaired`: the real texts are all that the corpus has; `audit`: what an audit `measured`.
    Content is part of a file's name: of a folder with a card `load_dataset` keeps what it has read by the folder's and
    the files' names, wherever the folder is, so that the texts of another run, or of another corpus, would be given in
    their place.
    """
    files = {name: folder / f"{name}.{format}" for name in parts}
    for name, examples in parts.items():
        _write(files[name], [_row(example, labels) for example in examples])
        files[name] = files[name].rename(folder / f"{name}-{file_digest(files[name])[:8]}.{format}")
    facts = {
        name: {
            "file": files[name].name,
            "rows": len(examples),
            "synthetic": sum(e.requested_labels is not None for e in examples),
            "sources": sorted({e.source for e in examples}),
        }
        for name, examples in parts.items()
    }
    card = {"parts": facts, "names": labels.names, "format": format, "repaired": repaired, "audit": _shown(audit)}
    metadata = cards.of_texts(corpus, {name: part["file"] for name, part in facts.items()})
    write_text(folder / "README.md", render("dataset_card.md", metadata=metadata, **card))


def _row(example: Example, labels: Labels) -> dict:
    def names(ids: Sequence[int] | None) -> list[str] | None:
        return None if ids is None else [labels.names[label] for label in ids]

    row = {"id": example.id, "text": example.text, "labels": names(example.labels)}
    return row | {"requested": names(example.requested_labels), "source": example.source, "score": example.filter_jacc}


def _write(path: Path, rows: list[dict]) -> None:
    if path.suffix == ".csv":  # lists as JSON text, which the reader of own corpora takes
        write_csv(path, COLUMNS, ([_cell(row[column]) for column in COLUMNS] for row in rows))
        return
    import pyarrow
    from pyarrow import parquet

    text, names = pyarrow.string(), pyarrow.list_(pyarrow.string())
    kinds = (text, text, names, names, text, pyarrow.float64())
    parquet.write_table(pyarrow.Table.from_pylist(rows, pyarrow.schema(list(zip(COLUMNS, kinds, strict=True)))), path)


def _cell(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value


# ---------------------------------------------------------------- the classifier


def check(model_dir: Path) -> dict:
    """What the folder says of its classifier.

    InputError, one line, where no architecture of transformers computes the same numbers.
    """
    facts = facts_of(model_dir)
    name, settings = facts["classifier"], facts["settings"]
    if name not in HEADS:
        raise InputError(
            f"{model_dir}: {name} is no encoder with a linear head, and no model of transformers computes its "
            "probabilities; train "
            f"{' or '.join(HEADS)}, or use compaug predict"
        )
    if settings.get("head_hidden"):
        raise InputError(
            f"{model_dir}: its heads have a hidden layer; train with classifiers.bert.head_hidden: 0, or use compaug "
            "predict"
        )
    return facts


ARMS = {  # of an audit, as the card calls them
    "baseline": "unseen; no synthetic texts",
    "oversample": "unseen; support texts repeated",
    "augmented": "unseen; with synthetic texts",
    "iid": "seen; no synthetic texts",
}


def corpus_of(params: Path) -> str:
    """The name of the corpus that a project's parameters say."""
    return str(read_yaml(params)["run"]["benchmark"]) if params.is_file() else CORPUS


def measured(measures: Path) -> dict[str, dict[str, float]]:
    """What the audit measured (reports/measures.json), by arm; empty without such a file."""
    return read_json(measures) if measures.is_file() else {}


def _shown(audit: Audited) -> dict[str, Mapping[str, float]]:
    """The arms that a card shows, by its names for them."""
    return {shown: audit[arm] for arm, shown in ARMS.items() if {"acc", "jacc"} <= audit.get(arm, {}).keys()}


def classifier(
    model_dir: Path,
    names: Sequence[str],
    tuned: Mapping[str, float],
    folder: Path,
    audit: Audited = MappingProxyType({}),
    repaired: bool = False,
    corpus: str = CORPUS,
) -> None:
    """A folder that `AutoModelForSequenceClassification` opens, with thresholds.json and a card.

    `folder` is empty; `tuned` are thresholds by label, chosen on validation rows; `audit` is what an audit `measured`,
    of this classifier or, where it is a `repaired` one, of the same recipe. InputError as in `check`.
    """
    facts = check(model_dir)
    from compaug import classifiers
    from compaug.classifiers import body
    from compaug.models.loading import save

    built = classifiers.load(facts["classifier"]).build
    tokenizer, model, _ = body.load(built, model_dir)
    model = model.cpu()
    family = model.backbone.config.model_type
    if family not in FAMILIES:
        raise InputError(
            f"{model_dir}: no architecture of transformers is known that reads a {family} as here; use compaug predict"
        )
    weight, bias = HEADS[facts["classifier"]](model)
    network = FAMILIES[family](model_dir, model, facts["settings"], weight, bias)
    network.config.problem_type = "multi_label_classification"
    network.config.id2label = dict(enumerate(names))
    network.config.label2id = {name: label for label, name in enumerate(names)}
    tokenizer.model_max_length = facts["settings"]["max_length"]
    save(folder, tokenizer, network.eval())
    thresholds = {"default": THRESHOLD, "tuned": dict(tuned)}
    write_json(folder / "thresholds.json", thresholds)
    card = {"names": names, **thresholds, "facts": facts, "architecture": type(network).__name__}
    metadata = cards.of_classifier(corpus, {} if repaired else audit.get("augmented", {}))
    page = render("model_card.md", metadata=metadata, **card, audit=_shown(audit), repaired=repaired)
    write_text(folder / "README.md", page)


def _difference(model) -> tuple:
    """(weight [n_labels, H], bias [n_labels]) of the logits: each label's score for present minus that for absent."""
    last = model.heads[-1]
    weight, bias = last.weight.detach().unflatten(0, (-1, 2)), last.bias.detach().unflatten(0, (-1, 2))
    return weight[:, 1] - weight[:, 0], bias[:, 1] - bias[:, 0]


def _plain(model) -> tuple:
    return model.heads[-1].weight.detach(), model.heads[-1].bias.detach()


HEADS: dict[str, Callable] = {"bert": _difference, "dbloss": _plain}


def _as_electra(model_dir: Path, model, settings: Mapping, weight, bias):
    import torch
    from transformers import ElectraConfig, ElectraForSequenceClassification

    config, n = model.backbone.config, len(weight)
    _check_reading(model_dir, settings, "BERT")
    _check_width(model_dir, n, 2 * n, config.hidden_size)
    options = config.to_dict()
    shared = {
        key: options[key]
        for key in ElectraConfig().to_dict()
        if key in options and key not in ("model_type", "architectures")
    }
    network = ElectraForSequenceClassification(
        ElectraConfig(**shared | {"embedding_size": config.hidden_size, "id2label": dict.fromkeys(range(n), "")})
    )
    network.electra.load_state_dict(model.backbone.state_dict())
    dense, out = _cleared(network.classifier)
    with torch.no_grad():
        dense.weight[: 2 * n], dense.bias[: 2 * n] = torch.cat([weight, -weight]), torch.cat([bias, -bias])
        every = torch.arange(n)
        out.weight[every, every], out.weight[every, n + every] = 1.0, -1.0
    return network


def _as_mpnet(model_dir: Path, model, settings: Mapping, weight, bias):
    import torch
    from transformers import MPNetForSequenceClassification

    config, n = copy.deepcopy(model.backbone.config), len(weight)
    _check_reading(model_dir, settings, "MPNet")
    _check_width(model_dir, n, n, config.hidden_size)
    config.num_labels = n
    network = MPNetForSequenceClassification(config)
    network.mpnet.load_state_dict(model.backbone.state_dict())
    dense, out = _cleared(network.classifier)
    with torch.no_grad():
        dense.weight[:n], dense.bias[:n] = weight / STEEP, bias / STEEP
        out.weight[torch.arange(n), torch.arange(n)] = STEEP
    return network


def _check_reading(model_dir: Path, settings: Mapping, family: str) -> None:
    if settings["pool"] != "cls":
        raise InputError(
            f"{model_dir}: it reads the mean of {family}'s states, which no "
            "classifier of transformers does; train with pool: cls"
        )


def _check_width(model_dir: Path, n_labels: int, places: int, width: int) -> None:
    if places > width:
        raise InputError(
            f"{model_dir}: {n_labels} labels need an encoder of width {places}, and this one has {width}; use "
            "compaug predict"
        )


def _cleared(head) -> tuple:
    """The two linear layers of a head of transformers, with nothing in them."""
    import torch

    with torch.no_grad():
        for parameter in (*head.dense.parameters(), *head.out_proj.parameters()):
            parameter.zero_()
    return head.dense, head.out_proj


def _as_modernbert(model_dir: Path, model, settings: Mapping, weight, bias):
    from transformers import ModernBertConfig, ModernBertForSequenceClassification

    if not settings.get("prediction_head"):
        raise InputError(
            f"{model_dir}: a linear head on a ModernBERT is no model of transformers, whose head normalises; train "
            "with "
            "classifiers.bert.prediction_head: true (or scale: pretrained), or use compaug predict"
        )
    options = model.backbone.config.to_dict() | {"classifier_pooling": settings["pool"], "classifier_bias": False}
    options |= {"classifier_activation": "gelu", "id2label": dict.fromkeys(range(len(weight)), "")}
    network = ModernBertForSequenceClassification(ModernBertConfig(**options))
    network.model.load_state_dict(model.backbone.state_dict())
    _, dense, _, norm, *_ = model.heads
    network.head.dense.load_state_dict(dense.state_dict())
    network.head.norm.load_state_dict(norm.state_dict())
    network.classifier.load_state_dict({"weight": weight, "bias": bias})
    return network


FAMILIES: dict[str, Callable] = {"bert": _as_electra, "mpnet": _as_mpnet, "modernbert": _as_modernbert}


def parts_of(train: Sequence[Example], kept: Sequence[Example]) -> Iterator[tuple[str, list[Example]]]:
    """The kept synthetic texts, and all that the classifier learned from (D_mltc)."""
    yield "synthetic", list(kept)
    yield "train", [*train, *kept]
