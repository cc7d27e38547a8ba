"""Trees as expressions of the symbolic library; expected values are written with that library by hand."""

from typing import Any

import pytest
import sympy

from reward_workers.verifier.rules.notation.expression import parse
from reward_workers.verifier.symbolic.sympy_tree import to_sympy

x, y = sympy.symbols("x y", real=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\frac{6}{8}", sympy.Rational(3, 4)),
        ("0.125", sympy.Rational(1, 8)),
        ("x^2+3x-4", x**2 + 3 * x - 4),
        ("-(x-y)", y - x),
        (r"\frac{x}{y}", x / y),
        (r"\sqrt[3]{x}", sympy.Pow(x, sympy.Rational(1, 3))),
        (r"\log_{2} x", sympy.log(x) / sympy.log(2)),
        (r"\log 100", sympy.Integer(2)),
        (r"\ln x", sympy.log(x)),
        (r"e^{2x}", sympy.exp(2 * x)),
        (r"2\pi x", 2 * sympy.pi * x),
        (r"\sin^{-1}(x)", sympy.asin(x)),
        (r"\cos 60°", sympy.Rational(1, 2)),
        (r"\binom{9}{3}", sympy.Integer(84)),
        ("5!", sympy.Integer(120)),
        (r"|x|", sympy.Abs(x)),
        ("3+4i", 3 + 4 * sympy.I),
    ],
)
def test_same_expression(text: str, expected: Any) -> None:
    assert to_sympy(parse(text)) == expected


def test_variables_are_real_unless_the_imaginary_unit_occurs() -> None:
    assert to_sympy(parse("x+1")).free_symbols == {sympy.Symbol("x", real=True)}
    assert to_sympy(parse("x+i")).free_symbols == {sympy.Symbol("x")}


def test_a_subscript_is_part_of_the_name() -> None:
    assert {symbol.name for symbol in to_sympy(parse("x_1+x_{2}")).free_symbols} == {"x_1", "x_2"}
