"""Experiments are products of axes; a cell that two of them share exists once; a new one is a few lines of one file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tools import plan as plan_stage

from compaug.core.files import InputError, read_yaml, write_json
from compaug.engine import built, planning
from compaug.experiments import cells as experiments
from compaug.experiments import steps
from compaug.experiments.cells import Cell

ROOT = Path(__file__).parents[1]
SETTINGS = ROOT / "params.yaml"
TWO = {"benchmark": "diagnostic", "seed": [13, 21]}


def written(tmp_path: Path, **blocks: dict) -> Path:
    path = tmp_path / "experiments.yaml"
    path.write_text(yaml.safe_dump(blocks, sort_keys=False))
    return path


def experiment_of(tmp_path: Path, **block: object) -> experiments.Experiment:
    block = {"title": "One", "axes": TWO, "cells": [{}]} | block
    return experiments.read(written(tmp_path, one=block))["one"]


def test_a_product_has_every_combination_of_its_axes(tmp_path):
    experiment = experiment_of(tmp_path, cells=[{"generator": ["none", "ls_pt"], "classifier": ["bert", "sgm"]}])
    assert len(experiment.cells) == 8
    assert {(c.generator, c.classifier, c.seed) for c in experiment.cells} == {
        (g, c, s) for g in ("none", "ls_pt") for c in ("bert", "sgm") for s in (13, 21)
    }


def test_a_product_adds_axes_to_the_experiments_or_sets_others(tmp_path):
    experiment = experiment_of(tmp_path, cells=[{"seed": 5}, {"split": "iid"}])
    assert [(c.seed, c.split) for c in experiment.cells] == [(5, "cg"), (13, "iid"), (21, "iid")]


def test_a_cell_of_two_products_or_experiments_exists_once(tmp_path):
    again = {"title": "Again", "axes": TWO, "cells": [{"generator": ["none", "ls_pt"]}]}
    by_name = experiments.read(written(tmp_path, first=again | {"cells": [{}, {}]}, second=again))
    assert len(by_name["first"].cells) == 2
    planned = steps.plan(by_name.values())
    assert (
        len(planned["train_classifier"]) == 4 and len(planned["train_filter"]) == len(planned["train_generator"]) == 2
    )
    assert set(planned["raw"]) == {"diagnostic"}


def test_only_the_backbones_that_something_opens_are_made(tmp_path):
    planned = steps.plan([experiment_of(tmp_path, cells=[{"generator": "ls_pt"}])])
    # the filter's, the label generator's
    assert set(planned["backbones"]) == {"diagnostic-encoder", "diagnostic-decoder"}
    planned = steps.plan([experiment_of(tmp_path, cells=[{"generator": "flan_t5"}])])
    assert "diagnostic-seq2seq" in planned["backbones"]


NAMES = {
    "diagnostic-none-bert-13": {},
    "diagnostic-iid-none-bert-13": {"split": "iid"},
    "diagnostic-ld_vae+kl_form=reference-bert-13": {"generator": "ld_vae", "options": "kl_form=reference"},
    "diagnostic-ld_vae+label_support=0-bert-13": {"generator": "ld_vae", "label_support": 0},
    "diagnostic-ls_pt+requested=40-k=20-bert-13": {"generator": "ls_pt", "requested": 40, "selection": "k=20"},
    "diagnostic-ls_pt+guidance=2-bert-13": {"generator": "ls_pt", "sampling": "guidance=2"},
    "diagnostic-ls_pt-mode=random-bert-13": {"generator": "ls_pt", "selection": "mode=random"},
    "diagnostic-ls_pt-texts=200-bert-13": {"generator": "ls_pt", "texts": 200},
    "diagnostic-ls_pt-bert+support=0-13": {"generator": "ls_pt", "support": 0},
    "diagnostic-none-bert+region=hard-13": {"subset": "region=hard"},
    "diagnostic-none-bert+pacing=linear,first=easy-13": {"training": "pacing=linear,first=easy"},
    "diagnostic-ls_pt+region=hard-bert-13": {"generator": "ls_pt", "text_subset": "region=hard"},
    "diagnostic-none-sgm-13-a": {"classifier": "sgm", "half": "a"},
    "diagnostic+seen_test=9-none-bert-13": {"split_options": "seen_test=9"},
    "diagnostic+paper-none-bert-13": {"scale": "paper"},
}


@pytest.mark.parametrize("name", NAMES)
def test_a_cell_is_named_after_what_differs(name):
    assert Cell("diagnostic", 13, **NAMES[name]).name == name


@given(
    st.sets(
        st.builds(
            Cell,
            benchmark=st.sampled_from(["diagnostic", "semeval"]),
            seed=st.integers(0, 3),
            scale=st.sampled_from(["tiny", "paper"]),
            split_options=st.sampled_from(["", "seen_test=9"]),
            split=st.sampled_from(["cg", "iid"]),
            generator=st.sampled_from(["none", "ls_pt", "ld_vae"]),
            options=st.sampled_from(["", "kl_form=reference"]),
            label_support=st.sampled_from([None, 0, 100]),
            text_support=st.sampled_from([None, 0, 100]),
            requested=st.sampled_from([None, 40]),
            sampling=st.sampled_from(["", "guidance=2"]),
            selection=st.sampled_from(["", "mode=random"]),
            texts=st.sampled_from([None, 0, 100]),
            classifier=st.sampled_from(["bert", "sgm"]),
            support=st.sampled_from([None, 0, 100]),
            subset=st.sampled_from(["", "region=hard"]),
            text_subset=st.sampled_from(["", "region=hard"]),
            training=st.sampled_from(["", "pacing=linear,first=hard"]),
            half=st.sampled_from(["", "a"]),
        )
    )
)
def test_two_cells_never_share_a_name(cells):
    assert len({cell.name for cell in cells}) == len(cells)
    texts = {(c.models, c.generator_words, c.selection, c.seed) for c in cells}
    assert len({cell.selected_name for cell in cells}) == len(texts)


def test_more_texts_are_written_by_the_same_generator_for_more_label_sets(tmp_path):
    cells = [{"generator": "ls_pt"}, {"generator": "ls_pt", "requested": 40, "selection": "k=20"}]
    planned = steps.plan([experiment_of(tmp_path, axes={"benchmark": "diagnostic", "seed": 13}, cells=cells)])
    assert list(planned["train_generator"]) == ["diagnostic-ls_pt-13"]
    more = {name: entry["more"] for name, entry in planned["label_generator"].items()}
    assert more == {"diagnostic-13": "", "diagnostic+requested=40-13": " --set sizes.requested=40"}
    written = planned["synthesize"]["diagnostic-ls_pt+requested=40-13"]
    assert written["requests"] == "data/compositions/diagnostic+requested=40-13.jsonl"
    assert planned["select"]["diagnostic-ls_pt+requested=40-k=20-13"]["set"] == "--set selection.k=20"
    read = {entry["requests"] for entry in planned["train_classifier"].values()}
    assert read == {
        "data/compositions/diagnostic-13.jsonl"
    }  # of the target's combinations, which more texts do not change


def test_the_long_tables_words_tell_variants_apart():
    varied = Cell("diagnostic", 13, generator="ls_pt", text_support=100, selection="mode=random", texts=200, support=0)
    assert varied.columns() == {
        "benchmark": "diagnostic",
        "scale": "tiny",
        "generator": "ls_pt+text_support=100",
        "selection": "mode=random+texts=200",
        "classifier": "bert+support=0",
        "seed": 13,
    }


def test_scale_and_split_are_axes_that_names_and_stages_tell_apart(tmp_path):
    axes = {"scale": "paper", "split_options": "seen_test=9", "generator": "ls_pt", "seed": 13}
    experiment = experiment_of(tmp_path, axes={"benchmark": "semeval"}, cells=[axes])
    planned = steps.plan([experiment])
    assert (
        set(planned["raw"]) == {"semeval"} and experiment.cells[0].columns()["benchmark"] == "semeval+seen_test=9+paper"
    )
    assert planned["split"]["semeval+seen_test=9"]["set"] == "--set split.seen_test=9"
    assert planned["train_filter"]["semeval+seen_test=9+paper-13"]["scale"] == "paper"
    assert (
        next(iter(planned["train_classifier"].values()))["inputs"]
        == "data/splits/semeval+seen_test=9/both_inputs.jsonl"
    )


def test_the_random_split_is_tested_on_its_test_rows_beside_a_seen_test_set(tmp_path):
    axes = {"benchmark": "semeval", "split_options": "seen_test=9", "split": "iid", "generator": "none", "seed": 13}
    planned = steps.plan([experiment_of(tmp_path, axes=axes, cells=[{}])])
    (classifier,) = planned["train_classifier"].values()
    assert classifier["inputs"] == "data/splits/semeval+seen_test=9/iid_test_inputs.jsonl"


def test_an_axis_may_have_a_value_for_each_benchmark(tmp_path):
    axes = {"benchmark": ["diagnostic", "semeval"], "seed": {"diagnostic": [1, 2], "semeval": 3}}
    cells = experiment_of(tmp_path, axes=axes).cells
    assert [(cell.benchmark, cell.seed) for cell in cells] == [("diagnostic", 1), ("diagnostic", 2), ("semeval", 3)]


def test_the_largest_support_set_holds_the_others(tmp_path):
    planned = steps.plan([experiment_of(tmp_path, cells=[{"support": [0, 250]}, {"support": 100}])])
    assert planned["supports"]["diagnostic"] == {
        "benchmark": "diagnostic",
        "corpus": "diagnostic",
        "larger": "diagnostic+support_size=250",
        "sizes": "0 100 250",
    }
    assert planned["split"]["diagnostic+support_size=250"]["set"] == "--set sizes.support_size=250"


def test_texts_for_the_iid_split_are_written_by_a_generator_of_its_own_and_all_are_learned_from(tmp_path):
    cells = [{"split": ["iid", "cg"], "generator": "ls_pt"}]
    planned = steps.plan([experiment_of(tmp_path, axes={"benchmark": "diagnostic", "seed": 5}, cells=cells)])
    assert set(planned["train_generator"]) == {"diagnostic-iid-ls_pt-5", "diagnostic-ls_pt-5"}
    assert planned["train_generator"]["diagnostic-iid-ls_pt-5"]["split"] == "data/iid/diagnostic"
    written = planned["synthesize"]["diagnostic-iid-ls_pt-5"]
    assert written["requests"] == "data/iid/diagnostic/requests.jsonl" and written["split"] == "data/iid/diagnostic"
    assert list(planned["select"]) == ["diagnostic-ls_pt-5"]
    learned = planned["train_classifier"]["diagnostic-iid-ls_pt-bert-5"]
    assert learned["synthetic"] == "data/synthetic/diagnostic-iid-ls_pt-5.jsonl"
    assert learned["train"] == "data/splits/diagnostic/iid_train.jsonl"


def test_what_is_sampled_otherwise_comes_from_the_same_generator(tmp_path):
    experiment = experiment_of(tmp_path, cells=[{"seed": 13, "generator": "ls_pt", "sampling": ["", "guidance=2"]}])
    planned = steps.plan([experiment])
    assert list(planned["train_generator"]) == ["diagnostic-ls_pt-13"]
    plain, guided = (planned["synthesize"][f"diagnostic-ls_pt{words}-13"] for words in ("", "+guidance=2"))
    assert plain["model"] == guided["model"]
    assert (plain["more"], guided["more"]) == ("", " --set synthesis.guidance=2")  # and no space is left without
    assert experiment.cells[1].columns()["generator"] == "ls_pt+guidance=2"


def test_guidance_is_refused_where_no_labels_can_be_held_against_others(tmp_path):
    for generator in ("flan_t5", "coda"):
        experiment = experiment_of(tmp_path, cells=[{"generator": generator, "sampling": "guidance=2"}])
        with pytest.raises(InputError, match=f"sampling: {generator} cannot hold other labels against a request's"):
            experiments.check([experiment], SETTINGS)
    with pytest.raises(InputError, match=r"synthesis.guidance"):
        experiments.check(
            [experiment_of(tmp_path, cells=[{"generator": "ls_pt", "sampling": "guidance=-1"}])], SETTINGS
        )
    with pytest.raises(InputError, match="writes no texts, so nothing of them can vary"):
        experiment_of(tmp_path, cells=[{"generator": "none", "sampling": "guidance=2"}])


def test_a_new_experiment_is_a_few_lines_of_one_file(tmp_path, capsys):
    """No DVC file changes: what the step files run over does."""
    path = tmp_path / "experiments.yaml"
    shipped = (ROOT / experiments.FILE).read_text(encoding="utf-8")
    path.write_text(
        shipped + "\nmine:\n  title: Mine\n  axes: {benchmark: diagnostic, seed: 99}\n  cells:\n  - generator: concat\n"
    )
    where = ["--experiments", str(path), "--params", str(SETTINGS), "--out", str(tmp_path / "experiments")]
    plan_stage.main(["small", *where])
    before = {file: file.read_text() for file in tmp_path.glob("experiments/*/cells.yaml")}
    plan_stage.main(["mine", *where])
    added = {
        line.split(":")[0].strip()
        for file, text in before.items()
        for line in set(file.read_text().splitlines()) - set(text.splitlines())
    }
    backbones = {f'"diagnostic-{role}"' for role in ("encoder", "decoder")}
    assert backbones | {'"diagnostic-99"', '"diagnostic-concat-99"', '"diagnostic-concat-bert-99"'} == {
        name for name in added if "-" in name
    }
    stages = {line for text in before.values() for line in text.splitlines() if line.startswith("  ")}
    assert stages <= {line for file in before for line in file.read_text().splitlines()}  # small stays planned
    capsys.readouterr()
    plan_stage.main(["mine", *where])
    assert capsys.readouterr().out == ""  # the same cells, the same files


ENTRY = {"cmd": "python -m stages.x", "outs": [{"path": "models/x", "hash": "md5", "md5": "0" * 32, "size": 1}]}
CLASSIFIER = "experiments/classifier/dvc.yaml:train_classifier@diagnostic-none-bert-{}"


def test_an_experiment_is_planned_with_its_locks_and_put_away_with_what_was_built(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    shutil.copy(ROOT / "params.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    block = "{}:\n  title: T\n  axes: {{benchmark: diagnostic, seed: {}}}\n  cells:\n  - generator: none\n"
    experiments.FILE.write_text(block.format("one", 1) + block.format("two", 2))
    planning.EXPERIMENTS.mkdir()
    of_one, of_two = (CLASSIFIER.format(seed) for seed in (1, 2))
    built.write(planning.EXPERIMENTS, {of_one: ENTRY})
    kept = (planning.EXPERIMENTS / built.FILE).read_bytes()

    def addresses() -> set[str]:
        return {address for address in planning.addresses(planning.planned()) if "train_classifier" in address}

    planning.put_away()
    assert addresses() == set() and not [*planning.EXPERIMENTS.glob("*/dvc.lock")]
    planning.bring([of_one])  # a stage brings in the experiment that has it
    assert addresses() == {of_one} and built.locks(planning.EXPERIMENTS) == {of_one: ENTRY}
    planning.bring(["two", "parsing"])
    assert addresses() == {of_one, of_two} and planning.planned()["parsing"]["train_parser"]

    lock = planning.EXPERIMENTS / "classifier/dvc.lock"
    dep, other = ({"path": path, "md5": "1" * 32} for path in "ab")
    name, again = of_two.partition(":")[2], ENTRY | {"cmd": "python -m stages.y", "deps": [other, dep, other]}
    stages = read_yaml(lock)["stages"]
    write_json(lock, {"schema": "2.0", "stages": stages | {name: again}})  # JSON is YAML; DVC has built it
    planning.put_away()
    kept_of_two = again | {"deps": [dep, other]}  # each once, in order, however DVC wrote them
    assert built.read(planning.EXPERIMENTS) == {of_one: ENTRY, of_two: kept_of_two} and addresses() == set()
    assert not [*planning.EXPERIMENTS.glob("*/dvc.lock")]
    built.write(planning.EXPERIMENTS, {of_one: ENTRY})
    assert (planning.EXPERIMENTS / built.FILE).read_bytes() == kept  # the same entries, the same bytes

    with pytest.raises(InputError, match="tow: no experiment of .*; did you mean two?"):
        planning.bring(["tow"])
    with pytest.raises(InputError, match="bert-3: no experiment of .* has such a stage"):
        planning.bring([CLASSIFIER.format(3)])
    assert addresses() == set()


def test_targets_are_stages_of_the_graph():
    files = {f"experiments/{folder}/dvc.yaml" for folder in steps.FOLDER.values()}
    written = {file: yaml.safe_load((ROOT / file).read_text(encoding="utf-8"))["stages"] for file in files}
    for experiment in experiments.read(ROOT / experiments.FILE).values():
        planned = steps.plan([experiment])
        for target in steps.targets(experiment):
            file, _, stage = target.partition(":")
            kind, _, name = stage.partition("@")
            assert name in planned[kind] and file == f"experiments/{steps.FOLDER[kind]}/dvc.yaml"
            assert kind in written[file]


def test_a_measure_is_of_one_product_or_of_several(tmp_path):
    several = {"quality": [{"generator": "ls_pt"}, {"generator": "concat", "seed": 13}]}
    cells = experiment_of(tmp_path, measures=several).measures["quality"]
    assert [(cell.generator, cell.seed) for cell in cells] == [("ls_pt", 13), ("ls_pt", 21), ("concat", 13)]
    assert experiment_of(tmp_path, measures={"quality": {"generator": "ls_pt"}}).measures["quality"] == cells[:2]


def test_a_data_map_comes_before_what_it_orders_and_is_of_the_rows_that_it_orders(tmp_path):
    hard = "pacing=linear,first=hard"
    cells = [
        {"subset": "region=hard"},
        {"training": hard},
        {"generator": "ls_pt", "training": [hard, "pacing=all"]},
        {"generator": "ls_pt", "selection": "score=hard"},
        {"generator": "ls_pt", "subset": "region=hard", "text_subset": "region=easy", "options": [hard, "mid_dim=8"]},
    ]
    planned = steps.plan([experiment_of(tmp_path, axes={"benchmark": "diagnostic", "seed": 13}, cells=cells)])
    split = "data/splits/diagnostic"
    assert {name: entry["synthetic"] for name, entry in planned["map_classifier"].items()} == {
        "diagnostic-none-bert-13": f"{split}/no_texts.jsonl",
        "diagnostic-ls_pt-bert-13": "data/synthetic/diagnostic-ls_pt-13.jsonl",
    }
    assert set(planned["map_generator"]) == {"diagnostic-ls_pt-13"}  # trained as always, whatever is done with it
    subsets = {name: (entry["map"], entry["set"]) for name, entry in planned["subset"].items()}
    easy = ("data/maps/diagnostic-ls_pt-13", "--set subset.region=easy")
    assert subsets == {
        "diagnostic-bert+region=hard-13": ("data/maps/diagnostic-none-bert-13", "--set subset.region=hard"),
        f"diagnostic-ls_pt+{hard}+region=easy-13": easy,
        "diagnostic-ls_pt+mid_dim=8+region=easy-13": easy,
    }
    trained, learned = planned["train_classifier"], planned["train_generator"]
    assert trained["diagnostic-none-bert+region=hard-13"]["train"] == (
        "data/subsets/diagnostic-bert+region=hard-13/train.jsonl"
    )
    paced = trained[f"diagnostic-ls_pt-bert+{hard}-13"]
    assert paced["more"] == f"--set classifiers.bert.{hard} --map data/maps/diagnostic-ls_pt-bert-13"
    assert paced["map"] == "data/maps/diagnostic-ls_pt-bert-13" and paced["train"] == f"{split}/train.jsonl"
    plain = trained["diagnostic-ls_pt-bert+pacing=all-13"]
    assert plain["more"] == "--set classifiers.bert.pacing=all" and plain["map"] == plain["backbone"]
    assert planned["select"]["diagnostic-ls_pt-score=hard-13"]["set"] == (
        "--set selection.score=hard --map data/maps/diagnostic-ls_pt-bert-13"
    )
    subset = learned[f"diagnostic-ls_pt+{hard}+region=easy-13"]
    assert subset["split"] == f"data/subsets/diagnostic-ls_pt+{hard}+region=easy-13"
    assert subset["set"] == f"--set generators.ls_pt.{hard} --map data/maps/diagnostic-ls_pt-13"
    written_by = planned["synthesize"][f"diagnostic-ls_pt+{hard}+region=easy-13"]
    assert written_by["split"] == split  # copies of any real text are dropped


def test_the_oracles_texts_stand_in_the_place_of_a_generators(tmp_path):
    cells = [{"generator": "oracle", "options": ["", "right=0.6"]}, {"generator": "oracle", "texts": 600}]
    experiment = experiment_of(tmp_path, axes={"benchmark": "diagnostic", "seed": 42}, cells=cells)
    experiments.check([experiment], SETTINGS)
    planned = steps.plan([experiment])
    whole, partial = "diagnostic-oracle-42", "diagnostic-oracle+right=0.6-42"
    assert {name: entry["right"] for name, entry in planned["mixture"].items()} == {whole: "1", partial: "0.6"}
    texts = {name: entry["synthetic"] for name, entry in planned["train_classifier"].items()}
    assert set(texts.values()) == {f"data/mixtures/{name}.jsonl" for name in (whole, partial)} and len(texts) == 3
    assert not planned["train_generator"] and not planned["select"] and not planned["train_filter"]


WRONG = {
    "no title": ({"title": 3}, "one: an experiment needs `title`"),
    "no products": ({"cells": {}}, "one: an experiment needs `title` and a list `cells`"),
    "an unknown key": ({"cels": []}, "one.cels: unknown key; the keys are title, axes, "),
    "an unknown axis": ({"cells": [{"seeds": [1]}]}, "one.cells[0].seeds: unknown axis; the axes are benchmark, seed"),
    "no benchmark": ({"axes": {"seed": 1}}, "one.cells[0]: the axis benchmark has no value"),
    "an empty axis": ({"cells": [{"seed": []}]}, "one.cells[0].seed: an empty axis makes no cell"),
    "a benchmark without its value": ({"axes": {"benchmark": "own", "seed": {"x": 1}}}, "seed: there is no value for"),
    "an unknown generator": ({"cells": [{"generator": "gpt5"}]}, "one.cells[0].generator: unknown generator 'gpt5'"),
    "an unknown classifier": ({"cells": [{"classifier": "svm"}]}, "one.cells[0].classifier: unknown classifier 'svm'"),
    "an unknown decoding": ({"decodings": ["best"]}, "one.decodings: unknown 'best'; choose from threshold, "),
    "an unknown measure": ({"measures": {"taste": {}}}, "one.measures: unknown 'taste'; choose from quality, "),
    "a seed that is no number": ({"cells": [{"seed": "a"}]}, "one.cells[0].seed: 'a' is not a whole number"),
    "a negative size": ({"cells": [{"support": -1}]}, "one.cells[0].support: -1 is not a whole number"),
    "texts of no generator": ({"cells": [{"texts": 5}]}, "one.cells[0]: generator none writes no texts"),
    "repeats of no texts": (
        {"cells": [{"training": "synthetic_repeat=4"}]},
        "one.cells[0].training: generator none has no texts to repeat",
    ),
    "iid with chosen texts": (
        {"cells": [{"split": "iid", "generator": "ls_pt", "texts": 9}]},
        "the iid split has no support set",
    ),
    "random texts for requests": ({"cells": [{"generator": "linda", "options": "pairs=random"}]}, "answer no request"),
    "a measure of iid texts": ({"measures": {"quality": {"split": "iid", "generator": "ls_pt"}}}, "quality: texts of"),
    "the matched arm without halves": ({"cells": [{"generator": "real_texts"}]}, "real_texts needs `half: [a, b]`"),
    "an oracle with another option": ({"cells": [{"generator": "oracle", "options": "left=1"}]}, "it is right=<share>"),
    "an oracle that is right too often": ({"cells": [{"generator": "oracle", "options": "right=1.5"}]}, "from 0 to 1"),
    "an oracle that is selected": (
        {"cells": [{"generator": "oracle", "selection": "mode=random"}]},
        "are not selected",
    ),
    "a subset of the iid split": ({"cells": [{"split": "iid", "subset": "region=hard"}]}, "no data map of the iid"),
    "a curriculum of other support texts": (
        {"cells": [{"support": 9, "training": "pacing=linear,first=hard"}]},
        "no data map has these texts",
    ),
    "an option without a value": ({"cells": [{"generator": "ls_pt", "options": "x"}]}, "options: 'x'; write key=value"),
    "a product that is a list": ({"cells": [["none"]]}, "one.cells[0]: expected axes and their values"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_mistake_is_one_line_that_names_the_experiment(tmp_path, case):
    block, message = WRONG[case]
    with pytest.raises(InputError) as refused:
        experiment_of(tmp_path, **block)
    assert message in str(refused.value) and "\n" not in str(refused.value)


LATE = {
    "an option no generator has": ({"generator": "ld_vae", "options": "kl_fom=reference"}, "did you mean 'kl_form'?"),
    "a value no option has": ({"generator": "ld_vae", "options": "kl_form=refrence"}, "kl_form: Input should be"),
    "an unknown region": ({"subset": "region=heard"}, "subset.region: Input should be"),
    "a curriculum without a beginning": ({"training": "pacing=linear"}, "pacing exponential or linear, and no other"),
    "a map of a generator without one": (
        {"generator": "flan_t5", "text_subset": "region=hard"},
        "prefix-tuned generators",
    ),
    "a wrong selection": ({"generator": "ld_vae", "selection": "scope=foo"}, "selection.scope: Input should be"),
    "a wrong option of the split": (
        {"split_options": "seen_tes=3"},
        "split.seen_tes: unknown key; did you mean 'seen_test'?",
    ),
    "the split's own size": ({"generator": "ld_vae", "support": 50}, "that support size is the split's own"),
    "halves without a seen test set": ({"half": ["a", "b"]}, "half: diagnostic has no seen test set; set `split_opt"),
    "an oracle of real texts": ({"benchmark": "own", "generator": "oracle"}, "no grammar of own's texts is known"),
    "an unknown benchmark": ({"benchmark": "x"}, "unknown benchmark 'x': there is no "),
    "a scale that the corpus lacks": ({"scale": "paper"}, "there is no scale 'paper'; there is tiny"),
}


@pytest.mark.parametrize("case", LATE)
def test_what_would_fail_in_the_middle_of_a_grid_is_said_before(tmp_path, case):
    cells, message = LATE[case]
    experiment = experiment_of(tmp_path, cells=[cells])
    with pytest.raises(InputError, match="one") as refused:
        experiments.check([experiment], SETTINGS)
    assert message in str(refused.value)


def test_the_shipped_experiments_pass_the_check():
    experiments.check(experiments.read(ROOT / experiments.FILE).values(), SETTINGS)


@pytest.mark.parametrize("text", ["- a\n", "a: [\n", "\xff"])
def test_a_file_that_is_no_mapping_is_one_line(tmp_path, text):
    path = tmp_path / "experiments.yaml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=str(path)):
        experiments.read(path)
