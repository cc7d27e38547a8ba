"""The declared operators: needed with this torchvision, enough, and absent where torchvision's own load."""

import importlib.metadata
import subprocess
import sys
import types

import pytest

WITHOUT_HOOK = (
    "import sys\nsys.meta_path = [f for f in sys.meta_path if getattr(f, '__name__', '') != 'MetaRegistrationsHook']\n"
)


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)


@pytest.mark.integration
def test_torchvision_does_not_import_without_the_hook():
    if importlib.metadata.version("torchvision").endswith("+cpu"):
        pytest.skip("this torchvision is a CPU build: the hook has nothing to do")
    result = run(WITHOUT_HOOK + "import torchvision")
    assert result.returncode != 0, "torchvision imports beside a CPU torch by itself: torchvision_ops.py can go"
    assert "operator torchvision::nms does not exist" in result.stderr


@pytest.mark.integration
def test_torchvision_imports_with_the_hook_and_its_operators_still_say_that_they_are_missing():
    result = run(
        "import torch, torchvision, torchvision.transforms.v2\n"
        "from torchvision.extension import _has_ops\n"
        "if not _has_ops():\n"
        "    try: torch.ops.torchvision.nms(torch.zeros(1, 4), torch.zeros(1), 0.5)\n"
        "    except NotImplementedError: print('no implementation')\n"
        "else: print('no implementation')\n"
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "no implementation"


def test_operators_that_loaded_are_left_alone(monkeypatch):
    from patternrl_cpu import torchvision_ops

    loaded = types.SimpleNamespace(_has_ops=lambda: True)
    monkeypatch.setitem(sys.modules, "torchvision.extension", loaded)
    monkeypatch.setattr(torchvision_ops, "_declared", [])
    torchvision_ops.declare_missing_operators()
    assert torchvision_ops._declared == []


@pytest.mark.integration
def test_another_torchvision_is_refused(monkeypatch):
    from patternrl_cpu import torchvision_ops, upstream

    monkeypatch.setitem(sys.modules, "torchvision.extension", types.SimpleNamespace(_has_ops=lambda: False))
    monkeypatch.setattr(torchvision_ops, "TORCHVISION", "0.1.0")
    with pytest.raises(upstream.UpstreamChanged, match=r"read in torchvision 0\.1\.0; installed: 0\.28\.0"):
        torchvision_ops.declare_missing_operators()
