"""The hook that every interpreter of the environment runs: cheap, and installed by a plain `pip install`."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "cpu_platform"


def test_start_costs_under_20_ms_and_imports_nothing_heavy():
    result = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    timings = [line for line in result.stderr.splitlines() if line.endswith("patternrl_cpu.startup")]
    assert timings, "patternrl_cpu.pth did not run: is the distribution installed?"
    cumulative_us = int(timings[0].split("|")[1])
    assert cumulative_us < 20_000
    modules = set(result.stdout.split())
    assert "patternrl_cpu.startup" in modules
    assert not modules & {"torch", "importlib.metadata", "torchvision", "vllm", "verl"}


def test_the_hook_is_set_once():
    from patternrl_cpu import torchvision_ops, vllm_name

    torchvision_ops.install()
    vllm_name.install()
    assert sys.meta_path.count(torchvision_ops.MetaRegistrationsHook) == 1
    assert sys.meta_path.count(vllm_name.VllmNameFinder) == 1
    order = [getattr(finder, "__name__", "") for finder in sys.meta_path]
    assert order.index("VllmNameFinder") > order.index("PathFinder"), "a real vllm must be found first"


def test_imports_are_not_interrupted_by_the_garbage_collector():
    result = subprocess.run(
        [sys.executable, "-c", "import gc; print(*gc.get_threshold())"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert result.stdout.split() == ["50000", "10", "10"]


@pytest.mark.integration
def test_a_wheel_carries_the_hook_beside_the_package(tmp_path):
    copy = tmp_path / "source"
    shutil.copytree(SOURCE, copy)
    code = f"from setuptools import build_meta; build_meta.build_wheel({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=copy, check=True, capture_output=True, timeout=100)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        assert "patternrl_cpu/startup.py" in names
        assert archive.read("patternrl_cpu.pth") == b"import patternrl_cpu.startup\n"
