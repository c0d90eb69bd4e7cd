"""The benchmark: its plain variants compute what the product computes, and its command writes a complete report."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from functools import partial
from itertools import pairwise

import pytest
import torch
from graph import ROOT
from tools import bench_paper, bench_runs
from tools.bench_runs import (
    BATCH,
    PRODUCT,
    REDUCED,
    REFERENCE,
    OneByOne,
    Variant,
    bfloat16,
    fill,
    first,
    in_turns,
    of_few_compositions,
    shown,
)

from compaug.core import numerics
from compaug.core.records import Example
from compaug.generators.disentangled.posterior import Posterior, slots
from compaug.training import loop

ROWS = [{"length": 5, "group": at % 3} for at in range(32)]


def test_one_encoder_after_the_other_computes_the_same_moments_and_gradients():
    torch.manual_seed(0)
    joint = Posterior(n_labels=4, width=8, latent=3)
    plain = OneByOne(joint)
    slot = slots([(0, 2), (2,), (1, 2, 3)], 4)
    states, lengths = torch.randn(3, 6, 8), torch.tensor([6, 2, 4])
    moments = [torch.cat(model(states, lengths, **slot)) for model in (joint, plain)]
    torch.testing.assert_close(*moments)

    for values in moments:
        values.square().sum().backward()
    for label in range(4):
        gru = plain.grus[label]
        torch.testing.assert_close(gru.weight_hh_l0.grad, joint.w_hh.grad[label, 0])
        torch.testing.assert_close(gru.weight_ih_l0_reverse.grad, joint.w_ih.grad[label, 1])


def test_variants_take_turns_and_the_first_round_does_not_count():
    calls = []
    variants = {name: lambda name=name: calls.append(name) or 3 for name in "AB"}
    rates = in_turns(variants, rounds=2)
    assert calls == list("ABABAB")
    assert [len(values) for values in rates.values()] == [2, 2]


def test_a_rate_is_printed_as_median_and_range():
    assert shown([30.0, 10.0, 1250.0]) == "30 (10 .. 1,250)"


def test_slow_rates_keep_their_decimals():
    assert shown([0.874, 1.2, 16.4]) == "1.20 (0.87 .. 16)"


def test_a_batch_of_the_reference_has_always_as_many_rows():
    assert fill(list, [1, 2, 3]) == first(BATCH, [1, 2, 3])
    variant = Variant(torch.nn.Identity(), ROWS, partial(fill, lambda rows: {"input_ids": torch.zeros(len(rows), 1)}))
    assert variant.filled() == len(ROWS) / (3 * BATCH)  # compositions of 11, 11 and 10 texts


def test_some_eleven_texts_have_each_composition_so_that_a_batch_is_as_full_as_the_references():
    examples = [Example(str(at), "a text", (at // 4 % 8, 8 + at % 3)) for at in range(96)]
    sizes = Counter(e.labels for e in of_few_compositions(examples)).values()
    assert len(sizes) == 9 and set(sizes) == {10, 11}


def test_the_precision_is_that_of_the_variant_and_then_what_it_was(monkeypatch):
    monkeypatch.setenv("COMPAUG_CPU", "native")
    with bfloat16(False):
        assert not numerics.native()
        with bfloat16(True):
            assert numerics.native()
    assert os.environ["COMPAUG_CPU"] == "native"


@pytest.mark.slow
def test_only_the_last_variant_is_in_bfloat16(tmp_path, monkeypatch):
    monkeypatch.setenv("COMPAUG_CPU", "native")
    if not loop.reduced(loop.device()):
        pytest.skip("no bfloat16 here")
    small = bench_runs.setup(tmp_path, ROOT / "params.yaml", bench_runs.QUICK)
    variants = bench_runs.training_variants(bench_paper.setup(small, bench_paper.QUICK))
    precisions = {name: variant.model.decoder.model.dtype for name, variant in variants.items()}
    assert precisions.pop(REDUCED) == torch.bfloat16
    assert set(precisions.values()) == {torch.float32} and PRODUCT in precisions


def written(tmp_path, *options: str) -> str:
    """What the command reports, run at toy sizes."""
    report = tmp_path / "bench.md"
    done = subprocess.run(
        [sys.executable, "-m", "tools.bench", "--out", str(report), "--quick", *options],
        check=False,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    text = report.read_text(encoding="utf-8")
    assert f"{os.cpu_count()} CPU cores" in text and torch.__version__ in text
    for path in (tmp_path, ROOT, "/tmp"):
        assert str(path) not in text
    lines = text.splitlines()
    # Markdown wants an empty line before a title
    assert all(not before for before, line in pairwise(lines) if line.startswith("#"))
    return text


@pytest.mark.slow
def test_the_command_writes_a_report_with_every_comparison_and_no_path(tmp_path):
    text = written(tmp_path)
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# Fast against plain",
        "## 1. Training LD-VAE",
        "## 2. Synthesis",
        "## 3. Filtering",
        "## 4. Classifiers",
        "## 5. Reading, splitting, auditing",
        "## 6. Training LINDA",
        "## 7. Data maps",
    ]
    for variant in (
        REFERENCE,
        "plain",
        PRODUCT,
        "one at a time",
        "padded, one at a time",
        "batches by length",
        "t5_clp",
        "raw",
        "split",
        "audit_split",
        "linda",
        "linda_prefix, plain fine-tuning",
        "dynamics during",
    ):
        assert f"| {variant} | " in text
    assert REDUCED not in text


@pytest.mark.slow
def test_the_other_report_has_the_papers_sizes_and_bfloat16_where_there_is_that(tmp_path, monkeypatch):
    monkeypatch.setenv("COMPAUG_CPU", "native")
    text = written(tmp_path, "--paper")
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# Fast against plain, at the paper's sizes",
        "## 1. Training LD-VAE",
        "## 2. Synthesis",
        "## 3. Filtering",
    ]
    assert text.count(f"| {REDUCED} |") == (2 if loop.reduced(loop.device()) else 0)
