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
from reward_workers.verifier import Verifier, library
from reward_workers.verifier.__main__ import main
from reward_workers.verifier.batch import case_file

ROOT = Path(__file__).parents[2]
WITH_CHILDREN = {"cascade", "library", "symbolic.pool"}
"""Their examples start symbolic children."""
IN_CHILDREN = {"symbolic.equivalence", "symbolic.numeric", "symbolic.child_program", "__main__"}
"""The first two import the symbolic library, which only children do; the others are programs."""
PREFIX = "reward_workers.verifier."
NAMES = {
    module.name.removeprefix(PREFIX)
    for module in pkgutil.walk_packages(reward_workers.verifier.__path__, PREFIX)
    if not module.ispkg
}


def run(module: ModuleType) -> doctest.TestResults:
    return doctest.testmod(module)


def load(name: str) -> ModuleType:
    return importlib.import_module(f"{PREFIX}{name}")


@pytest.mark.parametrize("name", sorted(NAMES - WITH_CHILDREN - IN_CHILDREN))
def test_module(name: str) -> None:
    assert run(load(name)).failed == 0


def test_public_functions_have_examples() -> None:
    for name in ("rules.anls", "explain", "rules.extract", "rules.decide"):
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
