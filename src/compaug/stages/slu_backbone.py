"""Intents and slots: a pretrained encoder or decoder of a scale, as a local folder.

python -m compaug.stages.slu_backbone --scale pretrained --role encoder --out models/slu/encoder

Few utterances are too few to train one on, so a scale whose backbones are trained here is refused.
"""

from compaug.core.files import InputError, atomic_dir
from compaug.experiments import params
from compaug.stages import cost_of, parser, run

PARAMS = [f"{params.SCALES}:{{scale}}.backbones.{{role}}"]
TINY = "tiny"
OPTIONS = parser(__doc__, "scale", out="folder")
OPTIONS.add_argument("--role", required=True, choices=("encoder", "decoder"), help="which of the scale's backbones")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    spec = params.backbone(args.params, args.scale, args.role)
    if spec.kind == TINY:
        raise InputError(
            f"{params.SCALES}: {args.scale}.backbones.{args.role}: kind {TINY} would have to learn from a few dozen "
            "utterances; take a scale with pretrained ones"
        )
    from compaug.models import downloads  # after the cheap checks: torch is slow to import

    with cost_of(args.out), atomic_dir(args.out) as folder:
        downloads.bring(args.role, spec, folder)


if __name__ == "__main__":
    run(main)
