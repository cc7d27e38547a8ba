"""The submission stands on the other parts, and none of them knows it."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("trainer", "reward_workers", "rollout_workers", "corpora", "cpu_platform")


def imported(path: Path) -> set[str]:
    """Top-level packages that a file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("part", PARTS)
def test_no_part_imports_the_submission(part):
    files = list((ROOT / part).rglob("*.py"))
    assert files
    assert [str(path) for path in files if {"launch", "hydra_plugins"} & imported(path)] == []


def test_hydras_plugin_imports_nothing_heavy():
    """Hydra imports it in every command of the project."""
    assert imported(ROOT / "hydra_plugins" / "patternrl_ray_jobs.py") <= {
        "__future__",
        "collections",
        "hydra",
        "omegaconf",
        "typing",
    }
