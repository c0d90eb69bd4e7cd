"""The iid split in the form in which generators read a split, the label set of every training text as a request.

python -m compaug.stages.iid --split data/splits/diagnostic --out data/iid/diagnostic

Plain augmentation: as many synthetic texts as training texts (LINDA, §3.4).
"""

import shutil

from compaug.core.files import atomic_dir, write_rows
from compaug.core.records import Labels, read_jsonl
from compaug.stages import parser, run

OPTIONS = parser(__doc__, "split", out="folder")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    labels = Labels.read(args.split / "labels.json")
    train = read_jsonl(args.split / "iid_train.jsonl", len(labels))
    with atomic_dir(args.out) as folder:
        shutil.copyfile(args.split / "labels.json", folder / "labels.json")
        for part in ("train", "support"):
            shutil.copyfile(args.split / f"iid_{part}.jsonl", folder / f"{part}.jsonl")
        requests = ({"requested_labels": list(example.labels)} for example in train if example.labels)
        write_rows(folder / "requests.jsonl", requests)


if __name__ == "__main__":
    run(main)
