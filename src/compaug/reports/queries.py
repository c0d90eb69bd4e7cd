"""What tables are made of: the long table, the paper's numbers, facts about splits; and queries that they share."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from compaug.core.files import InputError, read_json
from compaug.evaluation import longtable, measures
from compaug.evaluation.decoding.decodings import DECODINGS
from compaug.evaluation.longtable import pick, summaries
from compaug.evaluation.statistics import Summary
from compaug.experiments.params import Settings
from compaug.reports import METRICS, backbone_names
from compaug.reports.entries import Entry, Table, entry, gained
from compaug.reports.paper import read_paper_values

BEFORE = (
    "Numbers of commit {}, from before the arithmetic was made the same on every CPU; kept until this experiment runs "
    "again."
)
FIRST = ("none", "oversample", "shuffled")  # the controls
COUNTS = ("n_", "unparsed_")  # metrics that begin so
SPLITS = ("iid", "seen", "unseen")
KINDS = ("representations", "maps", "parsing", "low_resource", "slu", "draws")  # of measures that tables show by name
UNSEEN = {words: ("unseen", metric) for metric, words in METRICS.items()}  # columns of most tables


@dataclass(frozen=True)
class Results:
    """Everything that tables are made of.

    frame, gains, confusions    see `longtable.read`
    paper                       reports/paper_values.yaml
    settings                    by benchmark and scale
    counts                      of every benchmark's split, reports/gold/<benchmark>.json
    representations             by <benchmark>-<generator>-<seed>
    maps                        data maps by name
    parsing                     numbers of parsers by name
    low_resource                accuracies of tasks with few texts by name
    slu                         measures of few utterances by name
    draws                       the gap over draws of held-out combinations by name
    """

    frame: pd.DataFrame
    gains: pd.DataFrame
    confusions: pd.DataFrame
    paper: Mapping
    settings: Mapping[tuple[str, str], Settings]
    counts: Mapping[str, Mapping]
    representations: Mapping[str, Mapping]
    maps: Mapping[str, Mapping]
    parsing: Mapping[str, Mapping]
    low_resource: Mapping[str, Mapping]
    slu: Mapping[str, Mapping]
    draws: Mapping[str, Mapping]

    def of(self, *experiments: str, **allowed: str | Collection[str]) -> Iterator[tuple[str, str, pd.DataFrame]]:
        """(experiment, benchmark, rows with the allowed values) of those that have any."""
        for experiment in experiments:
            for benchmark, rows in pick(self.frame, experiment=experiment, **allowed).groupby("benchmark"):
                yield experiment, benchmark, rows

    def choosing(self) -> set[str]:
        """Experiments that choose weight and strength of the composition prior."""
        return set(pick(self.frame, metric="weight")["experiment"])

    def column(self, benchmark: str) -> str | None:
        """Where the paper's tables have this benchmark."""
        name = benchmark.partition("+")[0]  # what follows is how it differs
        columns = {corpus: settings.corpus.paper_column for (corpus, _), settings in self.settings.items()}
        return columns.get(name)

    def printed(self, table: str, name: str) -> Mapping:
        """What the paper's table says of one of our generators or classifiers; {} where it does not have it."""
        row = {**self.paper["row_of_generator"], **self.paper["row_of_classifier"]}.get(name)
        return self.paper["tables"][table]["rows"].get(row, {})

    def printed_only(
        self, experiments: Sequence[str], header: Sequence[str], lines_of: Callable[[str], list]
    ) -> list[Table]:
        """The paper's numbers of its corpora of which some experiments have no result, where they have any.

        `lines_of` makes their rows.
        """
        ours = {self.column(benchmark) for _, benchmark, _ in self.of(*experiments)}
        corpora = [corpus for corpus in self.paper["tables"]["table_6"]["rows"] if ours and corpus not in ours]
        note = "Not run here: BERT-base and GPT-2 need a GPU and a model hub."
        return [Table(corpus, note, header, lines_of(corpus)) for corpus in corpora]

    def tested(self, experiment: str, benchmark: str, by: str, **allowed: str) -> dict[str, pd.Series]:
        """Rows of gains.csv in Acc on unseen combinations with the threshold, by column `by`; others are `allowed`."""
        where = {"decoding": "threshold", "split": "unseen", "metric": "acc"} | allowed
        gains = pick(self.gains, experiment=experiment, benchmark=benchmark, **where)
        return {row[by]: row for _, row in gains.iterrows()}

    def setting(self, rows: pd.DataFrame) -> str:
        """Of rows of one benchmark: seeds, sizes of the backbones, and the commit of numbers of the first grids."""
        if rows.empty:
            return ""
        commits, (benchmark, scale) = sorted(set(rows["commit"]) - {""}), rows[["benchmark", "scale"]].iloc[0]
        if commits:
            models = f"; scale {scale} as it was then"
        else:
            models = self.backbones(benchmark.partition("+")[0], scale, ("seq2seq",))
        return " ".join([f"{_seeds(rows)}{models}.", *map(BEFORE.format, commits)])

    def backbones(self, benchmark: str, scale: str, more: Sequence[str] = ()) -> str:
        """ "; scale tiny: encoder, decoder `...`", beside encoder and decoder the roles `more`.

        "" for a benchmark and scale without settings.
        """
        if not (settings := self.settings.get((benchmark, scale))):
            return ""
        roles: dict[str, list[str]] = {}
        for role, name in backbone_names(settings.backbones, more).items():
            roles.setdefault(name, []).append(role)
        return f"; scale {scale}: " + ", ".join(f"{', '.join(of_name)} `{name}`" for name, of_name in roles.items())

    def rank(self, word: object) -> tuple:
        """Sorts controls first, then the paper's methods in its order, then all others by name."""
        order = [*FIRST, *self.paper["row_of_generator"], *self.paper["row_of_classifier"], *SPLITS, *DECODINGS]
        return order.index(word) if word in order else len(order), word

    def ordered(self, names: Iterable[str]) -> list[str]:
        return sorted(set(names), key=self.rank)

    def entries(
        self,
        rows: pd.DataFrame,
        by: Sequence[str],
        columns: Mapping[str, tuple[str, str]],
        paper: Callable[..., Mapping] = lambda *key: {},
        other_corpus: bool = False,
    ) -> dict[tuple, list[Entry]]:
        """The body of a table in the usual order: {values of `by`: an entry for each of `columns`, splits and metrics}.

        `paper` gives the paper's numbers for such values by metric.
        """
        is_shown = pd.MultiIndex.from_frame(rows[["split", "metric"]]).isin(set(columns.values()))
        means = summaries(rows[is_shown], *by, "split", "metric")

        def entry_of(key: tuple, split: str, metric: str) -> Entry:
            summary: Summary | None = means.get((*key, split, metric))
            if summary and metric.startswith(COUNTS):
                return Entry(round(summary.mean))
            return entry(summary, paper(*key).get(metric), other_corpus=other_corpus)

        keys = sorted({key[:-2] for key in means}, key=lambda key: [*map(self.rank, key)])
        return {key: [entry_of(key, *column) for column in columns.values()] for key in keys}

    def lines(self, *query, **more) -> list[list[str | Entry]]:
        """`entries` as the rows of a table: the values of `by` stand first."""
        return [[*key, *entries] for key, entries in self.entries(*query, **more).items()]

    def by_split(
        self, rows: pd.DataFrame, by: Sequence[str], metrics: Mapping[str, str], splits: Sequence[str]
    ) -> list:
        """`lines` of one test set below those of another; columns {metric: words}."""
        columns = ({words: (split, metric) for metric, words in metrics.items()} for split in splits)
        return [line for which in columns for line in self.lines(rows, by, which)]


def _seeds(rows: pd.DataFrame) -> str:
    """The seeds of the rows; 0 is none, of the Bayes classifier and of means whose seeds were not kept apart."""
    seeded = rows[rows["seed"] != 0]
    if seeded.empty:
        return "Means over seeds"
    seeds = sorted(set(seeded["seed"]))
    words = f"Seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"
    several = seeded.groupby(["generator", "selection", "classifier", "split"])["seed"].nunique().nunique() > 1
    return f"{words}, but not in every cell" if several else words


@dataclass(frozen=True)
class Query:
    """A table of each experiment and corpus that compares generators: a line for each, a column for each measure.

    rows        values of the columns of the long table that count
    columns     words: metric on unseen combinations; columns without a number are left out where `optional`
    shares      metrics that are stored as shares and shown in percent
    over        the generator over which a last column has the gain in Acc, with its interval
    """

    experiments: Sequence[str]
    rows: Mapping[str, str | Collection[str]]
    columns: Mapping[str, str]
    optional: Collection[str] = ()
    shares: Collection[str] = ()
    over: str = ""

    def tables(self, results: Results) -> Iterator[Table]:
        for experiment, benchmark, rows in results.of(*self.experiments, classifier="bert"):
            rows = pick(rows, **self.rows)
            rows = rows.assign(value=rows["value"].where(~rows["metric"].isin(self.shares), 100 * rows["value"]))
            there = set(rows["metric"])
            columns = {
                words: ("unseen", metric)
                for words, metric in self.columns.items()
                if words not in self.optional or metric in there
            }
            header, lines = ["generator", *columns], results.lines(rows, ["generator"], columns)
            where = {"classifier": "bert", "over": self.over}
            if gains := results.tested(experiment, benchmark, "generator", **where) if self.over else {}:
                header = [*header, f"Acc over {self.over}"]
                lines = [[*line, gained(gains[line[0]]) if line[0] in gains else Entry()] for line in lines]
            title = f"{experiment}: {benchmark}" if self.over else benchmark
            yield Table(title, results.setting(rows), header, lines)


def load(reports: Path, settings: Mapping[tuple[str, str], Settings]) -> Results:
    """Everything that tables are made of, from the folder `reports`; `settings`: `params.every`."""
    frame, gains, confusions = longtable.read(reports)
    if frame.empty:
        raise InputError(f"{reports / 'results.csv.gz'}: no result; `make grid EXPERIMENT=small` makes the first")
    benchmarks, splits = set(frame["benchmark"]), sorted((reports / "gold").glob("*.json"))
    facts = {path.stem: read_json(path) for path in splits if path.stem in benchmarks}
    counts = {name: of_split.get("counts", {}) for name, of_split in facts.items()}
    paper = read_paper_values(reports / "paper_values.yaml")
    by_name = {kind: measures.read(reports, kind) for kind in KINDS}
    return Results(frame, gains, confusions, paper, settings, counts, **by_name)
