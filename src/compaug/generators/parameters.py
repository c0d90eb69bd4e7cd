"""Parameters of the label generator, of the text generators and of decoding (docs/spec/ld-vae.md, 4 to 8)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from compaug.core.schema import Amount, Block, Count, Length, Paced, Positive, Probability, Rate, Share, Words


class LabelGenerator(Block):
    """P_t(y) (paper, Eq. 3)."""

    mode: Literal["fine_tuned", "zero_shot", "empirical"]
    requested: Positive
    epochs: Positive
    lr: Rate
    batch_size: Positive
    max_tokens: Positive
    temperature: Annotated[float, Field(gt=0)]
    top_p: Probability
    top_k: Count
    min_labels: Positive
    max_labels: Positive | None = None
    max_tries: Positive

    @model_validator(mode="after")
    def _ordered(self) -> LabelGenerator:
        if self.max_labels is not None and self.max_labels < self.min_labels:
            raise ValueError("max_labels is below min_labels")
        return self


class Synthesis(Block):
    """Decoding (docs/spec/ld-vae.md, 5); `guidance` is ours."""

    max_length: Length
    batch_size: Positive
    temperature: Annotated[float, Field(gt=0)]
    top_k: Count
    top_p: Probability
    no_repeat_ngram: Count
    guidance: Amount | None = None  # w, weight of what other labels are held against; None: 0


class Untrained(Block):
    """What trains nothing has nothing to set."""


class TrainedGenerator(Paced):
    """What all trained generators have (paper, Eq. 4)."""

    epochs: Positive
    lr: Rate
    batch_size: Positive
    patience: Positive | None = None
    warmup: Share
    validation: Share
    max_length: Length
    generator_data: Literal["all", "train_only"]
    epoch_share: Probability | None = None  # of D_cg that an epoch sees


class FlanT5(TrainedGenerator):
    """Flan-T5 of "Generator Baselines"."""


class MaskedJoint(TrainedGenerator):
    """Joint text and labels, §2.2 (docs/spec/joint-generation.md, 3 and 7)."""

    mode: Literal["labels", "words", "span", "multi_spans"]
    masked: Probability
    spans: Literal["none", "mi"]
    relabel: Literal["drop", "generated"]


class MaskedJointLora(MaskedJoint):
    """The same with a causal decoder, which learns through LoRA."""

    lora: Positive


class PrefixGenerator(TrainedGenerator):
    """What the prefix-tuned generators share (paper, Eqs. 5 and 6)."""

    prefix_length: Positive
    mid_dim: Positive
    loss_on_prompt: bool
    dynamics: bool | None = None  # true: the measures of all training rows after every epoch, for data maps
    dynamics_bleu: Probability | None = None  # of so many of them BLEU too, which takes a decoding


class VaeDprior(PrefixGenerator):
    """What LD-VAE has too (paper, Eq. 7)."""

    latent: Positive
    clusters: Positive
    alpha: Amount
    beta: Amount
    kl_form: Literal["exact", "reference"]
    kl_reduction: Literal["mean", "paper_literal"]
    prior_variance: Annotated[float, Field(gt=0)]
    kl_warmup: Share
    free_bits: Amount
    cache_gib: Amount


class LdVae(VaeDprior):
    """Paper, Eqs. 7 to 14; every `reference` option is a row of docs/spec/ld-vae.md, 11."""

    prior: Literal["conditional", "standard"]
    label_pool: Literal["mean", "last"]
    label_heads: Literal["per_label", "shared"]
    label_prior: Literal["per_label", "shared"]
    position_embedding: bool
    noise_per_copy: bool
    batch_order: Literal["shuffled", "reference"]


class Linda(TrainedGenerator):
    """LINDA, §3.3 and Appendix B.1 (docs/spec/linda.md, 7)."""

    p_mask: Share
    norm: Amount
    noise: Amount
    alpha_for: Literal["pair", "batch"]
    reduction: Literal["mean", "sum"]
    sigma: Annotated[float, Field(gt=0.01, le=100)]
    pairs: Literal["union", "same", "random"]
    alpha_low: Annotated[float, Field(ge=0, le=1)]
    alpha_high: Annotated[float, Field(ge=0, le=1)]

    @model_validator(mode="after")
    def _ordered(self) -> Linda:
        if self.alpha_high < self.alpha_low:
            raise ValueError("alpha_high is below alpha_low")
        return self


class LindaPrefix(Linda):
    """Our bodies: a network of this width between frozen encoder and decoder, or a frozen decoder that reads itself."""

    mid_dim: Positive
    reads: Literal["decoder"] | None = None  # None: the encoder


class LanguageModel(Block):
    """Whoever asks one. The key of the endpoint is never here: it is the variable OPENAI_API_KEY."""

    backend: Literal["endpoint", "local"]
    base_url: str | None = None
    model: str | None = None
    temperature: Amount
    top_p: Probability
    top_k: Count
    max_tokens: Positive
    concurrency: Positive
    timeout: Annotated[float, Field(gt=0)]
    max_retries: Count
    retry_seconds: Amount
    price_prompt: Amount
    price_completion: Amount
    store: Words


class Llm(LanguageModel):
    """GPT3.5 of "Generator Baselines"."""

    few_shot_words: Count
    per_prompt: Positive

    @model_validator(mode="before")
    @classmethod
    def _filled(cls, values: object) -> object:
        """What is left open is as for a large model behind an endpoint."""
        if not isinstance(values, dict):
            return values
        return {key: AT_AN_ENDPOINT.get(key) if value is None else value for key, value in values.items()}


AT_AN_ENDPOINT = {"backend": "endpoint", "max_tokens": 400, "few_shot_words": 1500, "per_prompt": 1, "concurrency": 8}


class Coda(LanguageModel):
    """CoDa (docs/spec/coda.md, 2 to 9). What is left open of the constraints is as `constraints` says, what is left
    open of the form is as `backend` does."""

    constraints: Literal["paper", "released"]
    lexical: bool
    longest: Positive
    keywords_by: Literal["document", "label"]
    label: bool
    syntactic: bool
    length: Literal["paper", "reference", "none"]
    concepts: bool
    naming: Literal["model", "phrase"]
    form: Literal["instruction", "list"] | None  # never None: not every backend has both
    anchors: Count
    n_aug: Positive
    overgenerate: Positive
    rank_by: Literal["none", "compliance"]
    context: Positive | None = None

    @model_validator(mode="before")
    @classmethod
    def _filled(cls, values: object) -> object:
        if not isinstance(values, dict):
            return values
        form = values.get("form") or ("instruction" if values.get("backend") == "endpoint" else "list")
        naming = "model" if form == "instruction" else "phrase"
        open_ = {"lexical": True, "label": True, "form": form, "naming": naming}
        open_ |= CONSTRAINTS.get(values.get("constraints"), {})
        return open_ | {key: value for key, value in values.items() if value is not None}

    @model_validator(mode="after")
    def _consistent(self) -> Coda:
        if self.form == "list" and self.backend == "endpoint":
            raise ValueError("form: an endpoint takes instructions; a list is for backend: local")
        if self.context is not None and self.context <= self.max_tokens:
            raise ValueError("context: leaves no room for a prompt beside max_tokens")
        return self


CONSTRAINTS = {  # presets: all five constraints of the paper; what the released classification path does
    "paper": {"longest": 3, "keywords_by": "document", "syntactic": True, "length": "paper", "concepts": True},
    "released": {"longest": 1, "keywords_by": "label", "syntactic": False, "length": "reference", "concepts": False},
}


class Custom(Block):
    """A generator of the user's own: anything, `shared` included."""

    model_config = ConfigDict(extra="allow")


BLOCKS: dict[str, type[Block]] = {  # a further name is a further file of this folder
    **dict.fromkeys(("none", "oversample", "shuffled", "concat", "aeda", "eda"), Untrained),
    **dict.fromkeys(("gpt2_pt", "ls_pt"), PrefixGenerator),
    **dict.fromkeys(("ld_vae", "vae"), LdVae),
    "vae_dprior": VaeDprior,
    "flan_t5": FlanT5,
    "masked_joint": MaskedJoint,
    "masked_joint_lora": MaskedJointLora,
    "llm": Llm,
    "coda": Coda,
    "linda": Linda,
    "linda_prefix": LindaPrefix,
}
