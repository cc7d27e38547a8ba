"""Every reason code of the source has its meaning, every meaning its code, and the documentation the same tables."""

import ast
import json
import re
from pathlib import Path

import pytest

from foundation.runs.records import Verdict
from reward_workers.verifier import explain, verify_rules
from reward_workers.verifier.reason_tables import MARKS, markdown_tables, renew
from reward_workers.verifier.reasons import PREFIXES, RIGHT, UNRESOLVED, WRONG

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "reward_workers" / "verifier"
NEVER_A_VERDICT = {"ok", "not_identical", "not_asked", "infinite_end", "other_bracket"}
"""Codes between two rules: the rule that takes them gives its own."""
CODE = re.compile(r"[a-z]+(?:_[a-z]+)+")
VALUES = {1: RIGHT, 0: WRONG, None: UNRESOLVED}


def texts(node: ast.expr) -> set[str]:
    """Strings that an expression may be."""
    if isinstance(node, ast.Constant):
        return {node.value} if isinstance(node.value, str) else set()
    if isinstance(node, ast.IfExp):
        return texts(node.body) | texts(node.orelse)
    return set()


def numbers(node: ast.expr) -> set[int | None]:
    """Verdict values that an expression may be; both decided ones when it is computed."""
    if isinstance(node, ast.Constant):
        return {node.value}
    if isinstance(node, ast.IfExp):
        return numbers(node.body) | numbers(node.orelse)
    return {0, 1}


def codes_of(path: Path) -> set[tuple[str, int | None]]:
    """(reason, value) of each outcome that a file makes."""
    found: set[tuple[str, int | None]] = set()

    def note(codes: set[str], values: set[int | None]) -> None:
        found.update((code, value) for code in codes for value in values)

    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef) and node.returns is not None and ast.unparse(node.returns) == "str | None":
            # such functions say why something stays open: the guard, for one
            returned = [part.value for part in ast.walk(node) if isinstance(part, ast.Return) and part.value]
            note({t for value in returned for t in texts(value) if CODE.fullmatch(t)}, {None})
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name == "Outcome":
                note(texts(node.args[1]), numbers(node.args[0]))
            elif name == "Extraction":
                note(texts(node.args[1]), {0})
            elif name == "all_of":
                note(texts(node.args[1]), {1})
                note(texts(node.args[2]), {0})
            elif name == "ChildLost":
                note(texts(node.args[0]), {None})
            elif name == "replace":
                note({t for word in node.keywords if word.arg == "reason" for t in texts(word.value)}, {None})
        elif isinstance(node, ast.Dict):
            note({t for key, value in zip(node.keys, node.values, strict=True)
                  if isinstance(key, ast.Constant) and key.value == "lost" for t in texts(value)}, {None})  # fmt: skip
    return found


IN_SOURCE = {pair for path in sorted(SOURCE.rglob("*.py")) for pair in codes_of(path) if pair[0] not in NEVER_A_VERDICT}


def test_the_scan_finds_the_codes_of_each_kind_of_place() -> None:
    assert {
        ("no_box", 0),
        ("equal_number", 1),
        ("guard_tower", None),
        ("same_parts", 1),
        ("other_part", 0),
        ("symbolic_died", None),
        ("too_many_questions", None),
        ("rules_timeout", None),
        ("rules_died", None),
        ("no_variable", None),
    } <= IN_SOURCE


@pytest.mark.parametrize("value", [1, 0, None])
def test_every_code_has_a_meaning_for_its_verdict(value: int | None) -> None:
    assert {code for code, given in IN_SOURCE if given == value} - VALUES[value].keys() == set()


@pytest.mark.parametrize("value", [1, 0, None])
def test_every_meaning_belongs_to_a_code(value: int | None) -> None:
    assert VALUES[value].keys() - {code for code, given in IN_SOURCE if given == value} == set()


def test_codes_that_end_with_an_exception_are_in_the_source() -> None:
    source = "".join(path.read_text() for path in SOURCE.rglob("*.py"))
    assert all(f'f"{prefix}{{' in source for prefix in PREFIXES)


def test_every_public_case_can_be_explained() -> None:
    for line in (ROOT / "tests" / "data" / "verifier" / "cases_public.jsonl").read_text().splitlines():
        case = json.loads(line)
        verdict = verify_rules(case["response"], case["reference"], case["answer_type"])
        name = {1: "Right: ", 0: "Wrong: ", None: "Unresolved: "}[verdict.value]
        assert explain(verdict, case["reference"]).startswith(name)


def test_sentences() -> None:
    assert explain(Verdict(0, "extract", "no_box"), "7") == (
        'Wrong: the visible text has no boxed answer. Answer none, reference "7".'
    )
    assert "the symbolic library failed" in explain(Verdict(None, "symbolic", "symbolic_error_TypeError", "x"), "y")
    shown = explain(Verdict(0, "typed", "different_number", "\x1b[2J" + "9" * 500), "7")
    assert "\x1b" not in shown and "\\u001b[2J999" in shown and len(shown) < 250


def test_a_reason_of_another_part_is_an_error() -> None:
    with pytest.raises(ValueError, match="reason='judge_correct' with value=1"):
        explain(Verdict(1, "judge", "judge_correct", "7"), "7")


def test_the_documentation_holds_the_tables() -> None:
    """When this fails: python -m reward_workers.verifier.reason_tables docs/verifier.md."""
    assert markdown_tables() in (ROOT / "docs" / "verifier.md").read_text()


def test_the_tables_of_a_document_are_renewed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{MARKS[0]}\nold\n{MARKS[1]}\nafter\n")
    renew(page)
    renew(page)
    assert page.read_text() == f"before\n{MARKS[0]}\n\n{markdown_tables()}\n{MARKS[1]}\nafter\n"
    page.write_text("no marks")
    with pytest.raises(ValueError, match=r"page\.md has no <!-- reasons: begin"):
        renew(page)
