"""Extraction of the boxed answer (policy 1)."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reward_workers.verifier import extract_boxed


@pytest.mark.parametrize(
    ("visible", "content", "reason"),
    [
        (r"a \boxed{1} b \boxed{\frac{1}{2}} c", r"\frac{1}{2}", "ok"),
        (r"\boxed{ 7 }", "7", "ok"),
        (r"\boxed {7}", "7", "ok"),
        (r"\boxed 7", "7", "ok"),
        (r"\boxed7 then \boxed{8}", "8", "ok"),
        (r"\boxed{\boxed{56}}", "56", "ok"),
        (r"\boxed{\{1,2\}}", r"\{1,2\}", "ok"),
        (r"\boxed{a \\{b} c}", r"a \\{b} c", "ok"),
        (r"\boxed{\text{set \} of}}", r"\text{set \} of}", "ok"),
        ("nothing", None, "no_box"),
        (r"\boxed as asked", None, "no_box"),
        (r"\boxed{}", None, "empty_box"),
        (r"\boxed{5} and then \boxed{}", None, "empty_box"),
        (r"\boxed{5} and then \boxed{\frac{1}{2}", None, "unclosed_box"),
        (r"<think>\boxed{5}</think> six", None, "no_box"),
        (r"<think>\boxed{5}", None, "unclosed_think"),
        (r"<think>x</think>\boxed{5}<think>y", None, "unclosed_think"),
        (r"<think>a</think> b </think> \boxed{6}", "6", "ok"),
    ],
)
def test_box(visible: str, content: str | None, reason: str) -> None:
    found = extract_boxed(visible)
    assert (found.content, found.reason) == (content, reason)


def test_counts_boxes() -> None:
    assert extract_boxed(r"$x=\boxed{3}$, $y=\boxed{5}$").n_boxes == 2


@given(st.text(alphabet="\\boxed{} 7<think>/", max_size=200))
def test_any_text_is_handled(text: str) -> None:
    found = extract_boxed(text)
    assert (found.content is None) == (found.reason != "ok")


@given(st.text(alphabet="ab{}1", max_size=60).filter(lambda s: s.strip() == s and s))
def test_balanced_content_comes_back(content: str) -> None:
    depth = 0
    for character in content:
        depth += (character == "{") - (character == "}")
        if depth < 0:
            return
    if depth == 0:
        assert extract_boxed("so \\boxed{" + content + "} ok").content == content


@pytest.mark.parametrize(
    "piece",
    ["\\boxed{", "\\boxed", "{", "\\boxed   ", "\\", "<think>", "\\boxed{1}", "\\{"],
    ids=lambda piece: repr(piece),
)
def test_linear_time(piece: str) -> None:
    """100 KB of any repeated piece; a quadratic scan takes minutes."""
    text = piece * (100_000 // len(piece))
    started = time.perf_counter()
    extract_boxed(text)
    assert time.perf_counter() - started < 1.0
