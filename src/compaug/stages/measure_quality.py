"""Measure a generator's texts: fidelity, variety, copying, length, fluency; and what the filter kept of them.

Numbers alone are written; ten texts with the oracle's verdicts only where the grammar of the corpus is known, because
texts of other corpora may not be published. Reads the training and support rows, never the test set.
"""

from collections.abc import Mapping
from pathlib import Path

from compaug.core.files import read_json, write_json
from compaug.core.records import read_jsonl
from compaug.data.readers import oracle_for
from compaug.data.task import TASKS
from compaug.evaluation.metrics import rounded
from compaug.evaluation.text_quality import grammar
from compaug.evaluation.text_quality.quality import coverage, measure
from compaug.experiments import params
from compaug.stages import cost_of, d_cg, parser, run

PARAMS = params.corpus("reader", "options", "text_prompt", "label_separator")
# Of the side-car of the kept texts: counts and shares, no text.
SELECTION = ("requested", "produced", "dropped", "kept", "per_composition", "histogram")
SELECTION += ("mean_filter_jacc", "share_jacc_1", "total_variation")
LABEL_GENERATOR = ("requested", "rejected", "rejection_rate")
OPTIONS = parser(__doc__, "benchmark split selected synthetic decoder", out=".json")
OPTIONS.add_argument("--compositions", type=Path, help="side-car of the label generator's requests")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    blocks = params.load(args.params, PARAMS, benchmark=args.benchmark)
    labels, train, support = d_cg(args.split)
    task = TASKS["multi_label"](labels, blocks["text_prompt"], blocks["label_separator"])
    written, kept = (read_jsonl(path, len(labels)) for path in (args.synthetic, args.selected))
    corpus = (example.text for example in train + support)
    with cost_of(args.out):
        measures = dict(measure(kept, corpus, args.decoder, task.source))
        measures["selection"] = _only(SELECTION, read_json(args.selected.with_suffix(".json")))
        if args.compositions:
            requests = read_json(args.compositions)
            measures["label_generator"] = _only(LABEL_GENERATOR, requests)
            measures["coverage"] = coverage(kept, requests.get("compositions", {}), labels)
        if any("compliance" in (row.made_of or {}) for row in written):
            from compaug.generators.coda.constraints.compliance import of_rows  # scikit-learn is slow to import

            measures["compliance"] = {"raw": of_rows(written), "kept": of_rows(kept)}
        if known_grammar := oracle_for(blocks["reader"], blocks["options"]):
            counts = {"n_raw": len(written), "n_kept": len(kept)}
            shares = {"raw": grammar.fidelity(known_grammar, written), "kept": grammar.fidelity(known_grammar, kept)}
            measures |= {"fidelity": shares | counts, "samples": grammar.judged_samples(known_grammar, kept, labels)}
        write_json(args.out, rounded(measures))


def _only(names: tuple[str, ...], values: Mapping) -> dict:
    return {name: values[name] for name in names if name in values}


if __name__ == "__main__":
    run(main, loads_torch=True)
