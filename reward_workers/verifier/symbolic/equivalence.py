"""Are two expressions, or two equations, equal? Runs in the symbolic child process only (policy 10).

1 needs two independent witnesses: math-verify says equal and our own numeric check agrees at every point. 0 needs a
point where the values differ. Everything else stays unresolved.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath  # type: ignore[import-untyped]
from math_verify import verify

from reward_workers.verifier.rules import guard
from reward_workers.verifier.rules.notation import expression
from reward_workers.verifier.rules.notation.equation import sides
from reward_workers.verifier.rules.notation.expression import Node, variables, walk
from reward_workers.verifier.rules.notation.number import Number, parse_number, rounds_to
from reward_workers.verifier.rules.notation.rational import rational_value
from reward_workers.verifier.rules.outcome import Outcome, Question
from reward_workers.verifier.symbolic import numeric
from reward_workers.verifier.symbolic.sympy_tree import to_sympy

_CLEARLY_DIFFERENT = mpmath.mpf(10) ** -20
_DECIMALS_DIFFERENT = mpmath.mpf(5) / 100
"""A decimal within an expression may be a rounding: only a large difference proves another value."""
_CLEARLY_OFF_CURVE = mpmath.mpf(10) ** -6
_MAX_DEGREE = 10
"""Largest degree in one variable for which points of a curve are looked for."""


def decide(question: Question) -> Outcome:
    """Answer one question; never raises for model text."""
    with mpmath.workdps(numeric.DIGITS):
        try:
            if question.relation == "equation":
                return _equations(question)
            return _expressions(question)
        except expression.NotAnExpression:
            return Outcome(None, "not_an_expression")


def _tree(text: str) -> Node:
    node = expression.parse(text)
    stopped = guard.blocked_tree(node)
    if stopped is not None:
        raise expression.NotAnExpression(stopped)
    return node


def _expressions(question: Question) -> Outcome:
    answer, reference = _tree(question.answer), _tree(question.reference)
    names = sorted(variables(answer) | variables(reference))
    if not names:
        rounded = _rounding(answer, reference, parse_number(question.answer), parse_number(question.reference))
        if rounded is not None:
            return rounded
    if _look_alike(names):
        return Outcome(None, "letter_case")
    threshold = _DECIMALS_DIFFERENT if "." in question.answer + question.reference else _CLEARLY_DIFFERENT
    return _compare_at_points(answer, reference, names, threshold)


def _look_alike(names: list[str]) -> bool:
    """Two names that differ in nothing but case, or as ``\\phi`` and ``\\varphi`` do."""
    return len({name.lower().removeprefix("var") for name in names}) != len(names)


def _rounding(answer: Node, reference: Node, a: Number | None, r: Number | None) -> Outcome | None:
    """A constant against a decimal: rounding by policy 3; None when neither side is a rounded number."""
    if r is not None and r.ulp is not None:
        value = _exact(answer)
        if value is None:
            return None
        if rounds_to(value, r.value, r.ulp) is not True:
            return Outcome(0, "does_not_round_to_reference")
        return Outcome(None, "rounding_convention") if r.scientific else Outcome(1, "rounds_to_reference")
    if a is not None and a.value != 0 and (a.ulp is not None or a.value.denominator == 1):
        value = _exact(reference)
        if value is None or value == a.value:
            return None
        if rounds_to(value, a.value, a.ulp or Fraction(1)) is not False:
            return Outcome(None, "coarser_rounding")
        return Outcome(0, "no_rounding_of_reference")
    return None


def _exact(node: Node) -> Fraction | None:
    """A real constant as a fraction good to 45 digits."""
    try:
        value = numeric.evaluate(node, {})
    except numeric.Undefined:
        return None
    if not numeric.is_real(value) or abs(value) > mpmath.mpf(10) ** 60:
        return None
    scale = 10**45
    return Fraction(int(mpmath.nint(mpmath.re(value) * scale)), scale)


def _compare_at_points(answer: Node, reference: Node, names: list[str], threshold: Any) -> Outcome:
    agreed = differed = 0
    complex_proves = _single_valued(answer) and _single_valued(reference)
    for point, positive in numeric.sample_points(names):
        try:
            a, r = numeric.evaluate(answer, point), numeric.evaluate(reference, point)
        except numeric.Undefined:
            continue
        difference = numeric.relative_difference(a, r)
        if difference <= numeric.AGREE:
            agreed += 1
        elif difference > threshold and positive and (complex_proves or (numeric.is_real(a) and numeric.is_real(r))):
            return _no_unless_math_verify_objects(answer, reference)
        else:
            differed += 1
    if differed or agreed < (3 if names else 1):
        return Outcome(None, "points_undecided")
    return Outcome(1, "symbolic_equal") if _math_verify_equal(answer, reference) else Outcome(None, "unproven_equal")


def _single_valued(node: Node) -> bool:
    """Only field operations, so that complex values differ by no choice of a branch: ``3+4i`` against ``3-4i``."""
    for part in walk(node):
        if part[0] == "pow":
            exponent = rational_value(part[2])
            if exponent is None or exponent.denominator != 1:
                return False
        elif part[0] not in ("num", "var", "const", "add", "mul", "div", "neg"):
            return False
    return True


def _no_unless_math_verify_objects(answer: Node, reference: Node) -> Outcome:
    if _math_verify_equal(answer, reference):
        return Outcome(None, "checks_disagree")
    return Outcome(0, "symbolic_different")


def _math_verify_equal(answer: Node, reference: Node) -> bool:
    """math-verify's comparison, gold first; it reads our trees instead of LaTeX."""
    return bool(verify([to_sympy(reference)], [to_sympy(answer)], timeout_seconds=None))


def _equations(question: Question) -> Outcome:
    pairs = sides(question.answer), sides(question.reference)
    if pairs[0] is None or pairs[1] is None:
        return Outcome(None, "not_one_equation")
    answer, reference = (("add", _tree(left), ("neg", _tree(right))) for left, right in (pairs[0], pairs[1]))
    names = sorted(variables(answer) | variables(reference))
    if not names or _look_alike(names):
        return Outcome(None, "letter_case" if names else "no_variable")
    factor = _constant_ratio(answer, reference, names)
    if factor is not None:
        scaled = ("mul", ("num", factor), reference)
        if _math_verify_equal(answer, scaled):
            return Outcome(1, "same_curve")
        return Outcome(None, "unproven_equal")
    threshold = _DECIMALS_DIFFERENT if "." in question.answer + question.reference else _CLEARLY_OFF_CURVE
    for curve, other in ((answer, reference), (reference, answer)):
        if _point_on_one_only(curve, other, names, threshold):
            return Outcome(0, "point_on_one_curve_only")
    return Outcome(None, "curves_undecided")


def _constant_ratio(answer: Node, reference: Node, names: list[str]) -> Fraction | None:
    """The rational c with answer = c * reference at every sampled point; None when there is none."""
    ratios = []
    for point, _ in numeric.sample_points(names):
        try:
            a, r = numeric.evaluate(answer, point), numeric.evaluate(reference, point)
        except numeric.Undefined:
            continue
        if a == 0 or r == 0:
            return None
        ratios.append(a / r)
    if len(ratios) < 3 or any(numeric.relative_difference(ratio, ratios[0]) > numeric.AGREE for ratio in ratios):
        return None
    if not numeric.is_real(ratios[0]):
        return None
    exact = Fraction(int(mpmath.nint(mpmath.re(ratios[0]) * 10**40)), 10**40).limit_denominator(10**9)
    return exact if exact and numeric.relative_difference(numeric.to_mp(exact), ratios[0]) <= numeric.AGREE else None


def _point_on_one_only(curve: Node, other: Node, names: list[str], threshold: Any) -> bool:
    """A real point that satisfies the first equation and clearly not the second.

    Args:
        threshold: difference of the sides of the second equation, relative to their size.
    """
    for name in sorted(variables(curve)):
        for point, _ in numeric.sample_points(names)[:2]:
            for root in _real_roots(curve, name, point):
                on_curve = {**point, name: root}
                try:
                    residue, on_other = numeric.evaluate(curve, on_curve), numeric.evaluate(other, on_curve)
                    size = sum(abs(numeric.evaluate(side, on_curve)) for side in other[1:])
                except numeric.Undefined:
                    continue
                if abs(residue) < mpmath.mpf(10) ** -25 and abs(on_other) > threshold * max(1, size):
                    return True
    return False


def _real_roots(curve: Node, name: str, point: numeric.Point) -> list[Any]:
    """Real roots in one variable with the others fixed; none when the equation is no small polynomial in it."""
    nodes = list(range(-_MAX_DEGREE // 2, _MAX_DEGREE // 2 + 1))
    try:
        values = [numeric.evaluate(curve, {**point, name: mpmath.mpf(node)}) for node in nodes]
        check = numeric.evaluate(curve, {**point, name: mpmath.mpf(37) / 10})
    except numeric.Undefined:
        return []
    if not all(numeric.is_real(value) for value in values):
        return []
    powers = mpmath.matrix([[mpmath.mpf(node) ** power for power in range(len(nodes))] for node in nodes])
    coefficients = list(mpmath.lu_solve(powers, mpmath.matrix([mpmath.re(value) for value in values])))
    fitted = mpmath.polyval(coefficients[::-1], mpmath.mpf(37) / 10)
    if abs(fitted - check) > mpmath.mpf(10) ** -25 * max(1, abs(check)):
        return []
    while coefficients and abs(coefficients[-1]) < mpmath.mpf(10) ** -25:
        coefficients.pop()
    if len(coefficients) < 2:
        return []
    try:
        roots = mpmath.polyroots(coefficients[::-1], maxsteps=200, extraprec=200)
    except mpmath.NoConvergence:
        return []
    return [mpmath.re(root) for root in roots if abs(mpmath.im(root)) < mpmath.mpf(10) ** -30]
