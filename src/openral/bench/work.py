"""The kernel's benchmark workload: worlds, states and chunks for the bench arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openral.bench.robot import HOME
from openral.graph.obstacles import Box, Capsule, Obstacle, Sphere, VoxelGrid
from openral.manifest.control import ControlMode
from openral.ros.codec.message import Message
from openral.ros.codec.types import new

Array = NDArray[np.float64]
DT = 0.05
ROWS = 50


def chunk(mode: ControlMode, rows: Any, *, dt: float = DT, **slot: Any) -> Message:
    """An ActionChunk of one slot: `rows` of shape (n, width), `dt` in s.

    Keywords set the slot's other fields.
    """
    table = np.atleast_2d(np.asarray(rows, float))
    part = new(
        "openral_msgs/msg/ActionSlot",
        control_mode=mode.byte,
        width=table.shape[1],
        data=table.ravel(),
        **slot,
    )
    out: Message = new(
        "openral_msgs/msg/ActionChunk",
        control_mode=mode.byte,
        dt=dt,
        rows=len(table),
        slots=[part],
    )
    return out


def composite(parts: list[Message], *, dt: float = DT) -> Message:
    """One chunk with the slots of several chunks of equal length."""
    chunks: list[Any] = list(parts)
    out: Message = new(
        "openral_msgs/msg/ActionChunk",
        control_mode=ControlMode.COMPOSITE_MODE.byte,
        dt=dt,
        rows=chunks[0].rows,
        slots=[slot for part in chunks for slot in part.slots],
    )
    return out


@dataclass(frozen=True)
class RandomMotion:
    """A start state of shape (8,) and the rows that continue from it, (n, 8), in rad and m."""

    start: Array
    rows: Array


def motion(rng: np.random.Generator, rows: int = ROWS, step: float = 0.03) -> RandomMotion:
    """A smooth random motion near home; each joint moves at most `step` rad per row."""
    start = np.array([*HOME, 0.02])
    start[:7] += rng.uniform(-0.3, 0.3, 7)
    phase = np.linspace(0, np.pi, rows + 1)[1:]
    reach = rng.uniform(-1, 1, 7) * step * rows / np.pi
    path = np.tile(start, (rows, 1))
    path[:, :7] += reach * (1 - np.cos(phase))[:, None]
    return RandomMotion(start, path)


def obstacles(rng: np.random.Generator, nearest: float, count: int = 20) -> list[Obstacle]:
    """Boxes, capsules and spheres in a shell around the arm, the table first.

    `nearest` lowers the table by that many m; above 0.05 the others are farther away, too.
    """
    found: list[Obstacle] = [Box("table", (0.4, 0.0, -0.1 - nearest), (0.8, 0.8, 0.05))]
    while len(found) < count:
        angle, height = rng.uniform(-np.pi, np.pi), rng.uniform(0, 1.2)
        radius = rng.uniform(0.95, 1.4) if nearest > 0.05 else rng.uniform(0.6, 1.2)
        at = (radius * np.cos(angle), radius * np.sin(angle), height)
        name, size = f"thing{len(found)}", float(rng.uniform(0.02, 0.06))
        end = (at[0], at[1], at[2] + 0.1)
        shape = len(found) % 3
        if shape == 0:
            found.append(Sphere(name, at, size))
        elif shape == 1:
            found.append(Capsule(name, at, end, size))
        else:
            found.append(Box(name, at, (size, size, 0.1)))
    return found


def voxels(rng: np.random.Generator, height: float, cells: int = 80) -> VoxelGrid:
    """About 10 000 occupied cells of 2.5 cm: a table top, a wall and clutter on the table.

    `height`: of the table top, in m.
    """
    res = 0.025
    grid = np.zeros((cells, cells, cells), bool)
    origin = (-1.0, -1.0, -0.6)
    top = round((height - origin[2]) / res)  # of the table
    grid[44:80, 8:72, top - 2 : top] = True
    grid[76:80, 8:72, top : top + 20] = True
    for _ in range(12):
        i, j = rng.integers(66, 74), rng.integers(12, 68)
        grid[i : i + 3, j : j + 3, top : top + int(rng.integers(2, 6))] = True
    return VoxelGrid(grid, origin, res)
