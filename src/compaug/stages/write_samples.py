"""Some kept texts of the cell with their scores, and how many texts its classifier cut: a page that Git ignores."""

from pathlib import Path

from compaug.core.files import write_text
from compaug.core.records import Labels, read_jsonl
from compaug.project import samples
from compaug.project.names import facts_of
from compaug.stages import parser, run

OPTIONS = parser(__doc__, "labels model selected", out=".md")
OPTIONS.add_argument("--train", type=Path, nargs="+", required=True, help="rows whose lengths are counted")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    labels = Labels.read(args.labels)
    kept, limit = read_jsonl(args.selected, len(labels)), facts_of(args.model)["settings"]["max_length"]
    parts = {path.stem: [e.text for e in read_jsonl(path, len(labels))] for path in args.train}
    parts["kept synthetic texts"] = [e.text for e in kept]
    lengths = {part: samples.lengths_of(args.model, texts) for part, texts in parts.items()}
    write_text(args.out, samples.page(kept, labels, lengths, limit))


if __name__ == "__main__":
    run(main)
