"""Metadata of the cards of an exported classifier and of exported texts, as the hub reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

TAGS = ["multi-label", "compositional-generalization", "compaug"]
MEASURES = {  # of measures.json: what the hub calls it, its name on a page, of which combinations
    "acc": ("accuracy", "Acc", "unseen combinations"),
    "jacc": ("jaccard", "Jacc", "unseen combinations"),
    "micro_f1": ("f1", "micro F1", "unseen combinations"),
    "seen_acc": ("accuracy", "Acc", "seen combinations"),
    "best_harmonic": ("harmonic_mean", "H at the best constant", "seen and unseen combinations"),
    "ausuc": ("ausuc", "AUSUC", "seen and unseen combinations"),
}


def of_classifier(corpus: str, measures: Mapping[str, float]) -> str:
    """YAML; `measures` are what an audit measured of this very classifier, in percent, empty where none did."""
    from huggingface_hub import ModelCardData

    results = list(_results(corpus, measures)) or None
    kind = {"library_name": "transformers", "pipeline_tag": "text-classification", "tags": TAGS}
    return ModelCardData(**kind, model_name=f"{corpus}, compaug", eval_results=results).to_yaml()


def _results(corpus: str, measures: Mapping[str, float]) -> Iterator:
    from huggingface_hub import EvalResult

    for key, (kind, name, split) in MEASURES.items():
        if key in measures:
            yield EvalResult(
                task_type="text-classification",
                task_name="multi-label text classification",
                dataset_type=corpus,
                dataset_name=corpus,
                dataset_split=split,
                metric_type=kind,
                metric_name=f"{name}, {split}",
                metric_value=round(measures[key] / 100, 6),
            )


def of_texts(corpus: str, files: Mapping[str, str]) -> str:
    """YAML; `files` by the name of the part, by which `datasets.load_dataset` finds them."""
    from huggingface_hub import DatasetCardData

    return DatasetCardData(
        pretty_name=f"{corpus}, texts of compaug",
        task_categories=["text-classification"],
        task_ids=["multi-label-classification"],
        tags=[*TAGS, "synthetic"],
        configs=[{"config_name": name, "data_files": file} for name, file in files.items()],
    ).to_yaml()
