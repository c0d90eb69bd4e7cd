"""Generate texts for the requested label sets; drop what is blank, repeated or copied (paper, Eq. 4).

The rows of request 7 are <generator>-000007, then <generator>-000007-1 and so on where it has further drafts. Beside
the rows goes a side-car .json: what was requested, produced, dropped and kept, and the hashes of what made it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from compaug import selection
from compaug.core.files import InputError, file_digest, read_json, write_json
from compaug.core.records import Draft, Example, read_label_sets, text_key, write_jsonl
from compaug.data.task import TASKS
from compaug.experiments import params
from compaug.stages import cost_of, d_cg, parser, run

PARAMS = ["synthesis"]
OPTIONS = parser(__doc__, "benchmark scale split seed generator backbones model compositions", out=".jsonl")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    settings = params.load(args.params, PARAMS, benchmark=args.benchmark, scale=args.scale)["synthesis"]
    from compaug import generators  # after the cheap checks: torch is slow to import

    generator = generators.load(args.generator)
    _check_made_by(args.generator, args.model)
    can_be = generator.guided or generator.copies  # a control beside a guided generator has the same settings
    if settings.guidance and not can_be:
        raise InputError(
            f"synthesis.guidance: {args.generator} holds no labels against those of a request; leave it out, or take a "
            "generator with a prefix"
        )
    labels, train, support = d_cg(args.split)
    task = TASKS["multi_label"](labels)  # the model's folder has the prompt
    requests = read_label_sets(args.compositions, len(labels))
    if not generator.takes_requests:
        requests = []
    backbones = {role: args.backbones / role for role in generator.roles}
    with cost_of(args.out):
        skipped = Counter()
        if generator.feasible:
            possible = generator.feasible(args.model, requests, task)
            if generator.copies and not any(possible):
                requests = []  # a control without anything to repeat adds nothing
            requests, skipped = selection.replaced(
                requests, possible[: len(requests)], labels, args.generator, args.seed
            )
        known_texts = set() if generator.copies else {text_key(example.text) for example in train + support}
        drafts = generator.generate(args.model, requests, task, settings, backbones, args.seed)
        fates: list[tuple[int, str]] = []
        judged = selection.judge(drafts, known_texts, generator.copies)
        write_jsonl(args.out, rows_of(judged, requests, fates, args.generator, args.seed))
        hashes = {"generator": file_digest(args.model), "compositions": file_digest(args.compositions)}
        side_car = selection.counts(requests, fates, labels)
        side_car |= {"generator": args.generator, "config": settings.in_force(), "hashes": hashes}
        if skipped:
            side_car["skipped"] = dict(skipped)
        if generator.account:
            side_car["account"] = generator.account(args.model, requests, task, args.seed)
        write_json(args.out.with_suffix(".json"), side_car)


def _check_made_by(name: str, model: Path) -> None:
    """InputError for the model of another generator, whose files may fit all the same.

    A generator that leaves no name is not checked.
    """
    for file in (model / "config.json", model / "generator.json"):
        if file.exists() and (made_by := read_json(file, dict[str, Any]).get("generator", name)) != name:
            raise InputError(
                f"{model}: a model of {made_by}, not of {name}; train the generator again or give its own folder"
            )


def rows_of(
    judged: Iterable[tuple[Draft, str]], requests: list, fates: list[tuple[int, str]], generator: str, seed: int
) -> Iterator[Example]:
    """The rows that are kept, one by one; on the way `fates` gets (number of the request, fate) of every draft."""
    drawn = Counter()
    for draft, fate in judged:
        further = f"-{drawn[draft.request]}" if drawn[draft.request] else ""
        drawn[draft.request] += 1
        fates.append((draft.request, fate))
        if fate == "kept":
            yield Example(
                id=f"{generator}-{draft.request:06d}{further}",
                text=draft.text,
                labels=draft.labels,
                source=generator,
                requested_labels=requests[draft.request],
                seed=seed,
                soft_labels=draft.soft_labels,
                made_of=draft.made_of,
            )


if __name__ == "__main__":
    run(main, loads_torch=True)
