"""Write a tree as an expression of the symbolic library, for math-verify's comparison; in the symbolic child only.

The tree goes over operator by operator, so that nothing is read twice: a LaTeX parser between the two took 90 % of the
time of a question and could only lose what the tree already says.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import sympy

from reward_workers.verifier.rules.notation.expression import Node, walk

_FUNCTIONS = {
    "sin": sympy.sin, "cos": sympy.cos, "tan": sympy.tan, "cot": sympy.cot, "sec": sympy.sec, "csc": sympy.csc,
    "sinh": sympy.sinh, "cosh": sympy.cosh, "tanh": sympy.tanh, "arcsin": sympy.asin, "arccos": sympy.acos,
    "arctan": sympy.atan, "ln": sympy.log, "exp": sympy.exp,
}  # fmt: skip
_CONSTANTS = {"pi": sympy.pi, "e": sympy.E, "i": sympy.I}
_OPERATORS = {
    "add": sympy.Add, "mul": sympy.Mul, "pow": sympy.Pow, "fact": sympy.factorial, "binom": sympy.binomial,
    "abs": sympy.Abs, "log": sympy.log,
}  # fmt: skip


@lru_cache(maxsize=2048)
def to_sympy(node: Node) -> Any:
    """Expression of a tree; variables are real unless the imaginary unit occurs, as math-verify's parser has them."""
    return _expression(node, ("const", "i") not in walk(node))


def _expression(node: Node, real: bool) -> Any:
    kind = node[0]
    if kind == "num":
        return sympy.Rational(node[1].numerator, node[1].denominator)
    if kind == "var":
        return sympy.Symbol(node[1], real=True if real else None)
    if kind == "const":
        return _CONSTANTS[node[1]]
    if kind == "fn":
        return _FUNCTIONS[node[1]](_expression(node[2], real))
    parts = [_expression(child, real) for child in node[1:]]
    if kind == "neg":
        return -parts[0]
    if kind == "div":
        return parts[0] / parts[1]
    if kind == "deg":
        return parts[0] * sympy.pi / 180
    return _OPERATORS[kind](*parts)
