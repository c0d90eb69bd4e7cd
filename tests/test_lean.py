"""A stage imports neither torch's compiler nor its distributed tensors, and who wants them still has them."""

from __future__ import annotations

import os
import subprocess
import sys

from graph import SRC

HEAVY = ("torch._dynamo.eval_frame", "torch.distributed.fsdp", "torch._inductor", "scipy.optimize")


def run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(SRC)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


LOADED = f"print('heavy:', *[name for name in {HEAVY} if name in sys.modules], sep='')"


def test_a_model_is_built_and_trained_without_the_heavy_parts_and_compiles_all_the_same():
    code = f"""
import sys, torch
from compaug.pretrained import AutoModel
from transformers import BertConfig, BertModel
model = BertModel(BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8))
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
model(torch.tensor([[1, 2]])).last_hidden_state.sum().backward()
optimizer.step()
{LOADED}
doubled = torch.compile(lambda x: x * 2, backend="eager")
print(doubled(torch.ones(2)).tolist(), "torch._dynamo.eval_frame" in sys.modules, torch._dynamo is sys.modules["torch._dynamo"])
"""
    assert run(code).split("\n") == ["heavy:", "[2.0, 2.0] True True"]


def test_under_several_processes_everything_is_as_the_libraries_have_it():
    code = "import sys; from compaug import lean; lean.apply(); print('torch._dynamo' in sys.modules, 'transformers' in sys.modules)"
    assert run(code, WORLD_SIZE="2") == "False False"
    assert run(code, WORLD_SIZE="1") == "True True"
