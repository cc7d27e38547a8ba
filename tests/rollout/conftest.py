"""Fixtures of the rollout tests: the shipped tiny policy, and workers in one process."""

from __future__ import annotations

import importlib.util
import socket
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def toy_policy() -> Path:
    """Folder of the tiny Qwen3-VL that the project ships."""
    return ROOT / "assets" / "toy" / "policy"


@pytest.fixture(scope="session")
def in_process() -> ModuleType:
    """The module beside this file; test folders are no packages."""
    spec = importlib.util.spec_from_file_location("rollout_in_process", Path(__file__).with_name("in_process.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def free_port() -> int:
    """A TCP port that was free a moment ago."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
