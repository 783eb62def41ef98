"""Renders a world snapshot: voxels, the robot's capsules, and the kernel's last verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import wrap

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from openral.graph.obstacles import VoxelGrid

Matrix = NDArray[np.float64]
Colour = tuple[int, int, int]
Shape = tuple[float, Callable[[ImageDraw.ImageDraw], None]]
"""A depth, and the function that draws at it."""
_BAND = 88
_RING = 12
_COLUMNS = 120
_LOW, _HIGH = np.array([58, 82, 139.0]), np.array([94, 201, 98.0])
_BODY: Colour = (230, 232, 236)
_EDGE: Colour = (165, 167, 169)
_WARN: Colour = (214, 39, 40)
# Corners of a cell's faces, counter-clockwise from outside, with the step to the neighbour.
_FACES = (
    ((1, 0, 0), ((1, 0, 0), (1, 1, 0), (1, 1, 1), (1, 0, 1)), 0.82),
    ((-1, 0, 0), ((0, 0, 0), (0, 0, 1), (0, 1, 1), (0, 1, 0)), 0.82),
    ((0, 1, 0), ((0, 1, 0), (0, 1, 1), (1, 1, 1), (1, 1, 0)), 0.68),
    ((0, -1, 0), ((0, 0, 0), (1, 0, 0), (1, 0, 1), (0, 0, 1)), 0.68),
    ((0, 0, 1), ((0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)), 1.0),
)


class Eye:
    """A virtual camera that looks at a point from behind, above and to the side."""

    def __init__(self, target: Sequence[float], yaw: float, size: tuple[int, int]) -> None:
        away = np.array([np.cos(yaw + 2.6), np.sin(yaw + 2.6), 0.75])
        self.place = np.array(target) + 3.6 * away / np.linalg.norm(away)
        forward = np.array(target) - self.place
        forward /= np.linalg.norm(forward)
        right = np.cross(forward, [0.0, 0.0, 1.0])
        right /= np.linalg.norm(right)
        self._axes = np.stack([right, np.cross(forward, right), forward])
        self._size, self.focal = size, 1.1 * size[1]

    def see(self, points: Matrix) -> tuple[Matrix, Matrix]:
        """Pixel coordinates (..., 2) and depths (...) in m of points (..., 3)."""
        local = (points - self.place) @ self._axes.T
        depth = local[..., 2]
        safe = np.maximum(depth, 1e-3)
        half = np.array(self._size) / 2
        return local[..., :2] / safe[..., None] * self.focal + half, depth


def world_picture(
    grid: VoxelGrid,
    body: Matrix,
    base: tuple[float, float, float],
    lines: Sequence[str],
    *,
    hit_point: tuple[float, float, float] | None = None,
    hit_shapes: Sequence[int] = (),
    size: tuple[int, int] = (960, 720),
) -> Image.Image:
    """Renders occupied cells and the capsules `body` (n, 7): ends and radius, in the grid's frame.

    `base` is the base's x, y and yaw there; `lines` is the caption. The cell at `hit_point`, with
    a ring around it, and `hit_shapes` are drawn red, even where hidden.
    """
    x, y, yaw = base
    eye = Eye((x + 0.4 * np.cos(yaw), y + 0.4 * np.sin(yaw), 0.6), yaw, size)
    image = Image.new("RGB", (size[0], size[1] + _BAND), "white")
    draw = ImageDraw.Draw(image)
    shapes = [*_cells(grid, eye, hit_point), *_capsules(body, eye)]
    for _, paint in sorted(shapes, key=lambda shape: -shape[0]):
        paint(draw)
    for _, paint in _capsules(body[list(hit_shapes)], eye, outline=True):  # even where hidden
        paint(draw)
    if hit_point is not None:
        _ring(draw, eye, hit_point)
    draw.rectangle((0, size[1], size[0], size[1] + _BAND), fill="white")
    font = ImageFont.load_default(15)
    wrapped = [part for line in lines for part in wrap(line, _COLUMNS)]
    for i, line in enumerate(wrapped[:5]):
        draw.text((8, size[1] + 3 + 17 * i), line, "black", font)
    return image


def _ring(draw: ImageDraw.ImageDraw, eye: Eye, point: tuple[float, float, float]) -> None:
    """Drawn over everything: a cell is small, and often hidden by the link that would hit it."""
    (x, y), depth = eye.see(np.array(point))
    if depth > 0.1:
        box = (x - _RING, y - _RING, x + _RING, y + _RING)
        draw.ellipse(box, outline=_WARN, width=3)


def _cells(grid: VoxelGrid, eye: Eye, hit: tuple[float, float, float] | None) -> list[Shape]:
    corner = np.array(grid.origin)
    there = None if hit is None else np.floor((np.array(hit) - corner) / grid.resolution)
    cells = np.pad(np.asarray(grid.cells, bool), 1)
    shapes: list[Shape] = []
    index = np.argwhere(cells)
    if not len(index):
        return []
    top = max(1, int(index[:, 2].max()))
    for step, corners, shade in _FACES:
        open_ = index[~cells[tuple((index + step).T)]]
        places = (open_[:, None, :] - 1 + np.array(corners)) * grid.resolution + corner
        facing = ((eye.place - places[:, 0]) * np.array(step)).sum(axis=1) > 0
        open_, places = open_[facing], places[facing]
        pixels, depth = eye.see(places)
        for cell, polygon, near in zip(open_, pixels, depth, strict=True):
            if near.min() < 0.1:
                continue
            share = cell[2] / top
            tint = (_LOW * (1 - share) + _HIGH * share) * shade
            red = there is not None and bool((cell - 1 == there).all())
            colour = _WARN if red else (int(tint[0]), int(tint[1]), int(tint[2]))
            shapes.append((float(near.mean()), _Polygon(polygon, colour)))
    return shapes


def _capsules(body: Matrix, eye: Eye, outline: bool = False) -> list[Shape]:
    shapes: list[Shape] = []
    for row in body:
        steps = np.linspace(0, 1, max(2, int(np.linalg.norm(row[3:6] - row[:3]) / 0.04) + 1))
        centres = row[:3] + steps[:, None] * (row[3:6] - row[:3])
        pixels, depth = eye.see(centres)
        for at, z in zip(pixels, depth, strict=True):
            if z > 0.1:
                radius = float(row[6]) * eye.focal / float(z)
                shapes.append((float(z) - float(row[6]), _Ball(at, radius, outline)))
    return shapes


class _Polygon:
    def __init__(self, corners: Matrix, colour: Colour) -> None:
        self._corners, self._colour = corners, colour

    def __call__(self, draw: ImageDraw.ImageDraw) -> None:
        draw.polygon(self._corners.ravel().tolist(), fill=self._colour)


class _Ball:
    def __init__(self, at: Matrix, radius: float, outline: bool) -> None:
        self._at, self._radius, self._outline = at, radius, outline

    def __call__(self, draw: ImageDraw.ImageDraw) -> None:
        (x, y), r = self._at, self._radius
        box = (x - r, y - r, x + r, y + r)
        if self._outline:
            draw.ellipse(box, outline=_WARN, width=2)
        else:
            draw.ellipse(box, fill=_BODY, outline=_EDGE)
