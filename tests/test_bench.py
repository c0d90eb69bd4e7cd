"""The benchmark: its plain variants compute what the product computes, and its command writes a complete report."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch
from graph import ROOT

from compaug.bench import OneByOne, in_turns, shown
from compaug.generators.posterior import Posterior, slots


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


@pytest.mark.slow
def test_the_command_writes_a_report_with_every_comparison_and_no_path(tmp_path):
    report = tmp_path / "bench.md"
    done = subprocess.run(
        [sys.executable, "-m", "stages.bench", "--out", str(report), "--quick"],
        check=False,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    text = report.read_text(encoding="utf-8")
    titles = [line for line in text.splitlines() if line.startswith("#")]
    assert titles == [
        "# Fast against plain",
        "## 1. Training LD-VAE",
        "## 2. Synthesis",
        "## 3. Filtering",
        "## 4. Classifiers",
        "## 5. Reading, splitting, auditing",
        "## 6. Training LINDA",
        "## 7. Data maps",
        "## 8. At the paper's sizes",
        "### Training LD-VAE",
        "### Synthesis",
        "### Filtering",
    ]
    for variant in (
        "plain",
        "+ joint encoders",
        "one at a time",
        "padded, one at a time",
        "batches by length",
        "t5_clp",
        "raw",
        "split",
        "audit",
        "linda",
        "linda_prefix, plain fine-tuning",
        "dynamics during",
    ):
        assert f"| {variant} | " in text
    assert f"{os.cpu_count()} CPU cores" in text and torch.__version__ in text
    for path in (tmp_path, ROOT, "/tmp"):
        assert str(path) not in text
