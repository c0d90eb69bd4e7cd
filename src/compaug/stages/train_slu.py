"""Intents and slots: train the joint classifier and say how good it is.

Writes slot F1 by conlleval's rule, intent accuracy, the share of utterances that are right as a whole. Values of
configs/slu.yaml are chosen with `--on validation`, and reported on the test set.
"""

from pathlib import Path

from compaug.core.files import InputError, read_json, write_json
from compaug.evaluation.metrics import rounded
from compaug.stages import cost_of, parser, run
from compaug.tasks.slu import parameters, slot_f1, utterances

PARAMS = [f"{parameters.FILE}:joint"]
NONE = "none"  # the mode of real utterances alone
OPTIONS = parser(__doc__, "scale seed encoder", out=".json", params=parameters.FILE)
OPTIONS.add_argument("--corpus", type=Path, required=True, help="folder that slu_corpus wrote")
OPTIONS.add_argument("--synthetic", type=Path, help="further utterances to train on (.jsonl)")
OPTIONS.add_argument(
    "--on", choices=("validation", "test"), default="test", help="utterances to measure on (default: test)"
)


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    settings = parameters.load(args.params).joint
    if args.synthetic and args.out == args.synthetic.with_suffix(".json"):
        raise InputError(f"--out {args.out}: is the side-car of --synthetic, which is read; give another path")
    names = utterances.read_inventory(args.corpus)
    real, test = (utterances.read(args.corpus / f"{part}.jsonl", names) for part in ("train", args.on))
    synthetic = utterances.read(args.synthetic, names, may_be_empty=True) if args.synthetic else []
    cell = read_json(args.corpus / utterances.FACTS) | {
        "scale": args.scale,
        "mode": NONE,
        "on": args.on,
    }
    if args.synthetic:
        written = read_json(args.synthetic.with_suffix(".json"))
        cell |= {name: written[name] for name in ("mode", "validity", "fresh")}
    from compaug.tasks.slu import joint_classifier  # after the cheap checks: torch is slow to import

    with cost_of(args.out):
        all_of_them = joint_classifier.balanced(real, synthetic) if settings.balanced else real + synthetic
        tokenizer, model, loss = joint_classifier.train(all_of_them, names, settings, args.encoder, args.seed)
        intents, tags = joint_classifier.predict(tokenizer, model, test, names, settings.max_length)
        facts = rounded(judged(test, intents, tags) | {"loss": loss})
        write_json(args.out, cell | facts | {"n_train": len(real), "n_synthetic": len(synthetic), "n_test": len(test)})
    print(
        f"slot F1 {facts['slot_f1']:.2f}, intents {facts['intent_acc']:.2f} % right, on {len(test)} {args.on} "
        "utterances"
    )


def judged(gold, intents, tags) -> dict[str, float]:
    whole = [row.intent == i and list(row.tags) == t for row, i, t in zip(gold, intents, tags, strict=True)]
    return {
        "slot_f1": slot_f1.slot_f1([row.tags for row in gold], tags),
        "intent_acc": slot_f1.intent_accuracy([row.intent for row in gold], intents),
        "whole": 100 * sum(whole) / len(whole),
    }


if __name__ == "__main__":
    run(main, loads_torch=True)
