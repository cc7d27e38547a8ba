"""The CPU platform in verl: there with the plugin, missing without, away where torch has a GPU build."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.integration

REPORT = (
    "from verl.plugin.platform import get_platform\n"
    "from verl.utils.device import get_device_name, get_nccl_backend, get_torch_device, get_device_id\n"
    "device = get_torch_device()\n"
    "print(get_device_name(), get_nccl_backend(), get_platform().ray_resource_name(), get_device_id(),\n"
    "      device.is_available(), device.max_memory_allocated() > 10_000_000, device.mem_get_info()[1] > 10**9)\n"
)
GROUP = (
    "from verl.utils.distributed import initialize_global_process_group_ray as start\n"
    "start(timeout_second=20)\n"
    "import torch.distributed as group\n"
    "print(group.get_backend())\n"
)


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("VERL_")}
    clean |= {"OMP_NUM_THREADS": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0", **environment}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, env=clean)


def rendezvous(tmp_path) -> str:
    return f"file://{tmp_path}/rendezvous"


def test_verl_runs_on_the_cpu_platform():
    result = run("import verl\n" + REPORT)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["cpu", "gloo", "GPU", "cpu", "True", "True", "True"]


def test_verl_has_no_cpu_platform_of_its_own():
    result = run("import verl\n" + REPORT, VERL_USE_EXTERNAL_PLUGINS="none")
    assert "cpu gloo" not in result.stdout, "verl has a CPU platform: verl_platform.py can go"


def test_a_process_group_starts(tmp_path):
    result = run("import verl\n" + GROUP, DIST_INIT_METHOD=rendezvous(tmp_path))
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "cpu:gloo"


def test_a_process_group_does_not_start_without_the_patch(tmp_path):
    unpatched = (
        "import verl\nfrom verl.utils import distributed\n"
        "name = 'initialize_global_process_group_ray'\n"
        "setattr(distributed, name, getattr(distributed, name).__wrapped__)\n"
    )
    result = run(unpatched + GROUP, DIST_INIT_METHOD=rendezvous(tmp_path))
    assert result.returncode != 0, "verl names the CPU once: one_backend_a_device can go"
    assert "cpu" in result.stderr
    assert "Duplicate device type" in result.stderr


def test_the_engine_override_is_still_needed_and_still_honoured():
    code = (
        "import verl, os\nfrom verl.workers.engine import EngineRegistry\n"
        "print(EngineRegistry.get_engine_cls('language_model', 'fsdp2').__name__)\n"
        "del os.environ['VERL_ENGINE_DEVICE']\n"
        "try: EngineRegistry.get_engine_cls('language_model', 'fsdp2')\n"
        "except ValueError as missing: print(missing)\n"
    )
    result = run(code)
    assert result.returncode == 0, result.stderr
    found, missing = result.stdout.strip().splitlines()
    assert found.startswith("FSDPEngine")
    assert "No engine registered for device='cpu'" in missing


ENGINES = (
    "import verl, sys\n{}from verl import checkpoint_engine\n"
    "print(checkpoint_engine.HCCLCheckpointEngine, 'vllm' in sys.modules)\n"
)


def test_the_trainer_does_not_load_vllm_for_an_engine_that_is_not_there():
    result = run(ENGINES.format(""))
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["None", "False"]


def test_without_the_patch_vllm_is_loaded_and_the_engine_is_missing_all_the_same():
    result = run(ENGINES.format("del sys.modules['verl.checkpoint_engine.hccl_checkpoint_engine']\n"))
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["None", "True"], "verl asks for the NPU first: no_ascend_checkpoints can go"


def test_nothing_happens_where_torch_has_a_gpu_build():
    code = (
        "import torch, os, sys\ntorch.version.cuda = '13.0'\nimport verl\n"
        "from verl.plugin.platform.platform_manager import PlatformRegistry\n"
        "from verl.utils import distributed\n"
        "print(PlatformRegistry.get('cpu'), 'VERL_ENGINE_DEVICE' in os.environ, 'VERL_PLATFORM' in os.environ,\n"
        "      hasattr(distributed.initialize_global_process_group_ray, '__wrapped__'),\n"
        "      'verl.checkpoint_engine.hccl_checkpoint_engine' in sys.modules)\n"
    )
    result = run(code)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["None", "False", "False", "False", "False"]


def test_another_verl_is_refused_where_verl_asks_for_its_platform():
    code = "from patternrl_cpu import verl_patches\nverl_patches.VERL = '0.1.0'\nimport verl\n" + REPORT
    result = run(code)
    assert result.returncode != 0
    assert "UpstreamChanged: patternrl-cpu-platform patches verl/utils/distributed.py:89" in result.stderr
    assert "Install verl==0.1.0" in result.stderr
