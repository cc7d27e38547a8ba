"""Examples in docstrings and in docs/verifier.md print what stands below them."""

import doctest
import importlib
import json
import pkgutil
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

import reward_workers.verifier
from reward_workers.verifier import Verifier, case_file, library
from reward_workers.verifier.__main__ import main

ROOT = Path(__file__).parents[2]
WITH_CHILDREN = {"cascade", "library", "symbolic"}
"""Their examples start symbolic children."""
IN_CHILDREN = {"equivalence", "numeric", "symbolic_worker", "__main__"}
"""The first three import the symbolic library, which only children do."""
NAMES = {module.name for module in pkgutil.iter_modules(reward_workers.verifier.__path__)}


def run(module: ModuleType) -> doctest.TestResults:
    return doctest.testmod(module)


def load(name: str) -> ModuleType:
    return importlib.import_module(f"reward_workers.verifier.{name}")


@pytest.mark.parametrize("name", sorted(NAMES - WITH_CHILDREN - IN_CHILDREN))
def test_module(name: str) -> None:
    assert run(load(name)).failed == 0


def test_public_functions_have_examples() -> None:
    for name in ("anls", "explain", "extract", "rules"):
        assert run(load(name)).attempted > 0, name


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`verify` with a deadline that a busy machine does not reach."""
    verifier = Verifier(symbolic_timeout_s=60.0)
    monkeypatch.setattr(library, "_shared", verifier)
    yield
    verifier.close()


@pytest.mark.integration
@pytest.mark.parametrize("name", sorted(WITH_CHILDREN))
def test_module_with_children(name: str, patient: None) -> None:
    results = run(load(name))
    assert results.failed == 0 and results.attempted > 0


@pytest.mark.integration
def test_documentation(patient: None) -> None:
    results = doctest.testfile(str(ROOT / "docs" / "verifier.md"), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert results.failed == 0 and results.attempted > 5


@pytest.mark.integration
def test_the_command_of_the_documentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows that the page shows are those that the command writes, apart from their seconds."""
    blocks = re.findall(r"```jsonl\n(.*?)```", (ROOT / "docs" / "verifier.md").read_text(), re.DOTALL)
    cases, shown = blocks
    monkeypatch.setattr(case_file, "Verifier", partial(Verifier, symbolic_timeout_s=60.0))
    (tmp_path / "cases.jsonl").write_text(cases)
    out = tmp_path / "verdicts.jsonl"
    assert main([str(tmp_path / "cases.jsonl"), "--out", str(out), "--explain", "--workers", "1"]) == 0
    written, expected = ([json.loads(line) for line in text.splitlines()] for text in (out.read_text(), shown))
    assert [row | {"seconds": 0} for row in written] == [row | {"seconds": 0} for row in expected]
