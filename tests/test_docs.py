"""What pages for people say exists, runs, and stands in a table that a stage wrote."""

from __future__ import annotations

import csv
import importlib
import importlib.util
import re
import shlex
import subprocess
from functools import cache, reduce
from pathlib import Path

import pytest
import typer
import yaml
from graph import ROOT, SRC, parser_of
from tools import readme

from compaug import cli
from compaug.reports.entries import CORRECTED

MODULE = r"-m ((?:compaug\.stages|tools|tests)\.\w+)"  # of a command


def has_module(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def make_targets() -> dict[str, str]:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z][\w-]*):(?!=)[^\n]*\n((?:\t[^\n]*\n?)*)", text, re.MULTILINE))


def test_every_phony_target_has_a_rule_and_runs_scripts_that_exist():
    targets = make_targets()
    (phony,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(phony.split()) == set(targets)
    for name, recipe in targets.items():
        for module in re.findall(MODULE, recipe):
            assert has_module(module), f"make {name}: {module}"


PAGES = [ROOT / "README.md", ROOT / "data/README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def relative(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def anchors_of(page: Path) -> set[str]:
    """What `#...` behind a page's name can be: its headings as GitHub writes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_every_command_file_and_key_on_a_page_exists(page):
    text = page.read_text(encoding="utf-8")
    assert set(re.findall(r"(?:^|`|\$ )make ([a-z]\w*)", text, re.MULTILINE)) <= set(make_targets())
    assert [module for module in re.findall(MODULE, text) if not has_module(module)] == []
    for link, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^):]*))?\)", text):
        target = page.parent / link if link else page
        assert target.exists(), link
        assert not anchor or target.suffix != ".md" or anchor in anchors_of(target), f"{link}#{anchor}"
    tree = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    for key in re.findall(r"-S (\w[\w.]*)=", text):
        block, _, name = key.rpartition(".")
        assert name in reduce(lambda inner, word: inner[word], block.split("."), tree), key


def test_the_four_files_of_the_option_that_is_shown_hold_what_is_shown():
    page = (ROOT / "docs/extending.md").read_text(encoding="utf-8").partition("## An option")[2]
    blocks = re.findall(
        r"^```\w+\n# (\d)\. [^\n]*?([\w/]+\.(?:py|yaml))[^\n]*\n(.*?)^```$", page, re.DOTALL | re.MULTILINE
    )
    assert [number for number, _, _ in blocks] == ["1", "2", "3", "4"]
    for _, file, code in blocks:
        assert all(line in (ROOT / file).read_text(encoding="utf-8") for line in code.splitlines()), file


def commands_on(page: Path) -> list[list[str]]:
    """Words of the commands in a page's blocks of code; a variable that a block sets is filled in."""
    commands = []
    for block in re.findall(r"^```\w*\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        set_here = dict(re.findall(r'^(\w+)="(.*)"$', block, re.MULTILINE))
        for line in block.replace("\\\n", " ").splitlines():
            for part in re.split(r"\s#\s|;|&&", line)[:1]:
                for name, value in set_here.items():
                    part = part.replace(f"${name}", value)
                if part.startswith(("python -m compaug.stages.", "python -m tools.", "compaug ")):
                    commands.append(shlex.split(part))
    return commands


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_a_command_on_a_page_has_all_options_that_it_needs_and_no_other(page):
    typed = typer.main.get_command(cli.app).commands
    for words in commands_on(page):
        options = {word for word in words if word.startswith("--")}
        if words[0] == "compaug":
            accepted = [option for option in typed[words[1]].params if option.param_type_name == "option"]
            taken = {name for option in accepted for name in option.opts}
            needed = {option.opts[0] for option in accepted if option.required}
        else:
            package = importlib.util.find_spec(words[2]).submodule_search_locations
            module = importlib.import_module(f"{words[2]}.__main__" if package else words[2])
            actions = parser_of(module)._actions
            taken = {name for action in actions for name in action.option_strings}
            needed = {action.option_strings[0] for action in actions if action.required and action.option_strings}
        assert needed <= options <= taken, " ".join(words)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a clone")
def test_committed_pages_show_what_the_stages_wrote(tmp_path):
    def committed(path: Path) -> str:
        return subprocess.run(
            ["git", "show", f"HEAD:{path.relative_to(ROOT).as_posix()}"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    for page in PAGES:
        for file, shown in re.findall(r"<!-- ([\w/.+-]+) -->\n(.*?)<!-- end -->", committed(page), re.DOTALL):
            (tmp_path / "file.md").write_text(committed(ROOT / file), encoding="utf-8")
            assert shown == f"\n{readme.shown(tmp_path / 'file.md')}\n", f"{page}: python -m tools.readme"


WORDS, ROW = {"README.md": 900}, {"README.md": 100}  # limits of a page that are not the usual ones
USUAL_WORDS, SENTENCE, USUAL_ROW, LINE = 1200, 40, 160, 120  # words of a page, words of a sentence, characters
MARKERS = re.compile(r"\s*(?:[-*]|\d+\.) ")  # of a list


def without_targets(text: str) -> str:
    return re.sub(r"\]\([^)]*\)", "]", text)


def is_row(line: str) -> bool:
    return line.startswith("|") or " | " in line or re.match(r"-+\|", line) is not None


def prose_of(text: str) -> list[str]:
    """Paragraphs and items of lists, without headings, tables and code."""
    blocks, block = [], []
    for line in [*re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE).splitlines(), ""]:
        apart = not line.strip() or line.startswith(("#", "<!--")) or is_row(line)
        if (apart or MARKERS.match(line)) and block:
            blocks.append(" ".join(block))
            block = []
        if not apart:
            block.append(MARKERS.sub("", line, count=1).strip())
    return blocks


def words_in(text: str) -> list[str]:
    return [word for word in text.split() if re.search(r"\w", word)]


def sentences_of(text: str) -> list[str]:
    blocks = prose_of(without_targets(text))
    return [part for block in blocks for part in re.split(r"(?<=[.!?])[)*_\"]*\s+(?=[A-Z`*\[(])", block)]


def test_a_long_sentence_is_measured_across_lines_and_not_across_items():
    text = "# A title\n\nOne two\nthree. Four [five](six.md)!\n\n- seven\n- eight\n  nine\n\n| ten | eleven |\n"
    assert sentences_of(text) == ["One two three.", "Four [five]!", "seven", "eight nine"]


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_a_page_keeps_to_its_length(page):
    text = page.read_text(encoding="utf-8")
    assert len(words_in(text)) <= WORDS.get(relative(page), USUAL_WORDS)
    assert [part for part in sentences_of(text) if len(words_in(part)) > SENTENCE] == []
    lines = without_targets(text).splitlines()
    assert [line for line in lines if is_row(line) and len(line) > ROW.get(relative(page), USUAL_ROW)] == []
    assert [line for line in lines if not is_row(line) and len(line) > LINE] == []


ARCHITECTURE = ROOT / "docs" / "architecture.md"
# "part | `path` | `name`", the path perhaps a link to the line where the name is defined
PART = re.compile(r"^(.+) \| (?:`([\w/]+\.py)`|\[`([\w/]+\.py)`\]\((\S+)#L(\d+)\)) \| `([\w.]+)`$", re.MULTILINE)
PRIOR = "LatentPrefix.label_means"


def parts_of_papers() -> list[tuple[str, ...]]:
    """(part, path, name, link, line) of each row, the last two empty where the path is no link."""
    rows = PART.findall(ARCHITECTURE.read_text(encoding="utf-8"))
    return [(part, plain or linked, name, link, line) for part, plain, linked, link, line, name in rows]


def test_every_row_of_the_table_of_parts_can_be_read():
    table = ARCHITECTURE.read_text(encoding="utf-8").partition("---|---|---\n")[2].partition("\n\n")[0]
    assert len(parts_of_papers()) == len(table.splitlines()) > 60


@pytest.mark.parametrize(("part", "path", "name"), [row[:3] for row in parts_of_papers()])
def test_a_part_of_a_paper_is_the_function_that_the_table_names(part, path, name):
    module = importlib.import_module("compaug." + path.removesuffix(".py").replace("/", "."))
    assert callable(reduce(getattr, name.split("."), module)), f"{part}: {path} has no {name}"


def test_two_links_lead_from_readme_to_the_line_of_the_prior():
    assert "](docs/architecture.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    linked = {name: (path, link, int(line)) for _, path, name, link, line in parts_of_papers() if link}
    assert PRIOR in linked
    for name, (path, link, line) in linked.items():
        source = (ARCHITECTURE.parent / link).resolve()
        assert source == (SRC / "compaug" / path).resolve()
        lines = source.read_text(encoding="utf-8").splitlines()
        (right,) = [
            at for at, text in enumerate(lines, 1) if re.match(rf"\s*(def|class) {name.split('.')[-1]}\b", text)
        ]
        assert line == right, f"docs/architecture.md: {path}#L{line} is not the line of {name}, which is {right}"


NUMBER = r"([+-]?\d+(?:\.\d+)?)"
INTERVAL = re.compile(
    rf"(?:{NUMBER}(?: %)?,?\s+)?\[{NUMBER},\s+{NUMBER}\]"
)  # with the mean before it, where there is one
NOT_AFTER_CORRECTION = "°"
EVERY_ARM = f"{NOT_AFTER_CORRECTION}: not significant after Holm's correction for all comparisons of this table."


Measure = tuple[float, float, float]  # mean, low and high


@cache
def measured() -> dict[Measure, set[bool]]:
    """Means and intervals of all tables, and of all gains over seeds, of one seed over test rows (acceptance.md, E4);
    for the other sign too: a loss is said as a cost. With what corrected tests of these numbers say, by an asterisk or
    by a missing °: several where they stand in several tables, none where they are not tested."""
    tests_of: dict[Measure, set[bool]] = {}

    def add(mean: float, low: float, high: float, *is_shown: bool) -> None:
        for measure in ((mean, low, high), (-mean, -high, -low)):
            tests_of.setdefault(measure, set()).update(is_shown)

    for page in (ROOT / "reports/tables").glob("*.md"):
        for table in page.read_text(encoding="utf-8").split("\n## "):
            for match in INTERVAL.finditer(table):
                if match[1]:
                    is_shown = []
                    if match[1][0] in "+-" and not table.startswith(" over", match.end()):
                        is_shown += [table.startswith("*", match.end())] * (CORRECTED in table)
                        is_shown += [not table.startswith(NOT_AFTER_CORRECTION, match.end())] * (EVERY_ARM in table)
                    add(*map(float, match.groups()), *is_shown)
    with (ROOT / "reports/gains.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            mean = float(row["mean"])
            if row["ci95"]:
                add(mean, mean - float(row["ci95"]), mean + float(row["ci95"]))
            elif row["low_rows"]:
                add(mean, float(row["low_rows"]), float(row["high_rows"]))
    return tests_of


def written_by_hand(page: Path) -> str:
    text = re.sub(r"<!-- [\w/.+-]+ -->\n.*?<!-- end -->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def rounds_to(measure: float, printed: str) -> bool:
    digits = len(printed.partition(".")[2])
    return (
        abs(measure - float(printed)) <= 0.5 * 10**-digits + 0.0051
    )  # a table has two digits: 0.25 may have been 0.2451 or 0.2549


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_every_interval_that_a_page_says_was_measured(page):
    for printed in INTERVAL.findall(written_by_hand(page)):
        shown = slice(0 if printed[0] else 1, 3)
        assert any(all(map(rounds_to, triple[shown], printed[shown])) for triple in measured()), (
            f"{page.name}: {printed[0]} [{printed[1]}, {printed[2]}] stands in no table; say what reports/tables says"
        )


def holds_after_correction(printed: tuple[str, str, str]) -> set[bool]:
    """What the corrected tests say of all that these numbers may be."""
    return set().union(*(verdicts for measure, verdicts in measured().items() if all(map(rounds_to, measure, printed))))


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_a_difference_that_does_not_outlive_the_correction_is_marked(page):
    text = written_by_hand(page)
    marked = text.count(f"]{NOT_AFTER_CORRECTION}")
    assert not marked or f"{NOT_AFTER_CORRECTION}:" in text, f"{page.name} does not say what {NOT_AFTER_CORRECTION} is"
    for match in INTERVAL.finditer(text):
        mean, low, high = match.groups()
        is_marked = text.startswith(NOT_AFTER_CORRECTION, match.end())
        if mean and float(low) * float(high) > 0 and False in (verdicts := holds_after_correction(match.groups())):
            assert is_marked or verdicts != {False}, (
                f"{page.name}: {match[0]} is an asterisk short in its table: mark it °"
            )
        else:
            assert not is_marked, f"{page.name}: {match[0]} outlives the correction, or was not tested"


def test_what_is_not_shown_after_correction_is_told_from_what_is():
    """Rows of reports/gains.csv, p 0.055 and below 0.001, and one of the mixout table, without an asterisk."""
    assert holds_after_correction(("10.3", "4.8", "15.8")) == {False}
    assert holds_after_correction(("11.2", "8.8", "13.7")) == {True}
    assert holds_after_correction(("2.4", "1.0", "3.7")) == {False}
