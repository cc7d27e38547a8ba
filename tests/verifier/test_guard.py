"""The static guard: what may reach the symbolic library."""

import pytest

from reward_workers.verifier.rules.guard import blocked


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("9^{9^{9}}", "guard_exponent"),
        ("9^{9^{9^{9}}}", "guard_tower"),
        ("9^{9^{x}}", "guard_tower"),
        ("e^{x^{20}}", "guard_tower"),
        ("e^{x^{y}}", "guard_tower"),
        ("e^{\\pi^{2}}", "guard_tower"),
        ("99999999!", "guard_factorial"),
        ("((9!)!)!", "guard_factorial"),
        (r"\binom{10^9}{5 * 10^8}", "guard_binomial"),
        ("(a+b+c+d+e+f)^{60}", "guard_expansion"),
        ("1" * 400, "guard_number"),
        ("+".join(f"x_{{{index}}}" for index in range(20)), "guard_variables"),
        ("+".join(["x"] * 100), "guard_size"),
        ("(" * 100 + "x" + ")" * 100, "not_an_expression"),
        (r"\sum_{k=1}^{10} k", "not_an_expression"),
        ("__import__('os')", "not_an_expression"),
        ("banana", "not_an_expression"),
    ],
)
def test_stopped(text: str, reason: str) -> None:
    assert blocked(text) == reason


@pytest.mark.parametrize(
    "text",
    [
        "x^2+3x-4",
        r"\frac{\sqrt{3}}{2}",
        "7*sin(pi*x/5)+1",
        "2^{n+1}",
        r"\binom{9}{3}",
        "n!",
        "5!",
        "e^{-x^{2}/2}",
        "2^{n^2}",
    ],
)
def test_let_through(text: str) -> None:
    assert blocked(text) is None
