"""Write a tree back as LaTeX that has only one reading, for the symbolic library."""

from __future__ import annotations

from fractions import Fraction

from reward_workers.verifier.expression import Node


def to_latex(node: Node) -> str:
    """Unambiguous LaTeX of a tree, for the symbolic library: every group in brackets, every product written out."""
    kind = node[0]
    if kind == "num":
        value: Fraction = node[1]
        if value.denominator == 1:
            return str(value.numerator)
        return rf"\frac{{{value.numerator}}}{{{value.denominator}}}"
    if kind == "var":
        head, _, index = node[1].partition("_")
        name = "\\" + head if len(head) > 1 else head
        return f"{name}_{{{index}}}" if index else name
    if kind == "const":
        return r"\pi" if node[1] == "pi" else node[1]
    if kind == "fn":
        return rf"\{node[1]}\left({to_latex(node[2])}\right)"
    return _operator_latex(kind, [to_latex(child) for child in node[1:]])


def _operator_latex(kind: str, parts: list[str]) -> str:
    templates = {
        "add": r"\left(%s+%s\right)",
        "mul": r"\left(%s \cdot %s\right)",
        "div": r"\frac{%s}{%s}",
        "neg": r"\left(-%s\right)",
        "pow": r"\left(%s\right)^{%s}",
        "fact": r"\left(%s\right)!",
        "deg": r"\left(%s \cdot \frac{\pi}{180}\right)",
        "binom": r"\binom{%s}{%s}",
        "abs": r"\left|%s\right|",
    }
    if kind == "log":
        return rf"\log_{{{parts[1]}}}\left({parts[0]}\right)"
    return templates[kind] % tuple(parts)
