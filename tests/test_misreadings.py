"""What looks like one thing and is another in users' files: read for what it is, or refused, or said in a note."""

from __future__ import annotations

import json

import pytest
from test_user_files import MEANT, NAMES, ROWS, listed, marked, notes, objects, read, refused, saved, shown, table

from compaug.core.files import InputError
from compaug.data.readers import columns


@pytest.mark.parametrize("cut", [{}, {"positive_above": 0.5}])
@pytest.mark.parametrize("names", [NAMES, [f"What is wrong? [{name}]" for name in NAMES]])
def test_listed_names_of_columns_are_matched_by_name_whatever_their_order(tmp_path, names, cut):
    path, backwards = saved(tmp_path, marked("1", "0", names)), [name.capitalize() for name in reversed(NAMES)]
    corpus = read(path, labels=backwards, **cut)
    assert corpus.labels.names == tuple(backwards)
    assert [(text, sorted(map(str.lower, labels))) for text, labels in shown(corpus)] == MEANT


def test_listed_names_of_which_a_few_are_no_names_of_columns_are_refused(tmp_path):
    path = saved(tmp_path, marked("1", "0"))
    refused(path, "has 'damp', which is no column's name, beside 'heating', which is", labels=["damp", *NAMES[:0:-1]])
    refused(path, "--labels has 4 names for 5 columns", labels=NAMES[1:])
    numbered = [f"{at}={name}" for at, name in enumerate(NAMES)]
    refused(path, "--labels has '0=noise', as for class numbers, where the columns are the labels", labels=numbered)
    others = read(path, labels=list("abcde"))
    assert shown(others)[:2] == [(MEANT[0][0], ["a"]), (MEANT[1][0], ["a", "b"])]


FACTS = {
    "how many voted": ("n_people", lambda at: 5),
    "how many voted, here more": ("count", lambda at: 3 + at % 3),
    "the class": ("class", lambda at: at % 3),
    "who voted": ("worker_id", lambda at: at % 4),
    "the fold": ("fold", lambda at: at % 5),
}


@pytest.mark.parametrize("fact", FACTS)
def test_numbers_of_the_row_are_no_votes_beside_those_of_labels(tmp_path, fact):
    name, number = FACTS[fact]
    votes = [[number(at), *(3 * (n in labels) for n in NAMES), text] for at, (text, labels) in enumerate(ROWS)]
    path = saved(tmp_path, table([[name, *NAMES, "text"], *votes]))
    assert shown(read(path, positive_above=2)) == MEANT
    odd = notes(path, positive_above=2)
    assert f"beside the labels, left out: {name}" in odd or f"{name} of numbers is left out beside 5 columns" in odd


def test_rows_of_several_people_are_joined_to_what_more_than_a_share_of_them_chose(tmp_path):
    votes = [(text, person, names if person else ["lift"]) for text, names in ROWS for person in range(3)]
    marks = [(text, person, *(int(n in names) for n in NAMES)) for text, person, names in votes]
    path = saved(tmp_path, table([("text", "rater_id", *NAMES), *marks]))
    refused(path, "--join-rows --positive-above 0.5 what more than half did", positive_above=0.5)
    lists = saved(tmp_path, table([("text", "labels"), *((text, ";".join(n)) for text, _, n in votes)]), "lists.csv")
    for file in (path, lists):
        assert shown(read(file, join_rows=True, positive_above=0.5)) == MEANT
        assert all("lift" in names for _, names in shown(read(file, join_rows=True)))
        assert "66 texts, each with what more than 0.5 of its rows" in notes(file, join_rows=True, positive_above=0.5)


@pytest.mark.parametrize("always", [[], NAMES[:2], NAMES])
def test_keys_that_only_rows_with_the_label_have_are_columns_of_yes_and_blank(tmp_path, always):
    path = saved(
        tmp_path, objects(lambda names: {n: int(n in names) for n in NAMES if n in (*names, *always)}), "a.jsonl"
    )
    assert shown(read(path)) == MEANT


@pytest.mark.parametrize(("key", "other"), [("labels", "label"), ("topics", "tpoics")])
def test_labels_under_a_key_that_is_spelled_in_two_ways_wait_for_an_answer(tmp_path, key, other):
    rows = [{"text": text, (other if at % 5 else key): names} for at, (text, names) in enumerate(ROWS)]
    path = saved(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "a.jsonl")
    both = sorted((key, other), key=lambda name: name != key)
    refused(path, f"the column {other} has values just where {key} has none, .*--label-columns '{key},{other}' reads")
    assert shown(read(path, label_columns=both)) == MEANT
    assert len(read(path, label_column=key).examples) == len(ROWS)


@pytest.mark.parametrize("word", ["content", "topic", "title"])
def test_a_first_row_whose_cell_is_also_a_label_is_no_header_though_columns_are_called_so(tmp_path, word):
    rows = [(text, ";".join(word if n == "noise" else n for n in names)) for text, names in ROWS]
    path = saved(tmp_path, table(rows))
    assert len(read(path).examples) == len(ROWS)
    assert f"line 1 is read as a row, because '{word}' stands in its column again" in notes(path)
    named = saved(tmp_path, table([("text", word), *rows, ("text", word)]), "named.csv")
    assert len(read(named).examples) == len(ROWS)


@pytest.mark.parametrize("delimiter", [";", ", ", "|"])
def test_a_first_row_whose_label_stands_elsewhere_among_others_alone_is_no_header(tmp_path, delimiter):
    name = min(name for _, names in ROWS for name in names)
    pairs = [(text, delimiter.join(sorted({name, *names}))) for text, names in ROWS if set(names) - {name}]
    first = ("the neighbours were loud until very late at night", name)
    path = saved(tmp_path, table([first, *pairs]))
    assert len(read(path).examples) == len(pairs) + 1
    assert f"line 1 is read as a row, because '{name}' stands in its column again, among others" in notes(path)


def taxonomy(under: str) -> str:
    """Label Studio's export, lift standing under something else than the others."""
    paths = lambda names: [["house", under if n == "rent" else n] if n != "lift" else ["stairs", n] for n in names]
    results = [[{"value": {"taxonomy": paths(n)}, "from_name": "t", "type": "taxonomy"}] for _, n in ROWS]
    rows = [{"data": {"text": t}, "annotations": [{"result": r}]} for (t, _), r in zip(ROWS, results, strict=True)]
    return json.dumps(rows)


def test_leaves_of_a_taxonomy_that_share_a_name_have_their_branch_in_it(tmp_path):
    assert shown(read(saved(tmp_path, taxonomy("rent"), "a.json"))) == MEANT
    corpus = read(saved(tmp_path, taxonomy("lift"), "a.json"))
    assert {"house > lift", "stairs > lift", "house > mould"} < set(corpus.labels.names)


def test_parts_of_names_that_never_stand_apart_are_a_note_and_are_seen_in_quotes(tmp_path):
    path = saved(tmp_path, listed(lambda names: ", ".join("lift, stairs" if n == "lift" else n for n in names)))
    assert "12 x label cells with 'lift, stairs', whose parts never stand alone: list every label" in notes(path)
    odd = notes(path, labels=["lift, stairs", *NAMES[:4]])
    assert "never stand alone" not in odd and '"lift, stairs" 12' in odd and '-> noise, "lift, stairs"' not in odd
    assert "never stand alone" not in notes(saved(tmp_path, listed(", ".join)))


def test_percentages_are_shares_that_need_a_cut(tmp_path):
    path = saved(tmp_path, marked("80%", "12,5 %"))
    for chosen in ({}, {"label_columns": NAMES}):
        refused(path, "from 0.125 to 0.8: votes or probabilities, without a cut .*--positive-above 0.5", **chosen)
        assert shown(read(path, positive_above=0.5, **chosen)) == MEANT


def test_a_title_above_much_longer_texts_is_none_of_them(tmp_path):
    rows = [[f"flat {at}, loud", f"{text} " * 3, ";".join(names)] for at, (text, names) in enumerate(ROWS)]
    assert read(saved(tmp_path, table([["title", "summary", "terms"], *rows]))).examples[0].text == rows[0][1].strip()


@pytest.mark.parametrize(("name", "every"), [("comment", 5), ("annotator_comment", 1)])
def test_remarks_on_a_few_texts_or_of_an_annotator_are_no_texts(tmp_path, name, every):
    rows = [
        [t, ";".join(names), "" if at % every else f"I am not sure here {at}"] for at, (t, names) in enumerate(ROWS)
    ]
    path = saved(tmp_path, table([["ticket", "labels", name], *rows]))
    assert shown(read(path)) == MEANT
    assert f"{name} holds values such as 'I am not sure here 0'" in columns.guess(path, {}).text_why


@pytest.mark.parametrize(("name", "value"), [("product_code", "A-{:04d}"), ("code", "0.{:03d}"), ("zip_class", "Z{}")])
def test_codes_that_hardly_repeat_and_fractions_are_no_labels_whatever_their_name(tmp_path, name, value):
    rows = [[text, value.format(at + 1), ";".join(names)] for at, (text, names) in enumerate(ROWS)]
    assert shown(read(saved(tmp_path, table([["text", name, "Themen"], *rows])))) == MEANT


def test_a_column_of_one_name_each_whose_name_ends_as_labels_do_is_doubted_beside_one_of_several(tmp_path):
    rows = [[text, ("DE", "AT")[at % 2], ";".join(names)] for at, (text, names) in enumerate(ROWS)]
    path = saved(tmp_path, table([["text", "country_code", "Themen"], *rows]))
    refused(path, "the columns country_code and Themen could hold the labels: give --label-column")
    assert shown(read(path, label_column="Themen")) == MEANT


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"delimiter": "tab"}, "options: delimiter is a single character, such as ; or a tab"),
        ({"quoting": "single"}, "options.quoting: Input should be 'double', 'backslash' or 'none'"),
        ({"missing": "None"}, r"options.missing: Input should be a valid list, such as \['None'\]"),
        ({"label_colum": "labels"}, "options.label_colum: .*the keys of the tabular reader are path, text_column"),
    ],
)
def test_an_option_of_a_script_that_is_none_is_one_line(tmp_path, chosen, message):
    with pytest.raises(InputError, match=message) as caught:
        read(saved(tmp_path, listed(";".join)), **chosen)
    assert "\n" not in str(caught.value)


def test_several_lines_above_the_names_of_columns_are_named_as_one_is(tmp_path):
    for above in ("Survey 2024\n", "Survey 2024\nExported: today\n\n"):
        path = saved(tmp_path, above + listed(";".join))
        refused(path, "another number of columns than the header .*or remove lines above the names of columns")


def test_an_export_that_has_only_predictions_is_said_to_be_annotated_by_nobody(tmp_path):
    rows = [{"id": 1, "data": {"text": text}, "annotations": [], "predictions": [{"result": []}]} for text, _ in ROWS]
    refused(saved(tmp_path, json.dumps(rows), "a.json"), "an export of Label Studio in which nobody has annotated a te")


def test_a_third_word_among_yes_and_no_names_the_option_that_counts_it_as_no(tmp_path):
    path = saved(tmp_path, marked("yes", "no").replace("yes,no,no", "yes,no,maybe"))
    refused(path, "the value 'maybe' of label 'mould' is neither 0 nor 1; --missing maybe counts it as 0")
    assert shown(read(path, missing=["maybe"])) == MEANT


def test_the_second_line_of_names_of_surveymonkey_is_named_with_its_remedy(tmp_path):
    above = [["ID", "What happened?", "Which topics?", *[""] * 4], ["", "Open-Ended Response", *NAMES]]
    rows = [[at, text, *(n if n in names else "" for n in NAMES)] for at, (text, names) in enumerate(ROWS)]
    refused(saved(tmp_path, table([*above, *rows])), r":2: SurveyMonkey's second line .*; write them into line 1, over")
    assert shown(read(saved(tmp_path, table([["ID", "What happened?", *NAMES], *rows])))) == MEANT


def test_an_option_that_no_label_cell_asks_for_is_a_note(tmp_path):
    path = saved(tmp_path, objects(lambda names: {"labels": names}), "a.jsonl")
    chosen = {"missing": ["zzz"], "label_field": "nope", "label_delimiter": ";", "positive_above": 0.5}
    for key, what in zip(
        chosen, ("missing 'zzz'", "label-field 'nope'", "label-delimiter ';'", "positive-above 0.5"), strict=True
    ):
        assert shown(read(path, **{key: chosen[key]})) == MEANT
        assert f"note: --{what} " in notes(path, **{key: chosen[key]})


def test_codes_that_begin_with_0_are_names_as_they_stand(tmp_path):
    codes = dict(zip(NAMES, ("0389", "389", "25000", "4019", "07"), strict=True))
    path = saved(tmp_path, listed(lambda names: ";".join(codes[name] for name in names)))
    assert shown(read(path)) == [(text, sorted(codes[name] for name in names)) for text, names in ROWS]
    refused(path, "unknown label '0389'", labels=["389", "25000", "4019", "7"])


def test_parts_of_a_data_set_that_are_read_as_one_are_a_note(tmp_path):
    datasets = pytest.importorskip("datasets")
    rows = [{"text": text, "labels": names} for text, names in ROWS]
    parts = {name: datasets.Dataset.from_list(half) for name, half in (("train", rows[:33]), ("test", rows[33:]))}
    datasets.DatasetDict(parts).save_to_disk(tmp_path / "saved")
    assert "the parts train, test are read as one: keep_split: true takes" in notes(tmp_path / "saved")


def test_a_column_of_yes_and_no_is_no_list_of_names_because_it_is_called_category(tmp_path):
    lines = [f"text number {n} is here,{'yes' if n % 2 else 'no'},{'yes' if n % 3 else 'no'}" for n in range(12)]
    path = saved(tmp_path, "\n".join(["text,late,category", *lines]))
    with pytest.raises(
        InputError, match="category of yes and no beside 1 column of yes and no.*--label-columns 'late,category'"
    ):
        columns.guess(path, {})
    assert columns.guess(path, {"label_columns": ["late", "category"]}).options["label_columns"] == ["late", "category"]
