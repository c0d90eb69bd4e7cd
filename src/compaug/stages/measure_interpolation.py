"""Whether a generator that writes between two texts goes from one to the other with alpha, on held-out texts."""

from compaug.core.files import write_json
from compaug.core.records import Labels
from compaug.data.task import TASKS
from compaug.evaluation.metrics import rounded
from compaug.experiments import params
from compaug.stages import cost_of, parser, run

PARAMS = ["synthesis"]
ROLES = ("encoder", "decoder", "seq2seq")
OPTIONS = parser(__doc__, "benchmark scale split seed generator backbones model", out=".json")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    settings = params.load(args.params, PARAMS, benchmark=args.benchmark, scale=args.scale)["synthesis"]
    labels = Labels.read(args.split / "labels.json")
    task = TASKS["multi_label"](labels)  # the model's folder has the prompt
    backbones = {role: args.backbones / role for role in ROLES}
    # after the cheap checks: torch is slow to import
    from compaug.evaluation.text_quality.interpolation_behaviour import behaviour, monotony

    with cost_of(args.out):
        by_alpha = behaviour(args.generator, args.model, task, settings, backbones, args.seed)
        trends = {name: monotony(by_alpha["alphas"], name) for name in ("precision_a", "similarity_a")}
        of = {"generator": args.generator, "seed": args.seed, "spearman": trends}
        write_json(args.out, rounded(of | by_alpha))


if __name__ == "__main__":
    run(main, loads_torch=True)
