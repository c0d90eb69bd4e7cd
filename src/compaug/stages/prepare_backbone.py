"""Make one backbone of a benchmark: trained here on D_train, fetched at a pinned revision, or copied.

python -m compaug.stages.prepare_backbone --benchmark diagnostic --role decoder --split data/splits/diagnostic \
    --out models/run/backbones/decoder

With `pretraining: prompted` a tiny decoder and a tiny sequence-to-sequence model see each text after its prompt P(y):
GPT-2 and T5 know what a label's words mean before any tuning. `texts` leaves the prompts out.
"""

from compaug import classifiers, generators
from compaug.core.files import atomic_dir, digest, write_json
from compaug.core.records import Labels, read_jsonl
from compaug.data.task import TASKS
from compaug.experiments import params
from compaug.stages import cost_of, parser, run

PARAMS = [*params.scaled("backbones.{role}"), *params.corpus("text_prompt", "label_separator")]

ALWAYS = {"encoder", "decoder"}  # the filter opens the one, the label generator and the measures of texts the other
SEED = 0  # of the tiny models
OPTIONS = parser(__doc__, "benchmark scale split", out="folder")
OPTIONS.add_argument("--role", required=True, choices=("encoder", "decoder", "seq2seq"), help="which of its backbones")
OPTIONS.add_argument("--generator", help="make it only if this generator opens it, else a folder that says so")
OPTIONS.add_argument("--classifier", help="... or this classifier")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    blocks = params.load(args.params, PARAMS, benchmark=args.benchmark, scale=args.scale, role=args.role)
    methods = {generators: args.generator, classifiers: args.classifier}
    named = {package: name for package, name in methods.items() if name}
    opened = {role for package, name in named.items() for role in package.roles_of(name)}
    if named and args.role not in ALWAYS | opened:
        # the same for all that do not open it, so that what follows is not made again
        with atomic_dir(args.out) as folder:
            write_json(folder / "unused.json", {"reason": f"no method of this cell opens a {args.role} model"})
        return
    from compaug.models.backbones import prepare  # torch is slow to import
    from compaug.training.checkpoint import checkpoints_kept, work_dir_for

    labels = Labels.read(args.split / "labels.json")

    task = TASKS["multi_label"](labels, blocks["text_prompt"], blocks["label_separator"])
    examples = read_jsonl(args.split / "train.jsonl", len(labels), may_be_empty=False)
    texts = [example.text for example in examples]
    prompts = [task.source(example.labels) if example.labels else "" for example in examples]
    with cost_of(args.out), checkpoints_kept(), atomic_dir(args.out) as folder:
        work_dir = work_dir_for(args.out, blocks[args.role], SEED, digest([*prompts, *texts]))
        prepare(args.role, blocks[args.role], texts, folder, SEED, work_dir, prompts)


if __name__ == "__main__":
    run(main, loads_torch=True)
