"""What is kept of D_train by a data map (cartography, §3.3): easy, hard, ambiguous texts, two of them, or random ones.

Writes labels.json, train.jsonl (the subset, in the order of D_train) and support.jsonl (all of it), what a generator or
a classifier takes in the place of the split.
"""

from pathlib import Path

from compaug.cartography import maps
from compaug.core.files import atomic_dir, write_json
from compaug.core.records import sub_seed, write_jsonl
from compaug.experiments import params
from compaug.stages import cost_of, d_cg, parser, run

PARAMS = ["subset"]
OPTIONS = parser(__doc__, "split seed", out="folder")
OPTIONS.add_argument("--map", type=Path, required=True, help="folder of a data map of D_train")
OPTIONS.add_argument("--labelled", action="store_true", help="of the texts with labels alone, for a generator")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    settings = params.load(args.params, PARAMS)["subset"]
    labels, train, support = d_cg(args.split)
    if args.labelled:  # a generator learns nothing from the others, and its map does not have them
        train = [example for example in train if example.labels]
    data_map = maps.map_of(args.map, settings.measure).of([example.id for example in train], args.map)
    items = [maps.COVERAGES[settings.coverage](example) for example in train]
    seed = sub_seed(args.seed, "subset")
    subset = maps.subset(data_map, settings.region, settings.ratio, items, settings.keep, seed)
    with cost_of(args.out), atomic_dir(args.out) as folder:
        labels.write(folder / "labels.json")
        write_jsonl(folder / "train.jsonl", (train[row] for row in sorted(subset.rows)))
        write_jsonl(folder / "support.jsonl", support)
        repaired = {"added": subset.added, "removed": subset.removed}
        write_json(
            folder / "subset.json", {"of": len(train), "rows": len(subset.rows), **repaired, **settings.model_dump()}
        )
    if len(subset.rows) != int(settings.ratio * len(train)):
        print(
            f"note: {len(subset.rows)} texts are kept, for {settings.coverage} would vanish with "
            f"{int(settings.ratio * len(train))}"
        )


if __name__ == "__main__":
    run(main)
