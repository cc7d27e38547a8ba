"""What all tests share.

A run without integration tests does not import the files that hold nothing else. Those files import torch, verl or vLLM
at their top. Left out unread, the unit tests start faster, and they run in an environment that has none of these
(`make test-unit-light`).

YAML is read by libyaml: the tests compose the configuration some two hundred times, each time from seventy files.
OmegaConf's loader (2.3, omegaconf/_utils.py:136) derives from PyYAML's Python loader; derived from the C one it reads
the same, and a composition takes 0.66 s instead of 0.92.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
import yaml
from omegaconf import _utils

LEFT_OUT = ("integration", "e2e")


def marks_of_file(path: Path) -> set[str]:
    """Names of the marks that a test file puts on all its tests (`pytestmark`)."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "pytestmark" for target in node.targets):
            return {part.attr for part in ast.walk(node.value) if isinstance(part, ast.Attribute)}
    return set()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    chosen = str(config.option.markexpr)
    if collection_path.suffix != ".py" or not collection_path.name.startswith("test_"):
        return None
    return (
        True if any(f"not {mark}" in chosen and mark in marks_of_file(collection_path) for mark in LEFT_OUT) else None
    )


@pytest.fixture(scope="session", autouse=True)
def libyaml() -> Iterator[None]:
    """Nothing changes where PyYAML was built without libyaml."""
    with mock.patch.object(yaml, "SafeLoader", yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader):
        loader = _utils.get_yaml_loader()
    with mock.patch.object(_utils, "get_yaml_loader", return_value=loader):
        yield
