"""compaug inspect, audit, predict, export: ways in and out for somebody's own corpus. DVC runs what lies between.

Each command is a few lines over `compaug.project`; libraries that are slow to import are loaded after the cheap checks.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from inspect import Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from compaug import __version__
from compaug.core import extras
from compaug.core.files import InputError, atomic_dir, check_file, write_json
from compaug.core.records import Labels, read_jsonl

if TYPE_CHECKING:
    from compaug.project.combinations import Combinations

PARAMS, SPLIT, MEASURES = Path("params.yaml"), Path("data/splits/run"), Path("reports/measures.json")
# Where a classifier is, the synthetic texts that it learned from, and its predictions for validation rows: of the
# audit, and of a repair.
AUDITED = (
    Path("models/run/augmented"),
    Path("data/selected/run/augmented.jsonl"),
    Path("reports/run/augmented.jsonl.gz"),
)
REPAIRED = (
    Path("models/repair"),
    Path("data/repair/selected.jsonl"),
    Path("data/repair/predictions.jsonl.gz"),
)
CORPUS, GOLD = Path("data/raw/run/examples.jsonl"), Path("reports/run/gold.jsonl.gz")
_NAMED = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "tilde": "~"}  # delimiters

app = typer.Typer(
    help="Your own corpus: what is in a file, an audit, labels for new texts, exports.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(shown: bool) -> None:
    if shown:
        print(f"compaug {__version__}")
        raise typer.Exit


@app.callback()
def common(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="print the version and stop")
    ] = False,
) -> None:
    from compaug.project import skeleton

    if context.invoked_subcommand != "init" and (line := skeleton.outdated()):
        print(f"note: {line}", file=sys.stderr)


class OnBadRows(StrEnum):
    stop = "stop"
    drop = "drop"


class Quoting(StrEnum):
    double = "double"
    backslash = "backslash"
    none = "none"


# How a file is written, for inspect and predict alike
Delimiter = Annotated[str, typer.Option(help="between cells: a character, or tab; default: by all lines")]
Quotes = Annotated[Quoting | None, typer.Option(help="quotes doubled, after a backslash, or letters like others")]
Encoding = Annotated[str, typer.Option(help="such as cp1252; default: UTF-8, or what the file says")]
Header = Annotated[bool | None, typer.Option(help="whether line 1 names the columns; default: by its cells")]
BadRows = Annotated[OnBadRows, typer.Option(help="what to do with rows that cannot be used")]


Name = Annotated[str, typer.Option(help="of the benchmark (default: the file's name)")]
Table = Annotated[
    Path, typer.Argument(help="your table: .csv, .tsv, .jsonl, .json, .parquet, .arrow or a save_to_disk folder")
]


class Scale(StrEnum):
    tiny = "tiny"
    pretrained = "pretrained"


class What(StrEnum):
    everything = "everything"
    texts = "texts"
    classifier = "classifier"


class Format(StrEnum):
    parquet = "parquet"
    csv = "csv"
    argilla = "argilla"
    label_studio = "label_studio"


def reader_options(
    text_column: Annotated[str, typer.Option(help="default: guessed from names and contents")] = "",
    label_column: Annotated[str, typer.Option(help="column of labels in any form; default: guessed")] = "",
    label_delimiter: Annotated[str, typer.Option(help="between names in one string; default: by all rows")] = "",
    label_columns: Annotated[str, typer.Option(help="instead: one column for each label, comma-separated")] = "",
    labels: Annotated[
        str, typer.Option(help="comma-separated names in the order of their numbers; or 3=NAME,...")
    ] = "",
    label_field: Annotated[str, typer.Option(help="of label objects, the field with the name")] = "",
    positive_above: Annotated[float | None, typer.Option(help="a vote or probability above it is a label")] = None,
    missing: Annotated[str, typer.Option(help="comma-separated words that mean no label; blank: an empty cell")] = "",
    join_rows: Annotated[bool | None, typer.Option(help="a row for each (text, label): join those of a text")] = None,
    delimiter: Delimiter = "",
    quoting: Quotes = None,
    encoding: Encoding = "",
    header: Header = None,
    id_column: Annotated[str, typer.Option(help="default: row numbers")] = "",
    split_column: Annotated[str, typer.Option(help="column of train, validation, test: your own split")] = "",
    test_path: Annotated[str, typer.Option(help="or a file of test rows, FILE having the others")] = "",
    on_bad_rows: BadRows = OnBadRows.stop,
) -> dict:
    """Options of the reader of tables, as a person types them."""
    options = {"text_column": text_column, "label_column": label_column, "label_delimiter": _mark(label_delimiter)}
    options |= {"id_column": id_column, "split_column": split_column, "test_path": test_path}
    options |= {"label_columns": _listed(label_columns), "labels": _listed(labels), "missing": _listed(missing)}
    options |= {"label_field": label_field, "positive_above": positive_above, "join_rows": join_rows}
    options |= _written(delimiter, quoting, encoding, header)
    return options | ({"on_bad_rows": "drop"} if on_bad_rows == OnBadRows.drop else {})


def reads_tables(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the reader's options behind those of its signature; it gets them as `options`."""
    ours, readers = (signature(function, eval_str=True).parameters for function in (command, reader_options))

    @wraps(command)
    def called(**values: object) -> None:
        command(options=reader_options(**{name: values.pop(name) for name in readers}), **values)

    called.__signature__ = Signature([*(ours[name] for name in ours if name != "options"), *readers.values()])
    called.__annotations__ = {name: each.annotation for name, each in called.__signature__.parameters.items()}
    return called


@app.command()
@reads_tables
def inspect(
    file: Table,
    options: dict,
    name: Name = "",
    write: Annotated[bool, typer.Option(help="write configs/benchmarks/NAME.yaml")] = False,
) -> None:
    """What is in a file, and a benchmark for it with a reason for each value."""
    from compaug.project import proposed

    target = proposed.target_of(name, file, write)
    benchmark = proposed.inspected(file, options, target)
    print("\n".join(benchmark.report), end="\n\n")
    if not write:
        print(benchmark.text, end="")
        words = ["compaug", "audit", str(file), *_typed(options), *(["--name", name] if name else [])]
        audit = f"{shlex.join(words)} goes by it"
        more = f"--write puts this into {target}" if proposed.PARAMS.is_file() else audit
        print(f"\n({more})", file=sys.stderr)
        return
    proposed.write(target, file, benchmark.text)
    print(f"{target} is written; read it, then\n  {benchmark.command}")


@app.command()
def init(folder: Annotated[Path, typer.Argument(help="folder, new or not; what is in it stays as it is")]) -> None:
    """A DVC project of one cell: dvc.yaml, params.yaml and what they read. `dvc repro` in it runs the cell.

    After an upgrade of compaug it brings a project up to date.
    """
    from compaug.project import skeleton

    outdated, fresh = skeleton.outdated(folder), skeleton.create(folder)
    if outdated:
        print(f"{folder}: now of compaug {__version__}; `dvc repro` runs what computes something else")
    elif fresh:
        print(f"{folder}: {len(fresh)} files written; README.md says what to do with them")
    else:
        print(f"{folder}: is a project of compaug {__version__} already")
    for path in skeleton.edited(folder):
        print(f"note: {folder / path}: has been edited, and stays; `compaug init NEW` writes one to compare it with")


@app.command()
@reads_tables
def audit(
    file: Table,
    options: dict,
    scale: Annotated[Scale | None, typer.Option(help="sizes of models; default: what suits the file")] = None,
    name: Name = "",
    dir: Annotated[Path | None, typer.Option(help="folder of the audit (default: audit-NAME)")] = None,
) -> None:
    """From a file to a verdict: does a classifier fail on unseen label combinations, and would texts help?

    It writes a project into a folder of its own and runs it. Called again, it resumes.
    """
    from compaug.project import auditing

    folder = dir or auditing.folder_of(file, name)
    print("\n".join(auditing.prepare(file, folder, name, scale.value if scale else "", options)), end="\n\n")
    try:
        failed = auditing.run(folder)
    except KeyboardInterrupt:
        failed = 130
    if failed:
        print("the audit has not finished; the same command resumes it", file=sys.stderr)
        raise typer.Exit(failed)
    print(f"\n{auditing.verdict(folder)}\nNext: cd {folder}, and its README.md")


@app.command()
def settings(
    benchmark: Annotated[str, typer.Option(help="corpus (default: run.benchmark)")] = "",
    scale: Annotated[str, typer.Option(help="default: run.scale")] = "",
    params: Annotated[Path, typer.Option(help="parameter file")] = Path("params.yaml"),
) -> None:
    """What a run would use, key by key, and which file said it."""
    from compaug.experiments.origins import origins

    lines = [(key, str(value), file) for key, value, file in origins(params, benchmark or None, scale or None)]
    widths = [max(len(line[column]) for line in lines) for column in (0, 1)]
    for key, value, file in lines:
        typer.echo(f"{key:{widths[0]}}  {value:{min(widths[1], 40)}}  {file}")


@app.command()
def predict(
    model: Annotated[
        Path, typer.Argument(help="folder of a classifier: models/run/augmented, models/repair, or an exported one")
    ],
    file: Annotated[Path, typer.Argument(help="texts: .csv, .tsv, .jsonl, .json, .parquet or .arrow")],
    out: Annotated[Path, typer.Option(help=".csv or .jsonl to write")],
    text_column: Annotated[str, typer.Option(help="default: guessed from names and contents")] = "",
    keep: Annotated[str, typer.Option(help="comma-separated columns to carry along, such as ids")] = "",
    delimiter: Delimiter = "",
    quoting: Quotes = None,
    encoding: Encoding = "",
    header: Header = None,
    on_bad_rows: BadRows = OnBadRows.stop,
    labels: Annotated[Path | None, typer.Option(help="labels.json of its split (default: names in its folder)")] = None,
    threshold: Annotated[
        float | None, typer.Option(help="a label is given above this probability", min=0, max=1, show_default="0.5")
    ] = None,
    thresholds: Annotated[Path | None, typer.Option(help="thresholds.json of `compaug export`: one a label")] = None,
    combinations: Annotated[
        Path | None, typer.Option(help="combinations.json of `compaug export`: the best of these for each text")
    ] = None,
) -> None:
    """Label names and probabilities for every text of a file."""
    from compaug.project import names, predict, samples
    from compaug.project.classifier import decoding, load

    _check_out(out, (".csv", ".jsonl"), file)
    rules = {"--threshold": threshold, "--thresholds": thresholds, "--combinations": combinations}
    if len(used := [option for option, value in rules.items() if value is not None]) > 1:
        raise InputError(f"{' and '.join(used)}: labels are chosen by one of them; leave out the rest")
    classifier = load(model)
    label_names = names.names_of(model, labels) if labels else classifier.labels
    decode = decoding(
        label_names, predict.read_thresholds(thresholds, label_names) if thresholds else threshold, combinations
    )
    chosen = {"text_column": text_column, **_written(delimiter, quoting, encoding, header)}
    carried = predict.kept_as(_listed(keep), label_names)
    read = predict.read_texts(file, chosen, carried, on_bad_rows == OnBadRows.drop)
    print("\n".join(read.account))
    rows = list(predict.predictions(classifier, label_names, read, decode))
    predict.write(out, label_names, rows, list(carried.values()))
    empty, limit = sum(not row["labels"] for row in rows), classifier.max_length
    cut = sum(n > limit for n in samples.lengths_of(model, read.texts))
    where = "a label" if combinations else "a label above the threshold"
    print(f"{out}: {len(rows):,} texts, {empty:,} without {where}, {cut:,} cut after {limit} tokens")


@app.command()
def export(
    out: Annotated[Path, typer.Argument(help="folder to write: texts/ and classifier/ in it")],
    what: Annotated[What, typer.Option(help="both, or one of them")] = What.everything,
    format: Annotated[Format, typer.Option(help="of the texts; the last two: to look at them")] = Format.parquet,
    repaired: Annotated[bool, typer.Option("--repaired", help="what repair/dvc.yaml made, not the audit")] = False,
    push: Annotated[str, typer.Option(help="upload to the hub under this name, private")] = "",
    public: Annotated[bool, typer.Option("--public", help="... for everybody")] = False,
) -> None:
    """The synthetic texts and all training rows as a data set; the classifier as a folder that plain transformers
    opens."""
    from compaug.project import curation, export

    curated = format in curation.TOOLS
    if curated and (what != What.texts or push):
        raise InputError(f"--format {format}: is for --what texts, without --push; a person is to look at them first")
    if public and not push:
        raise InputError("--public: give --push NAME too")
    measured = export.measured(MEASURES)
    model, selected, predictions = REPAIRED if repaired else AUDITED
    if repaired and not selected.exists():
        raise InputError(f"{selected}: nothing has been repaired yet; run `dvc repro repair/dvc.yaml` after the audit")
    labels, corpus = Labels.read(SPLIT / "labels.json"), export.corpus_of(PARAMS)
    if what != What.texts:
        from compaug.project import names

        names.names_of(model, SPLIT / "labels.json")
        export.check(model)
    with atomic_dir(out) as folder:
        if what != What.classifier:
            (folder / "texts").mkdir()
            files = {SPLIT / "train.jsonl": False, SPLIT / "support.jsonl": True}  # may it be empty?
            files = {CORPUS: False} if repaired else files
            real = [e for path, none in files.items() for e in read_jsonl(path, len(labels), may_be_empty=none)]
            parts = dict(export.parts_of(real, read_jsonl(selected, len(labels))))
            if curated:
                curation.write(parts["synthetic"], labels, format, folder / "texts")
            else:
                export.texts(parts, labels, format, folder / "texts", repaired, corpus, measured)
        if what != What.texts:
            from compaug.evaluation.decoding import decodings
            from compaug.evaluation.predictions import read
            from compaug.project.classifier import THRESHOLD

            (folder / "classifier").mkdir()
            predicted = read(predictions, len(labels))
            tuned = decodings.tune_thresholds(predicted.validation, predicted.validation_gold, THRESHOLD)
            by_name = {name: round(float(t), 6) for name, t in zip(labels.names, tuned, strict=True)}
            export.classifier(model, labels.names, by_name, folder / "classifier", measured, repaired, corpus)
            if listed := _combinations(labels, selected if repaired else None):
                write_json(folder / "classifier" / names.COMBINATIONS, listed.named(labels.names))
    print(f"{out}: {', '.join(sorted(path.name for path in out.iterdir() if path.is_dir()))}; each has a README.md")
    if push:
        from compaug.project import publishing

        for line in publishing.push(out, push, public):
            print(line)


def _combinations(labels: Labels, repaired: Path | None) -> Combinations | None:
    """How the audit's classifier is best read, or the one that has learned from the `repaired` texts and all rows.

    None where nothing was measured.
    """
    from compaug.evaluation import gold, predictions
    from compaug.project import combinations

    if not GOLD.is_file() or not AUDITED[2].is_file():
        return None
    audited = combinations.of_audit(predictions.read(AUDITED[2], len(labels)), gold.read(GOLD))
    if not (audited and repaired):
        return audited
    rows, texts = (read_jsonl(path, len(labels)) for path in (CORPUS, repaired))
    requested = [text.requested_labels for text in texts if text.requested_labels]
    return combinations.of_repair(audited, [row.labels for row in rows], requested)


def _listed(words: str) -> list[str]:
    """What stands between commas; a name with a comma stands in double quotes."""
    import csv

    return [word.strip() for word in next(csv.reader([words], skipinitialspace=True), ()) if word.strip()]


def _typed(options: dict) -> list[str]:
    """The words that give these options of the reader on the command line."""
    from compaug.data.readers.doubts import row_of

    words: list[str] = []
    for key, value in options.items():
        option = key.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
        elif value not in (None, "", []):
            shown = row_of(value) if isinstance(value, list) else "tab" if value == "\t" else str(value)
            words += [f"--{option}", shown]
    return words


def _mark(word: str) -> str:
    """A delimiter as a person types it, or as a page calls it."""
    return {"\\t": "\t", "\\n": "\n", "space": " "}.get(word) or _NAMED.get(word, word)


def _cell_mark(word: str) -> str:
    if len(mark := _mark(word)) > 1:
        raise InputError(f"--delimiter {word}: give one character, or a name: {', '.join(_NAMED)}")
    return mark


def _written(delimiter: str, quoting: Quoting | None, encoding: str, header: bool | None) -> dict:
    """Options of the reader of how a file is written."""
    return {
        "delimiter": _cell_mark(delimiter) or None,
        "quoting": quoting.value if quoting else None,
        "encoding": encoding or None,
        "header": header,
    }


def _check_out(out: Path, kinds: tuple[str, ...], source: Path) -> None:
    if out.suffix not in kinds:
        raise InputError(f"--out {out}: the name must end in {' or '.join(kinds)}")
    if out.resolve() == source.resolve():
        raise InputError(f"--out {out}: is the file that is read; give another path")
    check_file(out)


def main(words: list[str] | None = None) -> None:
    """The commands; `words`: in the place of the process's arguments."""
    with extras.in_one_line():
        app(words)
