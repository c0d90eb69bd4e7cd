"""Sample the label sets to write texts for from the label generator P_t(y) (paper, Eq. 3).

python -m compaug.stages.sample_label_sets --benchmark diagnostic --split data/splits/diagnostic \
    --decoder models/run/backbones/decoder --seed 42 --out data/compositions/run.jsonl

The fine-tuned decoder is not kept: it is seconds of work and nothing but its samples is used.
"""

from compaug.core.files import digest, file_digest, write_json, write_rows
from compaug.experiments import params
from compaug.label_generator import Listing, sample_label_sets
from compaug.stages import cost_of, d_cg, parser, run

PARAMS = ["label_generator", *params.size("requested"), *params.corpus("label_prompt", "label_separator")]
OPTIONS = parser(__doc__, "benchmark scale split seed decoder", out=".jsonl")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    blocks = params.load(args.params, PARAMS, benchmark=args.benchmark, scale=args.scale)
    options, listing = blocks["label_generator"], Listing(blocks["label_prompt"], blocks["label_separator"])
    labels, *parts = d_cg(args.split)
    train, support = ([example.labels for example in part] for part in parts)
    made_of = {
        "options": {"max_labels": options.max_labels} | options.in_force(),  # null there: of the largest set of D_train
        "prompt": listing.prompt,
        "separator": listing.separator,
        "seed": args.seed,
        "support": digest(support),
        "decoder": file_digest(args.decoder),
    }
    from compaug.training.checkpoint import checkpoints_kept, work_dir_for  # torch is slow to import

    with cost_of(args.out), checkpoints_kept():
        label_sets, report = sample_label_sets(
            options,
            listing,
            labels,
            train=train,
            support=support,
            decoder=args.decoder,
            seed=args.seed,
            work_dir=work_dir_for(args.out.with_suffix(""), made_of),
        )
        write_rows(args.out, ({"requested_labels": list(label_set)} for label_set in label_sets))
        write_json(args.out.with_suffix(".json"), report | {"made_of": made_of})


if __name__ == "__main__":
    run(main, loads_torch=True)
