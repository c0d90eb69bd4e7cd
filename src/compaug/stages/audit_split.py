"""Fail unless nothing of D_test is in any training input; write the counts of every check, and that it passed.

python -m compaug.stages.audit_split --benchmark diagnostic --split data/splits/diagnostic \
    --out data/audit/diagnostic.json

What trains on D_train alone waits for the file `.passed`, which is the same whatever the counts are.
"""

from compaug.core.files import write_json, write_text
from compaug.data.audit import audit_split
from compaug.stages import parser, run

PASSED = "nothing of the test set is in a training input\n"
OPTIONS = parser(__doc__, "benchmark split", out=".json")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    write_json(args.out, {"benchmark": args.benchmark, **audit_split(args.split)})
    write_text(args.out.with_suffix(".passed"), PASSED)


if __name__ == "__main__":
    run(main)
