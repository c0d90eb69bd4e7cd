"""What every JSON file that a stage opens holds.

`records.read_json` checks a file against its type here and names the place that differs. A key that a type does not
have may be there; NaN and infinities never are. Rows of JSONL files are `records.Example` and others with readers of
their own.
"""

from __future__ import annotations

from typing import Any, NotRequired

from typing_extensions import TypedDict

Number = int | float  # a boolean is none
Counts = dict[str, int]
Numbers = dict[str, Number]


# ---------------------------------------------------------------- corpora and splits


class LabelNames(TypedDict):
    """labels.json"""

    names: list[str]
    phrases: list[str]


Reference = dict[str, list[str]]  # reference.json: part of the published split -> ids


class SplitFacts(TypedDict):
    """split.json: what the audit proves again."""

    mode: str
    ids: dict[str, str]  # part -> digest of its ids
    test_compositions: dict[str, Any]


class PaperTable(TypedDict):
    rows: dict[str, Any]
    dataset: NotRequired[str]


PaperTables = TypedDict("PaperTables", {f"table_{number}": PaperTable for number in (1, 2, 3, 4, 5, 6, 7, 8, 10)})


class PaperFigure(TypedDict):
    facts: dict[str, Any]


class PaperValues(TypedDict):
    """reports/paper_values.yaml"""

    row_of_generator: dict[str, str]
    row_of_classifier: dict[str, str]
    tables: PaperTables
    figures: dict[str, PaperFigure]


class GoldFacts(TypedDict):
    """reports/gold/<name>.json"""

    labels: list[str]
    counts: NotRequired[Numbers]
    bayes: NotRequired[dict[str, dict[str, Numbers]]]  # test set -> prior -> metrics


# ---------------------------------------------------------------- models


class ConceptFacts(TypedDict):
    name: str
    phrases: list[str]


class GeneratorFacts(TypedDict):
    """config.json of a generator, generator.json of Flan-T5; beside it what its task says (`tasks`)."""

    generator: str
    params: dict[str, Any]
    median_words: NotRequired[Number]  # llm
    spread: NotRequired[Number]  # coda: standard deviation of the lengths in words
    concepts: NotRequired[list[list[ConceptFacts]]]  # coda: of each label
    positions: NotRequired[int]  # coda: of the decoder that writes
    evidence: NotRequired[list[list[str]]]  # masked_joint


class ClassifierFacts(TypedDict):
    """classifier.json"""

    classifier: str
    n_labels: int
    phrases: list[str]
    settings: dict[str, Any]
    rows: int
    positives: list[Number]
    pairs: list[list[Number]]


class DynamicsFacts(TypedDict):
    """dynamics.json"""

    ids: list[str]


class Thresholds(TypedDict):
    """thresholds.json of an exported classifier"""

    default: Number
    tuned: dict[str, Number]


class Epoch(TypedDict):
    trained_parameters: int
    epoch: NotRequired[int]
    train: NotRequired[Numbers]


class History(TypedDict):
    """history.json"""

    epochs: list[Epoch]


class WeightsIndex(TypedDict):
    """model.safetensors.index.json"""

    weight_map: dict[str, str]


class Usage(TypedDict):
    prompt_tokens: int | None
    completion_tokens: int | None


class Answer(TypedDict):
    """A language model's stored answer, with the request that it is the answer to."""

    request: dict[str, Any]
    content: str | None
    refusal: str | None
    finish_reason: str | None
    usage: Usage


# ---------------------------------------------------------------- texts


class Requests(TypedDict):
    """Side-car of the label generator."""

    requested: int
    compositions: NotRequired[Counts]  # how often each was drawn
    rejected: NotRequired[Counts]
    rejection_rate: NotRequired[Number]


class SideCar(TypedDict):
    """Of synthetic texts, and with what the filter found of the kept ones."""

    requested: int
    produced: NotRequired[int]
    kept: NotRequired[int]
    dropped: NotRequired[Counts]
    per_composition: NotRequired[dict[str, dict[str, Number | None]]]
    histogram: NotRequired[dict[str, Counts]]
    mean_filter_jacc: NotRequired[Number | None]
    share_jacc_1: NotRequired[Number | None]
    total_variation: NotRequired[Number | None]


class JudgedText(TypedDict):
    requested: str
    faithful: bool
    readings: list[str]
    text: str


class Quality(TypedDict):
    """data/quality/<name>.json"""

    selection: SideCar
    label_generator: NotRequired[Requests]
    n: NotRequired[int]
    filter: NotRequired[dict[str, Number | None]]
    copied: NotRequired[dict[str, Number | None]]
    words: NotRequired[dict[str, Number | None]]
    coverage: NotRequired[Number | None]
    perplexity: NotRequired[Number | None]
    self_bleu: NotRequired[Number | None]
    distinct_1: NotRequired[Number | None]
    distinct_2: NotRequired[Number | None]
    compliance: NotRequired[dict[str, dict[str, Number | None]]]  # raw and kept: of texts with constraints
    fidelity: NotRequired[dict[str, Number | None]]
    samples: NotRequired[list[JudgedText]]


class Judged(TypedDict):
    """data/judged/<name>.json: {reader: its metrics}"""

    judged: dict[str, dict[str, Number | None]]


class View(TypedDict):
    points: list[list[Number]]
    silhouette: NotRequired[Number | None]
    probe: NotRequired[Number | None]


class Representations(TypedDict):
    """data/representations/<name>.json"""

    labels: NotRequired[list[str]]
    pair_labels: NotRequired[list[int]]
    views: dict[str, View]


class Interpolation(TypedDict):
    """data/interpolation/<name>.json"""

    spearman: Numbers
    between: dict[str, Number | None]
    alphas: dict[str, dict[str, Number | None]]


class Distances(TypedDict):
    """data/distances/<name>.json: {measure: value} of the kept texts to real ones"""

    support: dict[str, Number | None]
    train: dict[str, Number | None]


class RatedItem(TypedDict):
    text_id: str
    text: str
    generator: str
    requested: list[int]


class RatingKey(TypedDict):
    """key.json of a rating sheet."""

    labels: LabelNames
    items: list[RatedItem]


class Inventory(TypedDict):
    """inventory.json of a corpus of utterances: sorted names of the whole corpus; a few utterances lack some."""

    intents: list[str]
    slots: list[str]


# ---------------------------------------------------------------- the root cell and the page


class MapPoints(TypedDict):
    """A sample of a map's rows; `texts` of the first of them, of the project's own corpus alone."""

    confidence: list[Number]
    variability: list[Number]
    correctness: list[Number]
    synthetic: list[bool]
    labels: list[str]
    texts: NotRequired[list[str]]


class MapFacts(TypedDict):
    """data/maps/<name>.json"""

    benchmark: str
    method: str  # classifier or generator
    source: str  # generator of the synthetic rows, none
    seed: int
    measure: str
    epochs: list[int]  # those that count
    rows: int
    regions: dict[str, Numbers]
    points: MapPoints


class SluCorpusFacts(TypedDict):
    """corpus.json of few utterances"""

    corpus: str
    share: Number
    seed: int


class SluTexts(TypedDict):
    """side-car of written utterances"""

    mode: str
    loss: Number  # of the decoder's last epoch
    requested: int
    written: int
    copied: int  # left out: words of a real utterance
    duplicate: int  # left out: words of an earlier one
    refused: dict[str, int]
    for_instance: NotRequired[dict[str, str]]  # a text that was refused, by reason
    validity: Number  # percent of the requests that could be read
    fresh: Number  # ... that are written


class SluFacts(TypedDict):
    """data/slu/<name>.json"""

    corpus: str
    scale: str
    share: Number
    seed: int
    mode: str  # of the writer; none: real utterances alone
    validity: NotRequired[Number]
    fresh: NotRequired[Number]
    on: str  # what the measures are of: test, or validation, to choose settings by
    slot_f1: Number
    intent_acc: Number
    whole: Number
    loss: Number  # of the last epoch
    n_train: int
    n_synthetic: int
    n_test: int


class ParserPart(TypedDict):
    rows: int
    exact: Number  # percent
    categories: Numbers


class ParserFacts(TypedDict):
    """data/parsing/<name>.json"""

    corpus: str
    scale: str
    seed: int
    choice: dict[str, Any]  # parsing.parameters.Choice
    of: int  # pairs that were chosen from
    rows: int  # ... and chosen
    parameters: int
    parts: dict[str, ParserPart]


class LowResourceTask(TypedDict):
    """low_resource.json of a task"""

    train: int
    test: int
    labels: int  # that training texts have
    seed: int
    n_aug: int


class LowResourceFacts(TypedDict):
    """data/low_resource/<name>.json"""

    benchmark: str
    scale: str
    generator: str
    texts: int
    seed: int
    accuracy: Number  # percent
    n: int
    n_train: int
    n_aug: int


Measures = dict[str, Numbers]  # reports/measures.json: arm, gain, gap, selection -> numbers


class Gain(TypedDict):
    mean: Number
    low: Number
    high: Number
    n: int


class OneComposition(TypedDict):
    n: int
    acc: Number
    wrong: NotRequired[str | None]
    n_wrong: NotRequired[int]


class TrivialAnswer(TypedDict):
    """The classifier that gives every iid test row the most frequent combination of the iid training rows."""

    answer: str
    iid_acc: Number


class Details(TypedDict):
    """reports/details.json"""

    acc_gain: Gain
    acc_gain_over_oversample: NotRequired[Gain]
    gap: NotRequired[dict[str, Numbers]]
    per_composition: dict[str, dict[str, OneComposition]]
    coverage: NotRequired[dict[str, Any]]
    epoch: NotRequired[Counts]
    bayes: NotRequired[dict[str, Numbers]]
    fidelity: NotRequired[Number | None]
    samples: NotRequired[list[JudgedText]]
    unparsed: NotRequired[dict[str, Counts]]
    trivial: NotRequired[TrivialAnswer]
    decoding: NotRequired[dict[str, Any]]


class Cost(TypedDict):
    """.costs/<output>.json"""

    seconds: Number
    cpu_seconds: NotRequired[Number]
    peak_mib: NotRequired[int]
    cores: int
    machine: str
    device: str
    versions: dict[str, str]


class Provenance(TypedDict):
    commit: str
    digest: NotRequired[str]
    seconds: NotRequired[Number]
    stages: NotRequired[int]
    timed: NotRequired[int]
    hardware: NotRequired[list[str]]


class Timed(TypedDict):
    timed: int
    seconds: Number
    hardware: str


Seconds = dict[str, Timed]  # seconds.json: a kind of stage and its name without the seed -> what it takes
Provenances = dict[str, Provenance]  # provenance.json: experiment -> where its numbers come from
Versions = dict[str, int]  # configs/versions.yaml: <stage>[-<method>] -> version of what it computes


class Golden(TypedDict):
    """tests/golden/<name>.json"""

    version: int
    variants: dict[str, dict[str, Any]]  # variant -> file -> what is in it
