"""Write what every generator, every classifier and `params.BLOCKS` go by, all layers of parameters joined.

python -m compaug.stages.settings --benchmark diagnostic --scale tiny --out data/settings/diagnostic+tiny

A file for each, and one more for a classifier that learns from no synthetic text. A stage depends on the file of what
it reads. Sizes are in none of them (`params.SIZES`).
"""

from compaug.core.files import atomic_dir, write_json
from compaug.experiments import params
from compaug.stages import parser, run

PARAMS = params.joined()
OPTIONS = parser(__doc__, "benchmark scale", out="folder")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    settings = params.parse(args.params, args.benchmark, args.scale)
    with atomic_dir(args.out) as folder:
        for kind in params.METHODS:
            for name, block in getattr(settings, kind).items():
                write_json(folder / f"{kind}-{name}.json", block.in_force())
        for name, block in settings.classifiers.items():
            write_json(folder / f"without_texts-{name}.json", block.without_texts().in_force())
        for name in params.BLOCKS:
            held = getattr(settings, name).in_force()
            write_json(folder / f"{name}.json", {key: value for key, value in held.items() if key not in params.SIZES})


if __name__ == "__main__":
    run(main)
