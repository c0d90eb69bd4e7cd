"""What each departure from the reference code is worth: options of the generator, rules of selection."""

from collections.abc import Iterator

from compaug.evaluation.longtable import difference, pick
from compaug.reports import METRICS
from compaug.reports.entries import Table, entry
from compaug.reports.queries import UNSEEN, Results

EXPERIMENT = "ablations"
DEFAULT = {"generator": "ld_vae", "selection": "top_k"}
WORDS = {"generator": "options of the generator", "selection": "rules of selection"}


def tables(results: Results) -> Iterator[Table]:
    for _, benchmark, rows in results.of(EXPERIMENT, classifier="bert"):
        rows = pick(rows, split="unseen", decoding="threshold", metric=METRICS)
        rows = rows[~rows["selection"].str.contains("texts=")]
        for varied, default in DEFAULT.items():
            (kept,) = set(DEFAULT) - {varied}
            variants = pick(rows, **{kept: DEFAULT[kept]})
            variants = variants[
                (variants[varied] == default) | (varied == "selection") | variants[varied].str.startswith(f"{default}+")
            ]
            lines = []
            for name, *entries in results.lines(variants, [varied], UNSEEN):
                acc = [pick(variants, metric="acc", **{varied: which}) for which in (name, default)]
                lines.append([name, *entries, entry(difference(*acc) if name != default else None, sign=True)])
            lines.sort(key=lambda line: line[0] != default)
            if len(lines) > 1:
                header = [varied, *UNSEEN, f"Acc over {default}"]
                yield Table(f"{benchmark}: {WORDS[varied]}", results.setting(variants), header, lines)
