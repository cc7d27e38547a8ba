"""Scenes and their images: nine cells of 32x32 pixels, each one shape in one colour, slightly shifted and scaled.

With patch 16 and merge 2 the policy sees exactly one visual token a cell.
"""

from __future__ import annotations

import io
import random
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from corpora.toy.names import COLORS, SHAPES

GRID = 3
CELL_PX = 32
IMAGE_PX = GRID * CELL_PX
BACKGROUND = 245
RGB = {
    "red": (220, 40, 40),
    "green": (40, 180, 60),
    "blue": (50, 80, 220),
    "yellow": (230, 210, 50),
    "black": (30, 30, 30),
}
JITTERS = tuple((dx, dy, radius) for dx in (-1, 0, 1) for dy in (-1, 0, 1) for radius in (10, 11, 12))
"""Shift in x and y and radius, in pixels: 27 looks of every colour and shape."""

Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Cell:
    """One shape. ``jitter`` indexes JITTERS."""

    color: str
    shape: str
    jitter: int

    @property
    def tile_index(self) -> int:
        """Row of this cell's look in ``tiles()``."""
        return (COLORS.index(self.color) * len(SHAPES) + SHAPES.index(self.shape)) * len(JITTERS) + self.jitter


@dataclass(frozen=True, slots=True)
class Scene:
    """Nine cells, row by row."""

    cells: tuple[Cell, ...]

    def at(self, row: int, column: int) -> Cell:
        """The cell at row and column, both 1..3 as in the questions."""
        return self.cells[(row - 1) * GRID + column - 1]

    def colors_in_row(self, row: int) -> list[str]:
        return [self.at(row, column).color for column in range(1, GRID + 1)]

    def shapes_in_row(self, row: int) -> list[str]:
        return [self.at(row, column).shape for column in range(1, GRID + 1)]

    def count_color(self, color: str) -> int:
        return sum(cell.color == color for cell in self.cells)

    def count_shape(self, shape: str) -> int:
        return sum(cell.shape == shape for cell in self.cells)

    def colors_of(self, shape: str) -> list[str]:
        return [cell.color for cell in self.cells if cell.shape == shape]


def draw_scene(rng: random.Random) -> Scene:
    """Nine independent cells, uniform over colours, shapes and jitters."""
    return Scene(
        tuple(Cell(rng.choice(COLORS), rng.choice(SHAPES), rng.randrange(len(JITTERS))) for _ in range(GRID * GRID))
    )


def _tile(color: str, shape: str, dx: int, dy: int, radius: int) -> Pixels:
    y, x = np.mgrid[0:CELL_PX, 0:CELL_PX]
    center = (CELL_PX - 1) / 2
    right, down = x - center - dx, y - center - dy
    if shape == "circle":
        inside = right**2 + down**2 <= radius**2
    elif shape == "square":
        inside = np.maximum(abs(right), abs(down)) <= 0.85 * radius
    else:
        inside = (down >= -radius) & (down <= 0.8 * radius) & (abs(right) <= 0.55 * (down + radius))
    tile: Pixels = np.full((CELL_PX, CELL_PX, 3), BACKGROUND, np.uint8)
    tile[inside] = RGB[color]
    return tile


@cache
def tiles() -> Pixels:
    """Every look a cell can have, uint8 of shape (colours * shapes * jitters, 32, 32, 3)."""
    return np.stack([_tile(c, s, *jitter) for c in COLORS for s in SHAPES for jitter in JITTERS])


def pixels(scene: Scene) -> Pixels:
    """The image of a scene, uint8 RGB of shape (96, 96, 3)."""
    picked = tiles()[[cell.tile_index for cell in scene.cells]].reshape(GRID, GRID, CELL_PX, CELL_PX, 3)
    return np.ascontiguousarray(picked.transpose(0, 2, 1, 3, 4).reshape(IMAGE_PX, IMAGE_PX, 3))


def png(scene: Scene) -> bytes:
    """The image of a scene as PNG bytes (96x96)."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(pixels(scene)).save(buffer, "PNG")
    return buffer.getvalue()
