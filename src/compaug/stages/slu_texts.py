"""Intents and slots: fine-tune a decoder on the few real utterances and let it write more of them, labels and all.

What it writes is read strictly, and kept where it is new; the side-car says how many could be read, and why the others
could not, with one of each kind, and how many were copies of a real utterance or of another.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from compaug.core.files import InputError, write_json, write_rows
from compaug.core.records import Draft, text_key
from compaug.evaluation.metrics import rounded
from compaug.selection import judge
from compaug.stages import cost_of, parser, run
from compaug.tasks.slu import parameters, slot_f1, utterances
from compaug.tasks.slu.utterances import Utterance

PARAMS = [f"{parameters.FILE}:writer", f"{parameters.FILE}:joint"]
OPTIONS = parser(__doc__, "seed decoder", out=".jsonl", params=parameters.FILE)
OPTIONS.add_argument("--corpus", type=Path, required=True, help="folder that slu_corpus wrote")
OPTIONS.add_argument("--encoder", type=Path, help="encoder backbone, of the tagger of the mode factorised")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    settings = parameters.load(args.params)
    options = settings.writer
    names = utterances.read_inventory(args.corpus)
    real = utterances.read(args.corpus / "train.jsonl", names)
    from compaug.tasks.slu import joint_classifier, writer  # after the cheap checks: torch is slow to import

    if options.mode == writer.FACTORISED and args.encoder is None:
        raise InputError("--encoder: the mode factorised tags its texts with a classifier; give an encoder backbone")
    with cost_of(args.out):
        tokenizer, model, loss = writer.train(real, names, options, args.decoder, args.seed)
        read, refused = writer.write(tokenizer, model, real, names, options, args.seed)
        kept, others = fresh(read, real)
        if options.mode == writer.FACTORISED and kept:
            *tagger, _ = joint_classifier.train(real, names, settings.joint, args.encoder, args.seed)
            _, tags = joint_classifier.predict(*tagger, kept, names, settings.joint.max_length)
            kept = [replace(row, tags=slot_f1.as_bio(row_tags)) for row, row_tags in zip(kept, tags, strict=True)]
        reasons = {why: len(texts) for why, texts in sorted(refused.items(), key=lambda item: (-len(item[1]), item[0]))}
        requested = len(read) + sum(reasons.values())
        facts = {
            "mode": options.mode,
            "loss": rounded(loss),
            "requested": requested,
            "written": len(kept),
            **others,
            "refused": reasons,
            "for_instance": {why: refused[why][0] for why in reasons},
        }
        write_rows(args.out, map(asdict, kept))
        shares = {name: round(100 * len(rows) / requested, 2) for name, rows in (("validity", read), ("fresh", kept))}
        write_json(args.out.with_suffix(".json"), facts | shares)
    why = "".join(f"; {n} {what}" for what, n in (others | reasons).items() if n)
    print(f"{args.out}: {len(kept)} of {requested} are new utterances{why}")


def fresh(written: Sequence[Utterance], real: Sequence[Utterance]) -> tuple[list[Utterance], dict[str, int]]:
    """Those whose words neither a real utterance has nor an earlier one, and how many others there are.

    The others are `copied` or `duplicate`. A decoder that knows a few dozen utterances by heart writes them again,
    which teaches a classifier nothing.
    """
    drafts = (Draft(number, " ".join(row.words), ()) for number, row in enumerate(written))
    known_texts = {text_key(" ".join(row.words)) for row in real}
    fates = [fate for _, fate in judge(drafts, known_texts, copies=False)]
    kept = [row for row, fate in zip(written, fates, strict=True) if fate == "kept"]
    return kept, {fate: fates.count(fate) for fate in ("copied", "duplicate")}


if __name__ == "__main__":
    run(main, loads_torch=True)
