r"""Intervals, inequalities, memberships and set builders as unions of pieces (policy 10)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from reward_workers.verifier.rules.notation.split import outer_bracket, split_top

_VARIABLE = r"[a-zA-Z]|\\[a-z]+"
_MEMBERSHIP = re.compile(rf"\A({_VARIABLE})\s*\\in(?![a-z])\s*(.+)\Z", re.DOTALL)
_BUILDER = re.compile(rf"\A\\{{\s*({_VARIABLE})\s*(?:\\in\s*\\mathbb\{{?R\}}?\s*)?[|:]\s*(.+?)\s*\\}}\Z", re.DOTALL)
_RELATION = re.compile(r"\\(?:le|ge|ne)(?![a-zA-Z])|[<>]=?|=")
_FLIP = {"<": ">", ">": "<", "le": "ge", "ge": "le"}
_SEPARATOR = re.compile(r"\\cup(?![a-zA-Z])|\bor\b|或")
_BUILDER_LIKE = re.compile(r"\A\\\{.*[|:].*\\}\Z", re.DOTALL)

INFINITY = r"\infty"
_INFINITE = re.compile(r"([+-]?)(?:\\infty|inf(?:ty|inity)?|oo|正?无穷大?)", re.IGNORECASE)
_REVERSED = re.compile(r"\A\][^\[\]()]*[\[\])]\Z|\A[(\[][^\[\]()]*\[\Z")


@dataclass(frozen=True, slots=True)
class Piece:
    """One interval: end texts in canonical form, and whether each end belongs to it."""

    low: str
    high: str
    low_closed: bool
    high_closed: bool


@dataclass(frozen=True, slots=True)
class Region:
    """A union of intervals; the variable is '' when only brackets were written."""

    pieces: tuple[Piece, ...]
    variable: str = ""


def is_infinite_builder(text: str) -> bool:
    """A set builder over a number set, such as all multiples of five: never one number."""
    return bool(_BUILDER_LIKE.match(text)) and "\\mathbb" in text


def parse_region(text: str) -> Region | None:
    """Region of canonical text; None when it is not written as an interval, inequality or membership."""
    if text.replace(" ", "") in (r"\mathbb{R}", r"\mathbbR"):
        return Region((Piece("-" + INFINITY, INFINITY, False, False),))
    builder = _BUILDER.match(text)
    if builder:
        return _named(parse_inequality(builder.group(2)), builder.group(1))
    member = _MEMBERSHIP.match(text)
    if member:
        region = parse_brackets(member.group(2).strip())
        return None if region is None else Region(region.pieces, member.group(1))
    return parse_brackets(text) or parse_inequality(text)


def _named(region: Region | None, variable: str) -> Region | None:
    return region if region is not None and region.variable == variable else None


def parse_brackets(text: str) -> Region | None:
    """``[0,1) \\cup (3,\\infty)``."""
    pieces = []
    for part in _SEPARATOR.split(text):
        bracket = outer_bracket(part.strip())
        if bracket is None or bracket[0] == "\\{":
            return None
        ends = split_top(bracket[1], ",;")
        if ends is None or len(ends) != 2 or not all(ends):
            return None
        pieces.append(Piece(_end(ends[0]), _end(ends[1]), bracket[0] == "[", bracket[2] == "]"))
    return Region(tuple(pieces))


def _end(text: str) -> str:
    text = text.strip()
    infinite = _INFINITE.fullmatch(text.replace(" ", ""))
    return text if infinite is None else infinite.group(1).rstrip("+") + INFINITY


def parse_inequality(text: str) -> Region | None:
    """``0 < x \\le 3``, ``x > 3``, ``x \\ne 2``, ``x < 0 or x > 3``."""
    pieces: list[Piece] = []
    names: set[str] = set()
    for part in _SEPARATOR.split(text):
        found = _chain(part.strip())
        if found is None:
            return None
        names.add(found[0])
        pieces.extend(found[1])
    return Region(tuple(pieces), names.pop()) if len(names) == 1 else None


def _chain(text: str) -> tuple[str, list[Piece]] | None:
    sides = [side.strip() for side in _RELATION.split(text)]
    signs = [_sign(match.group()) for match in _RELATION.finditer(text)]
    if not signs or not all(sides) or "=" in signs:
        return None
    if len(signs) == 1:
        if _is_variable(sides[0]):
            return sides[0], _half_line(signs[0], sides[1])
        if _is_variable(sides[1]) and signs[0] != "ne":
            return sides[1], _half_line(_FLIP[signs[0]], sides[0])
        return None
    if len(signs) != 2 or not _is_variable(sides[1]) or "ne" in signs:
        return None
    if all(sign in (">", "ge") for sign in signs):
        sides, signs = sides[::-1], [_FLIP[sign] for sign in signs[::-1]]
    if not all(sign in ("<", "le") for sign in signs):
        return None
    return sides[1], [Piece(_end(sides[0]), _end(sides[2]), signs[0] == "le", signs[1] == "le")]


def _sign(text: str) -> str:
    return {"<=": "le", ">=": "ge"}.get(text, text.lstrip("\\"))


def _is_variable(text: str) -> bool:
    return re.fullmatch(_VARIABLE, text) is not None and text not in (r"\pi", r"\infty", "e")


def _half_line(sign: str, bound: str) -> list[Piece]:
    bound = _end(bound)
    below = Piece("-" + INFINITY, bound, False, sign == "le")
    above = Piece(bound, INFINITY, sign == "ge", False)
    if sign == "ne":
        return [below, above]
    return [below] if sign in ("<", "le") else [above]
