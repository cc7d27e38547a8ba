"""Matrices: shape, then element by element (policy 9)."""

from __future__ import annotations

import re

_MATRIX = re.compile(r"\A\\begin\{([pbBvV]?)(?:matrix|smallmatrix)\}(.*)\\end\{\1(?:matrix|smallmatrix)\}\Z", re.DOTALL)
MAX_CELLS = 100


def parse_matrix(text: str) -> tuple[str, list[list[str]]] | None:
    """(kind, rows): kind 'matrix', or 'determinant' for bars, which are another thing. None when not a matrix."""
    match = _MATRIX.match(text.strip())
    if match is None or "\\begin" in match.group(2):
        return None
    kind = "determinant" if match.group(1) in ("v", "V") else "matrix"
    lines = [line for line in match.group(2).split("\\\\") if line.strip()]
    return kind, [[cell.strip() for cell in line.split("&")] for line in lines]


def shape(rows: list[list[str]]) -> tuple[int, ...]:
    """Cells in each row."""
    return tuple(len(row) for row in rows)


def is_vector(rows: list[list[str]]) -> bool:
    """One row or one column."""
    return len(rows) == 1 or all(len(row) == 1 for row in rows)
