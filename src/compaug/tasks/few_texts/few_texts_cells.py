"""What configs/low_resource.yaml asks for, stage by stage; experiments/low_resource/dvc.yaml runs over it."""

from pathlib import Path

from compaug import generators
from compaug.core import registry
from compaug.core.files import InputError
from compaug.tasks.few_texts import parameters
from compaug.tasks.few_texts.parameters import FILE

FOLDER = "low_resource"  # of experiments/
KINDS = (
    *("raw", "settings", "low_resource", "backbones"),
    *("train_generator", "synthesize", "train_classifier", "one_label"),
)
__all__ = ["FILE", "FOLDER", "KINDS", "plan"]
NONE = "none"  # real texts alone
ROLES = ("encoder", "decoder")


def plan(source: Path) -> dict[str, dict[str, dict[str, object]]]:
    """Kind of stage -> name -> what dvc.yaml fills in, as the file `source` asks. InputError as of `parameters.load`.

    Backbones of a scale that trains them learn from the first seed's largest task: they see no test text, and no more
    texts than a task has.
    """
    settings = parameters.load(source)
    models = f"{settings.benchmark}-{settings.scale}"
    common = {"benchmark": settings.benchmark, "scale": settings.scale, "models": models}
    stages: dict[str, dict] = {kind: {} for kind in KINDS}
    stages["raw"][settings.benchmark] = {"benchmark": settings.benchmark}
    stages["settings"][models] = common
    tasks = {
        (texts, seed): f"{settings.benchmark}-{texts}-{seed}"
        for texts in sorted(set(settings.texts))
        for seed in dict.fromkeys(settings.seeds)
    }
    drawn = {"benchmark": settings.benchmark, "tested": settings.tested, "n_aug": settings.n_aug}
    stages["low_resource"] = {task: drawn | {"texts": texts, "seed": seed} for (texts, seed), task in tasks.items()}
    first = tasks[max(settings.texts), settings.seeds[0]]
    stages["backbones"] = {f"{models}-{role}": common | {"role": role, "task": first} for role in ROLES}
    for generator, words in settings.generators.items():
        if generator != NONE:
            _check(generator, source)
        for (texts, seed), task in tasks.items():
            name = f"{models}-{generator}-{texts}-{seed}"
            synthetic = f"data/low_resource/{task}/no_texts.jsonl"
            cell = common | {"task": task, "seed": seed}
            if generator != NONE:
                synthetic = f"data/low_resource/texts/{name}.jsonl"
                more = f"--set generators.{generator}.{words}" if words else ""
                stages["train_generator"][name] = cell | {"generator": generator, "more": more}
                stages["synthesize"][name] = cell | {"generator": generator}
            more = f"--set classifiers.bert.{settings.classifier}" if settings.classifier else ""
            stages["train_classifier"][name] = cell | {"synthetic": synthetic, "more": more}
            stages["one_label"][name] = {
                "task": task,
                "generator": generator,
                "benchmark": settings.benchmark,
                "scale": settings.scale,
            }
    return {kind: dict(sorted(entries.items())) for kind, entries in stages.items()}


def _check(generator: str, source: Path) -> None:
    try:
        registry.roles_of(generators, generator)
    except InputError as error:
        raise InputError(f"{source}: generators: {error}") from None
