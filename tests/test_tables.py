"""The tables: numbers by hand on a made-up long table, what is missing, what the first grids had, what is malformed."""

from __future__ import annotations

import csv
import gzip

import longtables
import pandas as pd
import pytest
import test_results
from graph import ROOT
from longtables import gain, lines
from tools import seeds

from compaug.core.files import InputError, write_json
from compaug.core.markdown import NOT_REPORTED
from compaug.evaluation import longtable, packed
from compaug.evaluation import results as long
from compaug.evaluation.statistics import summarise
from compaug.reports import contents, entries, figures, kinds_of_errors, linda_tables, page, table_3, verdicts
from compaug.reports.entries import CORRECTED, Entry, Table, corrected, entry
from compaug.stages import tables as tables_stage

BEFORE = "Numbers of commit 0ld5ha1, from before the arithmetic was made the same on every CPU"
# no committed result needs to have them
RUN_LATER = (
    "coda",
    "joint",
    "linda",
    "cartography",
    "parsing",
    "low_resource",
    "metric_study",
    "other_experiments",
    "knowledge",
)
toy_world = test_results.world  # predictions of ten cells


@pytest.fixture
def reports(tmp_path):
    return longtables.reports(tmp_path / "reports", longtables.paper_rows(), longtables.paper_gains())


def rows_of(name, folder, title="") -> dict[str, dict[str, str]]:
    """{words of a row: {column: cell as shown}} of the first table, or of the one with this title."""
    tables = contents.tables(name, longtables.load(folder))
    table = next(table for table in tables if not title or table.title == title)
    rows = {}
    for row in table.rows:
        words = ", ".join(part for part in row if isinstance(part, str))
        rows[words] = {column: str(part) for column, part in zip(table.header, row, strict=True)}
    return rows


# ---------------------------------------------------------------- queries


def test_means_intervals_and_paired_differences_by_hand(reports):
    frame = longtables.load(reports).frame
    acc = longtable.pick(frame, benchmark="diagnostic", metric="acc", decoding="threshold", split="unseen")
    summaries = longtable.summaries(longtable.pick(acc, selection="top_k"), "generator")
    assert summaries["ld_vae"] == summarise([7.0, 8.0, 9.0])
    # t(2) = 4.3027, over the root of 3
    assert (summaries["none"].mean, round(summaries["none"].ci95, 4)) == (3.0, 2.4841)
    top, drawn = (longtable.pick(acc, generator="ld_vae", selection=rule) for rule in ("top_k", "mode=random"))
    assert longtable.difference(top, drawn) == summarise([2.0, 0.0, 1.0])
    assert longtable.difference(top.iloc[1:], drawn.iloc[:2]).n == 1  # the one seed that both have
    assert longtable.difference(top, drawn[drawn["seed"] == 7]) is None


def test_a_query_that_mixes_cells_is_no_mean(reports):
    acc = longtable.pick(longtables.load(reports).frame, metric="acc", benchmark="diagnostic", split="unseen")
    with pytest.raises(ValueError, match="generator and seed do not tell these rows apart"):
        longtable.summaries(acc, "generator")


def test_a_mean_whose_seeds_were_not_kept_has_the_spread_that_was(tmp_path):
    rows = [*lines("acc", (24.0,)), *lines("acc_std", (2.0,)), *lines("acc_ci95", (5.0,))]
    frame = longtables.load(longtables.reports(tmp_path / "reports", rows)).frame
    (row,) = longtable.summaries(frame, "metric").items()
    assert row[0] == "acc" and (row[1].mean, row[1].std, row[1].ci95) == (24.0, 2.0, 5.0)


# ---------------------------------------------------------------- tables


def test_table_2_has_metrics_gains_with_tests_and_the_papers_numbers(reports):
    ours = rows_of("table_2", reports)
    assert list(ours) == ["none", "oversample", "ld_vae", "none, iid split"]
    assert ours["none"]["Acc"] == "3.00 [0.52, 5.48]" and ours["none, iid split"]["Acc"] == "27.00 [24.52, 29.48]"
    assert ours["ld_vae"]["texts"] == "600" and ours["ld_vae"]["fidelity, kept"] == "51.00 [48.52, 53.48]"
    gains = rows_of("table_2", reports, "diagnostic: gains")["ld_vae"]
    # t = 21.7 and 0.87 with two degrees of freedom
    assert (gains["Acc over none"], gains["Acc over oversample"]) == ("+5.00 [+4.00, +6.00]*", "+1.00 [0.00, +2.00]")
    theirs = rows_of("table_2", reports, "semeval")
    assert theirs["llm"]["texts"] == "no endpoint" and theirs["gpt2_pt"]["texts"] == "not run yet"
    semeval = next(t for t in contents.tables("table_2", longtables.load(reports)) if t.title == "semeval")
    acc = next(row for row in semeval.rows if row[0] == "ld_vae")[3]
    assert acc.printed == "8.44 (-0.44)" and "8.44 (-0.44)" in entries.markdown(semeval)


def test_the_bayes_classifier_is_a_ceiling_and_no_generator(tmp_path):
    ceilings = [
        *lines("acc", (91.0,), "bayes", classifier="bayes", decoding="training_prior", split="iid"),
        *lines("acc", (84.5,), "bayes", classifier="bayes", decoding="target_prior"),
    ]
    shown = rows_of("table_2", longtables.reports(tmp_path / "reports", longtables.paper_rows() + ceilings))
    assert list(shown)[-2:] == ["ceiling: Bayes, iid split", "ceiling: Bayes, combinations of the test set"]
    assert list(shown.values())[-1]["Acc"] == "84.50" and "bayes" not in shown


def test_generators_stand_beside_the_oracles_curve(tmp_path):
    rows = [*lines("acc", (20.0, 22.0, 24.0), experiment="fidelity")]
    for share, acc in (("", 60.0), ("+right=0.6", 45.0), ("+right=0", 20.0)):
        rows += lines("acc", (acc, acc, acc), f"oracle{share}", experiment="fidelity")
    rows += lines("acc", (40.0, 42.0, 44.0), "ld_vae", experiment="fidelity")
    rows += lines("acc", (1.0, 1.0, 1.0), "ld_vae", experiment="fidelity", selection="mode=random")
    rows += lines("acc", (30.0, 30.0, 30.0), "concat", experiment="fidelity")  # its texts were not measured
    rows += lines("fidelity_kept", (90.0, 92.0, 94.0), "ld_vae", experiment="fidelity", decoding="any")
    rows += lines("quality_coverage", (60.0, 62.0, 64.0), "ld_vae", experiment="fidelity", decoding="any")
    results = longtables.load(longtables.reports(tmp_path / "reports", rows))
    (table,) = contents.tables("accuracy_by_fidelity", results)
    shown = [[row[0], *(cell.shown for cell in row[1:])] for row in table.rows]
    assert shown == [
        ["`none`", "no texts", "–", "22.00"],
        ["`oracle`, 0 % right", "0.00", "–", "20.00"],
        ["`oracle`, 60 % right", "60.00", "–", "45.00"],
        ["`oracle`, 100 % right", "100.00", "–", "60.00"],
        ["`ld_vae`", "92.00", "62.00", "42.00"],
    ]
    (figure,) = contents.figures("accuracy_by_fidelity", results)
    figure.draw(tmp_path / "fidelity")
    assert (tmp_path / "fidelity.png").stat().st_size > 10_000


def test_the_range_over_committed_seeds_is_of_what_the_texts_teach(tmp_path):
    at = {"experiment": "small", "benchmark": "diagnostic+seen_test=9", "decoding": "best_constant"}
    rows = longtables.paper_rows() + lines("harmonic", (60.0, 61.0, 62.0), **at)
    rows += lines("harmonic", (62.0, 63.0, 64.0), "oversample", **at) + lines(
        "harmonic", (65.0, 65.0, 65.0), "ld_vae", **at
    )
    frame = longtables.load(longtables.reports(tmp_path / "reports", rows)).frame
    assert seeds.line(frame, "diagnostic", "tiny", "ld_vae", "bert") == (
        "What the texts teach, at the best constant, over the committed seeds 13, 21, 42: "
        "+3.00 to +5.00 points of H over no texts, +1.00 to +3.00 points of H over repeating the support texts."
    )
    assert "over repeating" not in seeds.line(frame, "diagnostic", "tiny", "oversample", "bert")
    assert "`small` does not have them" in seeds.line(frame, "own", "tiny", "ld_vae", "bert")


def test_table_5_pairs_the_filter_with_random_selection(reports):
    assert rows_of("table_5", reports)["ld_vae"]["gain"] == "+1.00 [-1.48, +3.48]"


def test_the_other_systems_stand_apart_with_what_they_are_compared_with_and_harm_is_called_harm(tmp_path):
    dull, strong = {"generator": "ld_vae", "experiment": "mixout"}, {"classifier": "bert+mixout=0.3"}
    coda = {"generator": "coda+max_tokens=40", "experiment": "coda"}
    single = {"seeds": 1, "p_seeds": "", "std": "", "ci95": ""}
    rows = lines("acc", (50.0, 52.0, 54.0), **dull) + lines("acc", (46.0, 48.0, 50.0), **dull, **strong)
    rows += lines("acc", (25.0,), experiment="coda") + lines("acc", (30.0,), **coda)
    gained = [
        longtables.gain(-4.0, over="bert", **dull, **strong),
        longtables.gain(5.0, **single, **coda),
        longtables.gain(-1.0, over="oversample", **single, **coda),
    ]
    folder = longtables.reports(tmp_path / "reports", rows, gained)
    table = contents.tables("verdicts", longtables.load(folder))[-1]
    shown = {row[1]: [str(value) for value in row[2:]] for row in table.rows}
    assert shown["mixout beside `ld_vae`"] == ["52.00", "48.00", "-4.00 [-5.00, -3.00]*", "–"]
    over_rows = ["+5.00 [+4.00, +6.00] over rows", "-1.00 [-2.00, 0.00] over rows"]
    assert shown["texts of `coda`"] == ["25.00", "30.00", *over_rows]
    # the t interval of two seeds is 12.7 standard errors wide, and that is what two seeds say
    two = longtables.gain(5.0, low_rows=4.5, seeds=2, ci95=60.0, **coda)
    assert str(entries.gained(pd.Series(two))) == "+5.00 [-55.00, +65.00]"
    (table,) = contents.tables("coda", longtables.load(folder))
    over_none = {row[0]: str(row[table.header.index("Acc over none")]) for row in table.rows}
    assert over_none == {"none": "–", "coda+max_tokens=40": "+5.00 [+4.00, +6.00] over rows"}


def test_texts_shown_more_often_have_a_verdict_over_none_and_over_repeating_as_often(tmp_path):
    at = {"experiment": "emphasis"} | verdicts.OFTEN
    rows = lines("acc", (30.0, 31.0, 32.0), **at)
    gained = [longtables.gain(mean, over=over, **at) for over, mean in (("none", 20.0), ("oversample", -5.0))]
    results = longtables.load(longtables.reports(tmp_path / "reports", rows, gained))
    first, *_ = contents.tables("verdicts", results)
    shown = {row[1]: [str(value) for value in row[2:]] for row in first.rows}
    gains = ["+20.00 [+19.00, +21.00]*", "-5.00 [-6.00, -4.00]*"]
    assert shown == {"texts of `ls_pt`, each four times an epoch": ["11.00", "31.00", *gains]}
    shown = " ".join(page.page(results, tmp_path, {}, []).split())
    cells = '<td class="n">+20.00<small>[+19.00, +21.00]*</small></td>'
    cells += ' <td class="n">-5.00<small>[-6.00, -4.00]*</small></td>'
    assert f'<td class="n">11.00</td> <td class="n">31.00</td> {cells}' in shown


def test_pretrained_models_stand_in_the_papers_tables_and_give_its_verdict(tmp_path):
    """In the place of the first grid of small models on the same corpus, and of the paper's numbers alone."""
    pretrained = {"experiment": "pretrained", "benchmark": "semeval+pretrained", "scale": "pretrained"}
    older = [longtables.paper_rows(), longtables.paper_gains()]
    folder = longtables.reports(tmp_path / "reports", older[0], first="0ld5ha1")
    on_tweets = [[row | pretrained for row in part if row["benchmark"] == "semeval"] for part in older]
    on_tweets[0] += [row | pretrained for row in lines("judged_classifier_acc", (7.0,) * 3, "ld_vae", decoding="any")]
    longtables.reports(folder, *on_tweets)
    for name, words in (("table_1", "bert"), ("table_2", "ld_vae"), ("table_5", "ld_vae"), ("table_10", "ld_vae")):
        assert words in rows_of(name, folder, "semeval+pretrained"), name
        titles = [table.title for table in contents.tables(name, longtables.load(folder))]
        assert "SemEval" not in titles or name == "table_10", name  # there it is of people
    corpora = [row[0] for row in contents.tables("verdicts", longtables.load(folder))[0].rows]
    assert corpora == ["semeval+pretrained"]  # of what the first grids have there is no verdict


def test_an_asterisk_is_what_the_correction_over_the_whole_table_leaves():
    """Three seeds each. The p of t = 38.7, 8.66 and 1.73 with two degrees of freedom are 0.0007, 0.0131 and 0.2254;
    times 3, 2 and 1 they are 0.0020, 0.0261 and 0.2254. Among seven tests the second is 6 x 0.0131 = 0.0784."""
    values = {"much": [1.9, 2.0, 1.83], "some": [1.2, 1.5, 1.8], "little": [0.0, 1.0, 2.0], "alike": [1.0, 1.0, 1.0]}
    rows = [[name, entry(summarise(numbers)), entry(summarise(numbers), sign=True)] for name, numbers in values.items()]
    p = {row[0]: row[2].p for row in rows}
    close = {
        name: pytest.approx(value, abs=1e-4) for name, value in (("much", 0.0007), ("some", 0.0131), ("little", 0.2254))
    }
    assert p == close | {"alike": None}  # which do not say how far another seed would be

    def starred(rows: list) -> list[str]:
        table = corrected(Table("", "Percent.", ["", "Acc", "gain"], rows))
        assert table.note == f"Percent. {CORRECTED}"
        assert not any(row[1].interval.endswith("*") for row in table.rows)  # a level is not tested
        return [row[0] for row in table.rows if row[2].interval.endswith("]*")]

    assert starred(rows) == ["much", "some"]
    assert starred(rows + rows[1:3] * 2) == ["much"]
    levels = Table("", "Percent.", ["", "Acc"], [row[:2] for row in rows])
    assert corrected(levels) == levels


def test_tables_1_and_3_compare_the_classifiers(tmp_path):
    rows = []
    for classifier, at, last in (("bert", 10.0, 12.0), ("t5_clp", 4.0, 6.5)):
        where = {"experiment": "classifiers", "classifier": classifier}
        for metric in longtables.METRICS:
            rows += lines(metric, (at, at + 1, last), **where)
            rows += lines(metric, (at + 2, at + 3, at + 4), "ld_vae", **where)
            rows += lines(metric, (at + 1, at + 1, at + 1), **where, decoding="tuned_thresholds")
            rows += lines(metric, (60.0, 61.0, 62.0), **where, split="iid")
    # of one split alone
    rows += lines("acc", (60.0, 61.0, 62.0), experiment="classifiers", classifier="sgm", split="iid")
    gained = [
        gain(2.0, "ld_vae", experiment="classifiers"),
        gain(1.5, "ld_vae", experiment="classifiers", over="oversample"),
    ]
    folder = longtables.reports(tmp_path / "reports", rows, gained)
    assert rows_of("table_1", folder)["bert"] == {
        "classifier": "bert",
        "iid Acc": "61.00 [58.52, 63.48]",
        "iid Acc, combinations of CG": "–",
        "CG Acc": "11.00 [8.52, 13.48]",
        "iid minus CG": "50.00 [50.00, 50.00]",
    }
    assert "sgm" not in rows_of("table_1", folder)
    assert rows_of("table_1", folder, "AAPD")["t5_clp"]["iid Acc"] == "–"  # the paper's number stands beside it
    assert rows_of("table_3", folder)["bert, ld_vae"]["Acc over none"] == "+2.00 [+1.00, +3.00]*"
    assert rows_of("table_3", folder)["bert, ld_vae"]["Acc over oversample"] == "+1.50 [+0.50, +2.50]*"
    tuned = rows_of("table_3", folder, "diagnostic: thresholds tuned per label")
    assert tuned["bert, unseen, none"]["Acc over 0.5"] == "0.00 [-2.48, +2.48]"
    claims = rows_of("table_3", folder, "diagnostic: what the paper says of the classifiers")
    assert [row["verdict"] for row in claims.values()] == ["appears"]  # t5_clp is 6 points below bert with every seed
    assert table_3.verdict(-1.0, 0.01) == "the reverse"
    assert table_3.verdict(1.0, 0.05) == table_3.verdict(1.0, None) == "not shown"


def test_tables_4_and_7_vary_one_module_at_a_time(tmp_path):
    rows = []
    for generator, classifier, at in (
        ("none", "bert", 10.0),
        ("ld_vae", "bert", 20.0),
        ("ld_vae+label_support=0", "bert", 15.0),
        ("ld_vae+text_support=250", "bert", 22.0),
        ("ld_vae", "bert+support=100", 25.0),
    ):
        for metric in longtables.METRICS:
            rows += lines(metric, (at, at, at), generator, classifier=classifier, experiment="support")
    folder = longtables.reports(tmp_path / "reports", rows)
    write_json(folder / "gold" / "diagnostic.json", {"labels": [], "counts": {"n_support": 50}})
    shown = rows_of("table_4_7", folder)
    assert [name for name in shown] == [
        "no augmentation, ",
        "label generator, 0",
        "label generator, 50",
        "text generator, 50",
        "text generator, 250",
        "classifier, 50",
        "classifier, 100",
    ]
    assert shown["label generator, 0"]["Acc over 50"] == "-5.00 [-5.00, -5.00]"
    assert shown["classifier, 50"]["Acc over 50"] == "–" and shown["classifier, 100"]["Acc"] == "25.00 [25.00, 25.00]"


def test_the_composition_prior_has_scores_gains_choices_and_ceilings(tmp_path):
    rows, at = [], {"experiment": "prior", "benchmark": "diagnostic+seen_test=400"}
    for decoding, unseen in (("threshold", 10.0), ("composition_prior", 40.0)):
        for split, metric, value in (
            ("seen", "acc", 70.0),
            ("unseen", "acc", unseen),
            ("unseen", "harmonic", unseen + 5),
        ):
            for selection in ("top_k", "score=posterior"):
                rows += lines(metric, [value] * 3, "ld_vae", split=split, decoding=decoding, selection=selection, **at)
            rows += lines(metric, [value] * 3, split=split, decoding=decoding, **at)
            rows += lines(metric, [value + 1] * 3, "real_texts", split=split, decoding=decoding, **at)
    for metric, value in (("weight", 0.5), ("strength", 0.85)):
        rows += lines(metric, [value] * 3, decoding="composition_prior", **at)
    rows += lines("harmonic", (84.5,), "bayes", classifier="bayes", decoding="mixed_prior", **at)
    rows += lines("acc", (85.0,), "bayes", classifier="bayes", decoding="mixed_prior", **at)
    gained = gain(30.0, "none", decoding="composition_prior", metric="harmonic", over="threshold", **at)
    gained = [gained | {"p_rows": ""}, gained | {"p_rows": "", "classifier": "sgm", "mean": 1.0}]
    folder = longtables.reports(tmp_path / "reports", rows, gained)
    assert rows_of("composition_prior", folder)["none, composition_prior"]["unseen"] == "40.00 [40.00, 40.00]"
    gains = rows_of("composition_prior", folder, "diagnostic+seen_test=400: H with another decoding, over thresholds")
    assert gains["none, composition_prior"]["gain in H"] == "+30.00 [+29.00, +31.00]*"
    chosen = rows_of("composition_prior", folder, "diagnostic+seen_test=400: the correction that was chosen")
    assert list(chosen) == ["none, (0.5, 0.85), (0.5, 0.85), (0.5, 0.85)"]
    ceilings = rows_of("composition_prior", folder, "diagnostic+seen_test=400: ceilings")
    assert ceilings["Bayes, mixed with those of the test set"]["H"] == "84.50"
    assert ceilings["real texts, threshold"]["unseen"] == "11.00 [11.00, 11.00]"
    posterior = rows_of("composition_prior", folder, "diagnostic+seen_test=400: selection by the posterior")
    assert posterior["ld_vae, threshold"]["H, gain"] == "0.00 [0.00, 0.00]"


def test_the_composition_prior_of_somebodys_own_experiment_is_chosen_and_shown_likewise(tmp_path):
    """With halves of the support set an experiment has a weight and a strength: the numbers that the root cell
    wants."""
    at = {"experiment": "calls_prior", "benchmark": "calls+seen_test=300", "seed": 42}
    rows = [
        row
        for decoding in ("threshold", "composition_prior")
        for split in ("seen", "unseen")
        for row in lines("acc", (30.0,), split=split, decoding=decoding, **at)
    ]
    for metric, value in (("weight", 0.9), ("strength", 0.6)):
        rows += lines(metric, (value,), decoding="composition_prior", **at)
    folder = longtables.reports(tmp_path / "reports", rows + longtables.paper_rows(), [])
    title = "calls_prior: calls+seen_test=300"
    assert list(rows_of("composition_prior", folder, f"{title}: the correction that was chosen")) == [
        "none, (0.9, 0.6)"
    ]
    assert rows_of("composition_prior", folder, title)["none, threshold"]["seen"] == "30.00"
    frame = longtables.load(folder)
    assert [figure.name for figure in contents.figures("composition_prior", frame)] == [
        "seen-unseen-calls_prior-calls+seen_test=300"
    ]
    assert not any("calls_prior" in table.title for table in contents.tables("other_experiments", frame))


def test_ablations_have_curves_options_judges_and_representations(tmp_path):
    rows, at = [], {"experiment": "ablations"}
    for metric in longtables.METRICS:
        rows += lines(metric, (9.0, 10.0, 11.0), **at)
        rows += lines(metric, (19.0, 20.0, 21.0), "ld_vae", **at)
        rows += lines(metric, (14.0, 15.0, 16.0), "ld_vae", selection="top_k+texts=200", **at)
        rows += lines(metric, (21.0, 22.0, 23.0), "ld_vae+kl_form=reference", **at)
        rows += lines(metric, (17.0, 18.0, 19.0), "ld_vae", selection="scope=per_composition", **at)
    any_decoding = at | {"decoding": "any"}
    rows += lines("n_aug", (600, 600, 600), "ld_vae", **any_decoding)
    for metric, value in (("judged_oracle_acc", 17.0), ("silhouette_latent", 0.75)):
        rows += lines(metric, [value] * 3, "ld_vae", **any_decoding)
    folder = longtables.reports(tmp_path / "reports", rows)
    assert rows_of("figure_4", folder)["ld_vae"] == {
        "generator": "ld_vae",
        "0": "10.00 [7.52, 12.48]",
        "200": "15.00 [12.52, 17.48]",
        "600": "20.00 [17.52, 22.48]",
    }
    options = rows_of("departures", folder, "diagnostic: options of the generator")
    assert options["ld_vae+kl_form=reference"]["Acc over ld_vae"] == "+2.00 [+2.00, +2.00]"
    rules = rows_of("departures", folder, "diagnostic: rules of selection")
    assert list(rules) == ["top_k", "scope=per_composition"]
    assert rows_of("table_10", folder)["ld_vae"]["oracle: Acc"] == "17.00 [17.00, 17.00]"
    assert rows_of("figures_2_5", folder)["ld_vae"]["latent, silhouette"] == "0.75 [0.75, 0.75]"


def test_real_texts_stand_beside_each_generator_under_its_weights(tmp_path):
    rows, at = [], {"experiment": "ablations", "decoding": "any"}
    for name, values in {"ls_pt": (20.0, 24.0, 28.0), "ld_vae": (30.0, 30.0, 30.0)}.items():
        rows += lines("judged_classifier_acc", (9.0, 10.0, 11.0), name, **at) + lines("reader_acc", values, name, **at)
        rows += lines("reader_n", (40, 50, 60), name, **at) + lines("reader_covered", (90.0, 95.04, 92.0), name, **at)
    rows += lines(
        "judged_classifier_acc", (3.0, 3.0, 3.0), "vae", **at
    )  # whose classifier has no predictions of real texts
    folder = longtables.reports(tmp_path / "reports", rows)
    assert rows_of("table_10", folder) == {
        "ls_pt": {
            "generator": "ls_pt",
            "classifier: Acc": "10.00 [7.52, 12.48]",
            "real texts: Acc": "24.00 [14.06, 33.94]",
        },
        "ld_vae": {
            "generator": "ld_vae",
            "classifier: Acc": "10.00 [7.52, 12.48]",
            "real texts: Acc": "30.00 [30.00, 30.00]",
        },
        "vae": {"generator": "vae", "classifier: Acc": "3.00 [3.00, 3.00]", "real texts: Acc": NOT_REPORTED},
    }
    note = contents.tables("table_10", longtables.load(folder))[0].note
    assert note.startswith(
        "For each generator and seed 40 to 60 real texts count; "
        "90.0 to 95.0 % of its kept texts were asked for their combinations. "
    )


def test_kinds_of_errors_add_up_and_the_commonest_confusions_are_named(tmp_path):
    at, shares = {"experiment": "classifiers"}, (40.0, 10.0, 5.0, 15.0, 20.0, 10.0)
    rows = [
        row
        for kind, share in zip(figures.KINDS, shares, strict=True)
        for row in lines(f"kind_{kind}", [share] * 3, **at)
    ]
    rows += [*lines("acc_size_2", [30.0] * 3, **at), *lines("n_size_2", [77] * 3, **at)]
    rows += lines("unparsed_rows", (0, 1, 2), classifier="t5_clp", decoding="any", **at)
    folder = longtables.reports(tmp_path / "reports", rows)
    confused = lines("acc", (0,), **at)[0]
    pairs = [
        confused | {"composition": c, "predicted": "joy", "rows": n}
        for c, n in (("a", 3), ("b", 9), ("c", 4), ("d", 5))
    ]
    longtables.write(folder / "confusions.csv.gz", long.CONFUSION_COLUMNS, pairs)
    shown = rows_of("kinds_of_errors", folder)["bert, unseen, none"]
    assert shown["right"] == "40.00 [40.00, 40.00]" and shown["all wrong"] == "10.00 [10.00, 10.00]"
    assert list(rows_of("kinds_of_errors", folder, "diagnostic: Acc by where")["bert, unseen, none"])[3:] == [
        "2 labels (77 rows)"
    ]
    title = "diagnostic: the most frequent confusions, without augmentation"
    # CONFUSIONS of them
    assert list(rows_of("kinds_of_errors", folder, title)) == [f"bert, {name}, joy" for name in "bdc"]
    assert kinds_of_errors.CONFUSIONS == 3
    unread = rows_of("kinds_of_errors", folder, "diagnostic: answers that could not be read")
    assert unread["t5_clp, unseen, none"]["answers"] == "1"


def test_coda_says_how_well_constraints_are_kept_and_what_that_is_worth(tmp_path):
    more = {"experiment": "coda_ablation"}
    rows = [
        row for metric in longtables.METRICS for row in longtables.lines(metric, (10.0, 20.0, 30.0), "coda", **more)
    ]
    rows += longtables.lines("quality_compliance_raw_coverage", (0.1, 0.2, 0.3), "coda", decoding="any", **more)
    rows += longtables.lines("acc", (5.0, 5.0, 5.0), "coda+lexical=false", **more)
    for generator in ("coda", "coda+none"):
        rows += longtables.lines("quality_compliance_raw_score", (1.0, 1.0, 1.0), generator, decoding="any", **more)
    rows += longtables.lines(
        "quality_compliance_raw_length", (1.0, 1.0, 1.0), "coda+lexical=false", decoding="any", **more
    )
    loaded = longtables.load(longtables.reports(tmp_path / "reports", rows))
    (table,) = contents.tables("coda", loaded)
    lines = {name: dict(zip(table.header[1:], map(str, entries), strict=True)) for name, *entries in table.rows}
    assert table.title == "coda_ablation: diagnostic"
    assert lines["coda"]["keywords"].startswith("20.00 ") and lines["coda"]["Acc"].startswith("20.00 ")
    assert lines["coda+lexical=false"]["length"].startswith("100.00") and lines["coda"]["length"] == NOT_REPORTED
    # it was asked for none
    assert lines["coda"]["all"].startswith("100.00") and lines["coda+none"]["all"] == NOT_REPORTED
    assert lines["coda+lexical=false"]["Acc"].startswith("5.00") and lines["coda"]["fidelity"] == NOT_REPORTED


def test_joint_generation_says_how_much_could_be_read_and_what_it_is_worth(tmp_path):
    more, joint = {"experiment": "joint"}, "masked_joint+mode=labels"
    rows = longtables.lines("acc", (20.0, 21.0, 22.0), **more)
    for metric, values in {"acc": (30.0, 31.0, 32.0), "written_readable": (90.0, 92.0, 94.0)}.items():
        rows += longtables.lines(metric, values, joint, decoding="threshold" if metric == "acc" else "any", **more)
    rows += longtables.lines("quality_filter_exact", (0.5, 0.5, 0.5), joint, decoding="any", **more)
    gains = [longtables.gain(10.0, generator=joint, **more)]
    folder = longtables.reports(tmp_path / "reports", rows, gains)
    (table,) = contents.tables("joint", longtables.load(folder))
    assert list(table.header) == ["generator", "readable", "filter", "Jacc", "Acc", "Corr", "Comp", "Acc over none"]
    lines = {name: dict(zip(table.header[1:], map(str, entries), strict=True)) for name, *entries in table.rows}
    assert lines["none"]["readable"] == lines["none"]["Acc over none"] == NOT_REPORTED
    assert lines[joint]["readable"].startswith("92.00 [") and lines[joint]["filter"].startswith("50.00")
    assert lines[joint]["Acc over none"].startswith("+10.00 [")
    assert not [
        table for table in contents.tables("other_experiments", longtables.load(folder)) if "joint" in table.title
    ]


def test_plain_augmentation_is_compared_with_no_texts_on_the_same_split(tmp_path):
    rows, iid = [], {"experiment": "linda", "split": "iid"}
    for metric in longtables.METRICS:
        rows += lines(metric, (26.0, 27.0, 28.0), **iid)
        rows += lines(metric, (29.0, 29.0, 32.0), "linda+pairs=random", **iid)
        rows += lines(metric, (26.0, 26.0, 26.0), classifier="bert+mixup=true", **iid)
        rows += lines(metric, (2.0, 3.0, 4.0), experiment="linda")
    (table,) = linda_tables.plain(longtables.load(longtables.reports(tmp_path, rows)))
    rows_by_arm = {tuple(line[:2]): line for line in table.rows}
    assert rows_by_arm["linda+pairs=random", "bert"][-1].ours == pytest.approx(3.0)
    assert rows_by_arm["none", "bert+mixup=true"][-1].ours == pytest.approx(-1.0)
    assert rows_by_arm["none", "bert"][-1] == Entry() and rows_by_arm["none", "bert"][3].ours == pytest.approx(27.0)
    assert "split at random" in table.title and len(table.rows) == 3


def test_the_scales_of_an_experiment_are_tables_of_their_own(tmp_path):
    """A mean over two models is none of anything."""
    rows = lines("acc", (1.0, 2.0, 3.0), experiment="mine") + lines(
        "acc", (4.0, 5.0, 6.0), experiment="mine", scale="bart"
    )
    rows += lines("acc", (7.0, 8.0, 9.0), experiment="larger", scale="pretrained")  # its only one
    gained = [gain(3.0, "ls_pt", experiment="mine", scale="bart")]
    folder = longtables.reports(tmp_path / "reports", rows, gained)
    titles = [table.title for table in contents.tables("other_experiments", longtables.load(folder))]
    assert titles == ["larger: diagnostic", "mine: diagnostic", "mine: diagnostic+bart"]
    shown = [next(iter(rows_of("other_experiments", folder, title).values()))["Acc"] for title in titles]
    assert [words.split()[0] for words in shown] == ["8.00", "2.00", "5.00"]
    assert longtables.load(folder).gains["benchmark"].tolist() == ["diagnostic+bart"]


def test_an_experiment_of_ones_own_has_its_table(tmp_path):
    at = {"experiment": "mine"}
    rows = [row for metric in longtables.METRICS for row in lines(metric, (1.0, 2.0, 3.0), "nearest", **at)]
    rows += lines("acc", (8.0, 9.0, 10.0), "nearest", decoding="tuned_thresholds", **at)
    folder = longtables.reports(tmp_path / "reports", rows, [gain(2.0, "nearest", **at)])
    shown = rows_of("other_experiments", folder, "mine: diagnostic")
    assert shown["unseen, nearest, threshold"]["Acc over none"] == "+2.00 [+1.00, +3.00]*"
    assert shown["unseen, nearest, tuned_thresholds"]["Acc"] == "9.00 [6.52, 11.48]"


def test_trainings_of_a_classifier_are_compared_with_the_plain_one(tmp_path):
    at = {"experiment": "mine", "classifier": "bert+freeze_layers=3"}
    rows = lines("acc", (1.0, 2.0, 3.0), experiment="mine") + lines("acc", (2.0, 3.0, 4.0), **at)
    folder = longtables.reports(tmp_path / "reports", rows, [gain(1.5, "none", over="bert", **at)])
    shown = rows_of("other_experiments", folder, "mine: diagnostic")
    assert shown["unseen, none, bert+freeze_layers=3"]["Acc over bert"] == "+1.50 [+0.50, +2.50]*"
    assert shown["unseen, none, bert"]["Acc over bert"] == NOT_REPORTED


# ---------------------------------------------------------------- current and of the first grids


def test_numbers_of_the_first_grids_are_marked_and_give_way_to_current_ones(tmp_path):
    folder = longtables.reports(tmp_path / "reports", longtables.paper_rows(), first="0ld5ha1")
    folder = longtables.reports(folder, lines("acc", (60.0, 60.0, 60.0)))  # diagnostic has run again
    results = longtables.load(folder)
    assert rows_of("table_2", folder)["none"]["Acc"] == "60.00 [60.00, 60.00]"
    assert list(rows_of("table_2", folder)) == ["none"]  # nothing of the first grids beside it
    notes = {table.title: table.note for table in contents.tables("table_2", results)}
    assert "commit" not in notes["diagnostic"] and BEFORE in notes["semeval"]
    assert "; scale tiny as it was then. " in notes["semeval"]  # today's file does not say what it was
    assert "Seeds 13, 21, 42; scale tiny: encoder, decoder, seq2seq `tiny, 2 layers of 128`." in notes["diagnostic"]


def test_a_corpus_in_another_form_gives_way_too(tmp_path):
    before = [row | {"benchmark": f"{row['benchmark']}+4000"} for row in longtables.paper_rows()]
    folder = longtables.reports(tmp_path / "reports", before, first="0ld5ha1")
    assert set(longtables.load(folder).frame["benchmark"]) == {"diagnostic+4000", "semeval+4000"}
    folder = longtables.reports(folder, lines("acc", (60.0, 60.0, 60.0)))
    assert set(longtables.load(folder).frame["benchmark"]) == {"diagnostic", "semeval+4000"}


def test_seeds_that_some_cells_lack_are_told(tmp_path):
    rows = [row for row in longtables.paper_rows() if (row["generator"], row["seed"]) != ("ld_vae", 42)]
    table = contents.tables("table_2", longtables.load(longtables.reports(tmp_path / "reports", rows)))[0]
    assert table.note.startswith("Seeds 13, 21, 42, but not in every cell;")


# ---------------------------------------------------------------- malformed files


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("paper,diagnostic,tiny,none,top_k,bert,threshold,13,unseen,acc,", "could not convert"),
        ("paper,diagnostic,tiny,none,top_k,bert,threshold,1.5,unseen,acc,1", "cannot safely convert"),
        ('paper,"diagnostic,tiny', "EOF inside string"),
        ("paper,diagnostic,tiny,\xff,top_k,bert,threshold,13,unseen,acc,1", "can't decode"),
    ],
)
def test_a_malformed_line_is_named_with_the_remedy(reports, line, message):
    (reports / "results.csv.gz").write_bytes(gzip.compress(f"{','.join(long.COLUMNS)}\n{line}\n".encode("latin-1")))
    with pytest.raises(InputError, match=f"results.csv.gz: .*{message}.*; `make tables` writes it again"):
        longtables.load(reports)


def test_other_columns_are_refused(reports):
    path = reports / "results.csv.gz"
    text = gzip.decompress(path.read_bytes()).decode().splitlines(keepends=True)
    packed.write(path, ["experiment,value\n", *text[1:]])
    with pytest.raises(InputError, match="results.csv.gz: not a table with the columns experiment,benchmark"):
        longtables.load(reports)


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-9], lambda data: data[:40] + b"\xff" + data[41:], lambda data: b"no gzip"]
)
def test_a_damaged_file_is_one_line_with_the_remedy(reports, damage):
    path = reports / "results.csv.gz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InputError, match="results.csv.gz: .*; `make tables` writes it again") as refused:
        longtables.load(reports)
    assert "\n" not in str(refused.value)


def test_no_result_at_all_names_the_first_experiment(tmp_path):
    with pytest.raises(InputError, match="results.csv.gz: no result; `make grid EXPERIMENT=small` makes the first"):
        longtables.load(longtables.reports(tmp_path / "reports", []))


# ---------------------------------------------------------------- the stage


def run(folder, out):
    tables_stage.main(["--params", str(ROOT / "params.yaml"), "--reports", str(folder), "--out", str(out)])
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


def test_the_stage_writes_every_table_and_the_same_bytes_twice(reports, tmp_path, monkeypatch):
    prior = [
        row
        for split, value in (("seen", 70.0), ("unseen", 20.0))
        for decoding in ("threshold", "composition_prior")
        for row in lines(
            "acc", [value] * 3, split=split, decoding=decoding, experiment="prior", benchmark="diagnostic+seen_test=400"
        )
    ]
    longtables.reports(reports, longtables.paper_rows() + prior, longtables.paper_gains())
    first = run(reports, tmp_path / "a")
    monkeypatch.chdir(tmp_path)
    assert run(reports, tmp_path / "b") == first
    assert {f"{name}.{kind}" for name in contents.TABLES for kind in ("md", "csv")} <= set(first)
    assert "figures/seen-unseen-diagnostic+seen_test=400.png" in first
    assert b"(figures/seen-unseen-diagnostic+seen_test=400.png)" in first["composition_prior.md"]
    assert b"No results yet: `make grid EXPERIMENT=classifiers` makes them." in first["table_1.md"]
    entries_read = list(csv.DictReader(first["table_2.csv"].decode().splitlines()))
    cell = next(r for r in entries_read if (r["table"], r["row"], r["column"]) == ("semeval", "ld_vae", "Acc"))
    assert (cell["value"], cell["ci95"], cell["paper"], cell["shown"]) == (
        "8.0",
        "2.4841",
        "8.44",
        "8.00 [5.52, 10.48]",
    )


@pytest.mark.parametrize("experiment", ["paper", "classifiers", "prior", "support", "ablations", "small", "mine"])
def test_what_the_stage_results_writes_makes_tables_whatever_the_experiment_has(toy_world, tmp_path, experiment):
    """Also where it has few of the cells that its tables are made for."""
    (toy_world / "toy.yaml").write_text(test_results.TOY.replace("toy:", f"{experiment}:"))
    test_results.run(toy_world)
    (toy_world / "representations.jsonl.gz").unlink()  # which has no points to draw
    (toy_world / "paper_values.yaml").write_bytes((ROOT / "reports/paper_values.yaml").read_bytes())
    pages = run(toy_world, tmp_path / "tables")
    shown = b"".join(pages[f"{name}.md"] for name in contents.TABLES)
    assert experiment == "prior" or b"| ld_vae" in shown  # the decodings of `prior` are not there
    if experiment == "paper":
        gains = rows_of("table_2", toy_world, "diagnostic: gains")["ld_vae"]
        assert gains["Acc over none"].startswith("+37.50 [")  # 3 of 4 rows; of none 1 with one seed, 2 with the other


def test_the_committed_results_make_every_table(tmp_path):
    pages = run(ROOT / "reports", tmp_path / "tables")
    assert not [name for name in contents.TABLES if name not in RUN_LATER and b"No results yet" in pages[f"{name}.md"]]


# ---------------------------------------------------------------- cells and formats


def test_agreement_is_where_the_papers_number_lies():
    assert [Entry(8.0, 1.0, paper).agreement for paper in (8.44, 9.5, 6.0, None)] == ["inside", "above", "below", ""]
    assert Entry(8.0, None, 8.44).agreement == "above"  # one seed has no interval
    assert str(Entry(8.0, 1.0, 8.44)) == "8.00 [7.00, 9.00]" and Entry(8.0, 1.0, 8.44).printed == "8.44 (-0.44)"
    assert Entry(words="not run", paper=1.0).shown == "not run"
    elsewhere = Entry(8.0, 1.0, 8.44, other_corpus=True)
    assert (elsewhere.printed, elsewhere.agreement) == ("8.44", "")
    assert Entry(1403, paper=1403).printed == "1,403 (0)"


def test_names_and_signs_are_escaped_in_every_format():
    table = Table("a_b", "", ["name", "5 %"], [["<b>|x_y", Entry(1.5, 0.25, 2.0)], ["", Entry(words="< 0.001")]])
    assert "| \\<b>\\|x_y | 1.50 [1.25, 1.75] | 2.00 (-0.50) |" in entries.markdown(table)
    assert "| \\< 0.001 |" in " ".join(entries.markdown(table).split())
    assert list(csv.reader(entries.comma_separated([table]).splitlines()))[1] == [
        "a_b",
        "<b>|x_y",
        "5 %",
        "1.5",
        "0.25",
        "2.0",
        "1.50 [1.25, 1.75]",
    ]


def test_a_measure_is_ranked_against_accuracy_seed_by_seed(tmp_path):
    rows, at = [], {"experiment": "metrics"}
    names = ("oversample", "concat", "gpt2_pt", "ls_pt", "ld_vae")
    for rank, name in enumerate(names):
        rows += lines("acc", (rank, rank, rank), name, **at)
        facts = {"decoding": "any", **at}
        rows += lines("distance_support_fd", (-rank, -rank, rank), name, **facts)  # wrong in one seed of three
        rows += lines("quality_perplexity", (7.0, 7.0, 7.0), name, **facts)  # says nothing
        if name != "oversample":
            rows += lines("fidelity_kept", (rank, rank, rank), name, **facts)
    (table,) = contents.tables("metric_study", longtables.load(longtables.reports(tmp_path / "reports", rows)))
    shown = {row[0]: dict(zip(table.header, map(str, row), strict=True)) for row in table.rows}
    assert list(shown) == ["FD, to support texts", "fidelity of the kept texts"]
    assert (
        shown["FD, to support texts"]["tau"].startswith("-0.33 [")
        and shown["FD, to support texts"]["better"] == "lower"
    )
    assert shown["fidelity of the kept texts"]["without controls"] == "+1.00 [+1.00, +1.00]"


def test_each_way_to_label_texts_between_texts_stands_beside_the_requested_labels(tmp_path):
    rows, at = [], {"experiment": "linda"}
    for metric in longtables.METRICS:
        rows += lines(metric, (20.0, 22.0, 24.0), **at)
        rows += lines(metric, (30.0, 32.0, 34.0), "oversample", **at)
        rows += lines(metric, (40.0, 42.0, 44.0), "linda", **at)
        rows += lines(metric, (41.0, 43.0, 45.0), "linda", selection="labels=soft", **at)
    rows += lines("fidelity_kept", (60.0, 60.0, 60.0), "linda", decoding="any", **at)
    (table,) = contents.tables("linda", longtables.load(longtables.reports(tmp_path / "reports", rows)))
    shown = {tuple(row[:2]): dict(zip(table.header, map(str, row), strict=True)) for row in table.rows}
    assert list(shown) == [(name, "the request's") for name in ("none", "oversample", "linda")] + [
        ("linda", "both texts'")
    ]
    soft, hard = shown["linda", "both texts'"], shown["linda", "the request's"]
    assert soft["over the request's labels"] == "+1.00 [+1.00, +1.00]" and hard["over the request's labels"] == "–"
    assert hard["Acc over none"].startswith("+20.00") and soft["over oversample"].startswith("+11.00")
    assert hard["fidelity"] == "60.00 [60.00, 60.00]" and shown["none", "the request's"]["Acc over none"] == "–"


def test_a_gain_of_one_seed_has_the_interval_over_test_rows_and_says_so(tmp_path):
    rows, at = [], {"experiment": "linda_pretrained"}
    for metric in longtables.METRICS:
        rows += lines(metric, (20.0,), **at) + lines(metric, (24.0,), "linda_prefix", **at)
    folder = longtables.reports(
        tmp_path / "reports", rows, [longtables.gain(4.0, "linda_prefix", seeds=1, ci95="", **at)]
    )
    (table,) = contents.tables("linda", longtables.load(folder))
    shown = {row[0]: dict(zip(table.header, map(str, row), strict=True)) for row in table.rows}
    assert shown["linda_prefix"]["Acc over none"] == "+4.00 [+3.00, +5.00] over rows"
    assert shown["none"]["Acc over none"] == shown["linda_prefix"]["over oversample"] == "–"


def test_what_is_between_two_texts_has_a_line_for_every_weight_and_a_curve(tmp_path):
    rows, at = [], {"experiment": "linda", "decoding": "any"}
    for tenth in range(11):
        for source, value in (("a", tenth / 10), ("b", 1 - tenth / 10)):
            for measure in ("precision", "similarity"):
                values = [value, value, value]
                for selection in ("top_k", "labels=teacher"):  # the same facts stand at both cells of the generator
                    metric = f"between_{measure}_{source}_{tenth / 10:g}"
                    rows += lines(metric, values, "linda", selection=selection, **at)
        rows += lines(f"between_copies_{tenth / 10:g}", (0.1, 0.2, 0.3), "linda", **at)
    rows += lines("between_spearman_precision_a", (1.0, 1.0, 1.0), "linda", **at)
    folder = longtables.reports(tmp_path / "reports", rows)
    (table,) = contents.tables("linda", longtables.load(folder))
    shown = {row[1]: dict(zip(table.header, map(str, row), strict=True)) for row in table.rows}
    assert list(shown) == ["0", "0.3", "0.5", "0.7", "1"] and {row[0] for row in table.rows} == {"linda"}
    assert (
        shown["0.3"]["precision, first"] == "0.30 [0.30, 0.30]"
        and shown["0.3"]["similarity, second"] == "0.70 [0.70, 0.70]"
    )
    assert shown["0.5"]["copies"] == "0.20 [-0.05, 0.45]" and shown["0.5"]["perplexity"] == "–"
    (figure,) = contents.figures("linda", longtables.load(folder))
    assert figure.name == "linda-diagnostic"
    figure.draw(tmp_path / "between")
    assert (tmp_path / "between.png").stat().st_size > 5000
    curves = figure.draw.args[0]["linda"]
    assert [alpha for alpha, _ in curves["precision_a"]] == [at / 10 for at in range(11)]
    assert set(curves) == {"precision_a", "precision_b", "similarity_a", "similarity_b"}
