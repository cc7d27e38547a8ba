"""The static guard: which expressions may reach the symbolic library at all (policy 13).

It looks at the tree only and evaluates nothing larger than a small rational. What it stops stays unresolved.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from reward_workers.verifier.rules.notation.expression import Node, NotAnExpression, parse, variables, walk
from reward_workers.verifier.rules.notation.rational import rational_value

MAX_NODES = 160
MAX_VARIABLES = 8
MAX_FUNCTIONS = 10
MAX_ROOT_DEPTH = 6
MAX_EXPONENT = 1000
MAX_POWER_IN_EXPONENT = 4
MAX_FACTORIAL = 200
MAX_BINOMIAL = 500
MAX_EXPANSION = 400
MAX_INTEGER_BITS = 512

_BOUNDED = ("num", "fact", "binom", "pow")
"""Operators with a limit of their own."""


@lru_cache(maxsize=4096)
def blocked(text: str) -> str | None:
    """Reason why this canonical text must not reach the symbolic library; None when it may."""
    try:
        node = parse(text)
    except NotAnExpression:
        return "not_an_expression"
    return blocked_tree(node)


def blocked_tree(node: Node) -> str | None:
    """The same for a tree."""
    nodes = list(walk(node))
    if len(nodes) > MAX_NODES:
        return "guard_size"
    kinds = [child[0] for child in nodes]
    if kinds.count("var") > MAX_VARIABLES and len(variables(node)) > MAX_VARIABLES:
        return "guard_variables"
    if kinds.count("fn") + kinds.count("log") > MAX_FUNCTIONS:
        return "guard_functions"
    if kinds.count("pow") > MAX_ROOT_DEPTH and _root_depth(node) > MAX_ROOT_DEPTH:
        return "guard_roots"
    for child in nodes:
        reason = _blocked_node(child) if child[0] in _BOUNDED else None
        if reason is not None:
            return reason
    return None


def _root_depth(node: Node) -> int:
    deepest = 0
    for child in node[1:]:
        if isinstance(child, tuple):
            deepest = max(deepest, _root_depth(child))
    return deepest + int(node[0] == "pow" and node[2][0] == "div")


def _blocked_node(node: Node) -> str | None:
    kind = node[0]
    if kind == "num" and max(node[1].numerator.bit_length(), node[1].denominator.bit_length()) > MAX_INTEGER_BITS:
        return "guard_number"
    if kind == "fact":
        return None if _is_small(node[1], MAX_FACTORIAL) or node[1][0] == "var" else "guard_factorial"
    if kind == "binom":
        return None if all(_is_small(part, MAX_BINOMIAL) for part in node[1:]) else "guard_binomial"
    if kind == "pow":
        return _blocked_power(node[1], node[2])
    return None


def _is_small(node: Node, limit: int) -> bool:
    value = rational_value(node)
    return value is not None and abs(value) <= limit


def _blocked_power(base: Node, exponent: Node) -> str | None:
    value = rational_value(exponent)
    if value is None and any(child[0] == "pow" and not _is_small_power(child) for child in walk(exponent)):
        return "guard_tower"
    if value is None:
        return None if not any(child[0] in ("fact", "binom") for child in walk(exponent)) else "guard_tower"
    if abs(value) > MAX_EXPONENT:
        return "guard_exponent"
    terms = _terms(base)
    if terms > 1 and abs(value) > 1 and variables(base) and Fraction(terms) ** int(abs(value)) > MAX_EXPANSION:
        return "guard_expansion"
    return None


def _is_small_power(node: Node) -> bool:
    """``x^2`` as in ``e^{-x^2}``: variables to a small constant power."""
    exponent = rational_value(node[2])
    return exponent is not None and abs(exponent) <= MAX_POWER_IN_EXPONENT and bool(variables(node[1]))


def _terms(node: Node) -> int:
    if node[0] == "add":
        return _terms(node[1]) + _terms(node[2])
    return _terms(node[1]) if node[0] == "neg" else 1
