"""What a model folder says of its generator, and what the answers of a language model cost."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace

from compaug.core.files import read_json

FACTS = "generator.json"  # beside a pretrained model, whose config.json has that name already
CONFIG = "config.json"


def facts_of(model_dir: Path, task) -> tuple[dict, SimpleNamespace, object]:
    """(facts, params, task) of a model folder; InputError when it was trained for another task."""
    file = FACTS if (model_dir / FACTS).exists() else CONFIG
    facts = read_json(model_dir / file)
    return facts, SimpleNamespace(**facts["params"]), task.of_model(facts, model_dir)


def bill(usages: Iterable[Mapping[str, int | None]], params) -> dict[str, object]:
    """Tokens as the model counted them, and their price in USD."""
    usages = list(usages)
    tokens = {kind: sum(usage[f"{kind}_tokens"] or 0 for usage in usages) for kind in ("prompt", "completion")}
    usd = tokens["prompt"] * params.price_prompt + tokens["completion"] * params.price_completion
    return {"tokens": tokens, "usd": round(usd / 1e6, 4)}
