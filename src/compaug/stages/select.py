"""Quality control: score the synthetic texts with the filter and keep the best k (paper, "Quality Control").

The score (`selection.score`) says how well what the filter reads in a text agrees with what was asked for: the
probability of exactly the requested set, the Jaccard index of the filter's label set and the requested one (the paper),
or the probability of the requested set among all compositions under the composition prior. hard, ambiguous and easy
rank by a data map of these texts (--map; docs/spec/cartography.md, 5).

With `selection.labels` the kept texts get soft labels: `teacher`, the filter's probabilities, for it is a classifier
that was trained on real texts alone; `soft`, those of the real texts that each was made of, in their proportion
(LINDA). `selection.sharpening` moves them from the middle. Otherwise they keep those that the generator gave them.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from compaug import selection
from compaug.cartography import maps
from compaug.core.files import InputError, read_json, write_json
from compaug.core.records import Example, Labels, read_jsonl, sub_seed, write_jsonl
from compaug.evaluation.decoding.composition_prior import posteriors, prior_of
from compaug.evaluation.metrics import instance_scores, label_matrix
from compaug.experiments import params
from compaug.generators.linda import soft_labels
from compaug.stages import cost_of, parser, run, share

PARAMS = ["selection", *params.size("k")]
THRESHOLD = 0.5  # the filter's own decision: the larger of its two probabilities
OPTIONS = parser(__doc__, "benchmark seed classifier labels synthetic", out=".jsonl")
OPTIONS.add_argument("--map", type=Path, help="folder of a data map of these texts: scores hard, ambiguous and easy")
OPTIONS.add_argument("--share", type=share, help="keep this share of the texts, in place of sizes.k of them")
OPTIONS.add_argument("--filter", type=Path, required=True, help="model folder of the filter")
OPTIONS.add_argument(
    "--train", type=Path, nargs="+", required=True, help="what the filter learned from: P_train(y) of `posterior`"
)


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    settings = params.load(args.params, PARAMS, benchmark=args.benchmark)["selection"]
    if (settings.score in maps.REGIONS) != (args.map is not None):
        raise InputError(
            f"selection.score: {settings.score}; hard, ambiguous and easy need --map, a data map of these texts, and "
            "no other score takes one: `make grid EXPERIMENT=cartography` makes such maps"
        )
    labels = Labels.read(args.labels)
    examples = read_jsonl(args.synthetic, len(labels))
    synthesis = read_json(args.synthetic.with_suffix(".json"))
    if args.share is not None:
        settings = settings.model_copy(update={"k": selection.share_of(args.share, len(examples))})
    examples = examples[: selection.among(len(examples), settings.k, settings.overgenerate)]
    with cost_of(args.out):
        if synthesis["requested"] == 0:  # generator `none`: nothing was asked for, so nothing is ranked
            kept, report = [], {"kept": 0}
        else:
            from compaug import classifiers  # torch is slow to import and `none` does not need it

            probabilities = classifiers.load(args.classifier).predict(args.filter, [e.text for e in examples])
            requested = [e.requested_labels for e in examples]
            target = label_matrix(requested, len(labels))
            scores = ranking = instance_scores(target, probabilities > THRESHOLD, "reference")["jacc"]
            if settings.score == "log_joint":
                ranking = selection.log_probability(probabilities, target)
            elif settings.score == "posterior":
                learned = [e.labels for path in args.train for e in read_jsonl(path, len(labels))]
                prior = prior_of(learned, Counter(requested), len(labels))  # requests are draws from P_t
                ranking = posteriors(probabilities, prior, requested, settings.weight, settings.strength)
            elif settings.score in maps.REGIONS:
                data_map = maps.map_of(args.map, settings.measure).of([e.id for e in examples], args.map)
                ranking = -maps.REGIONS[settings.score](data_map)
            seed = sub_seed(args.seed, "selection")
            rows = selection.select(examples, ranking, settings.k, settings.mode, settings.scope, seed)
            kept = [replace(examples[row], filter_jacc=round(float(scores[row]), 6)) for row in rows]
            if settings.labels is not None:
                temperature = settings.sharpening or 1.0
                if settings.labels == "teacher":
                    soft = [rounded(soft_labels.sharpened_labels(probabilities[row], temperature)) for row in rows]
                else:
                    soft = of_sources(kept, args.train, temperature, labels, args.synthetic)
                kept = [replace(e, soft_labels=targets) for e, targets in zip(kept, soft, strict=True)]
            report = selection.report(examples, scores, rows, labels)
        write_jsonl(args.out, kept)
        held = {"overgenerate": settings.overgenerate} | settings.in_force()  # null there: it chose among all
        write_json(args.out.with_suffix(".json"), merged(synthesis, report) | {"selection": held})


def of_sources(
    kept: Sequence[Example], train: Sequence[Path], temperature: float, labels: Labels, path: Path
) -> list[tuple[float, ...]]:
    """Soft labels from the labels of the real texts that each was made of. InputError where it does not say which."""
    labels_of = {e.id: e.labels for file in train for e in read_jsonl(file, len(labels))}
    try:
        return [soft_labels.of_sources(e.made_of or {}, labels_of, len(labels), temperature) for e in kept]
    except (KeyError, TypeError, ValueError, IndexError):
        raise InputError(
            f"{path}: its texts do not say which of {', '.join(map(str, train))} they were made of, as those of linda "
            "do; take another selection.labels than soft"
        ) from None


def rounded(probabilities) -> tuple[float, ...]:
    """Soft labels of six digits from the probabilities of a text [n_labels]."""
    return tuple(round(float(p), 6) for p in probabilities)


def merged(synthesis: dict, report: dict) -> dict:
    """The synthesis side-car with what selection adds to it, composition by composition."""
    by_key = synthesis.get("per_composition", {})
    both = {key: by_key.get(key, {}) | row for key, row in report.get("per_composition", {}).items()}
    return synthesis | report | {"per_composition": by_key | both}


if __name__ == "__main__":
    run(main, loads_torch=True)
