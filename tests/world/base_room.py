"""Room: how far a robot in the kitchen is from everything solid, by the truth."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from openral.graph.obstacles import Box
from openral.safety.kernel import Kernel
from tests.world.counter_streams import tucked
from tests.world.kitchen_rig import ROBOT, Pose

# Name, low corner, high corner: everything solid, the loose stool included.
SOLID = (
    ((-3.1, 2.5, 0.0), (3.1, 2.6, 2.4)),
    ((-3.1, -2.6, 0.0), (3.1, -2.5, 1.0)),
    ((3.0, -2.6, 0.0), (3.1, 2.6, 2.4)),
    ((-3.1, -2.6, 0.0), (-3.0, 2.6, 2.4)),
    ((-2.0, 1.86, 0.0), (2.4, 2.5, 0.86)),
    ((2.36, -1.2, 0.0), (3.0, 2.5, 0.86)),
    ((0.16, 0.06, 0.0), (1.44, 0.84, 0.86)),
    ((-2.9, 1.7, 0.0), (-2.1, 2.5, 1.9)),
    ((0.5, -2.0, 0.0), (1.9, -1.0, 0.8)),
    ((-0.76, -1.06, 0.0), (-0.44, -0.74, 0.45)),
)


class Room:
    """Where a robot can stand."""

    def __init__(self, kernel: Kernel | None = None) -> None:
        self._kernel = kernel or Kernel(ROBOT)
        boxes = []
        for i, (low, high) in enumerate(SOLID):
            centre, half = (np.array(low) + high) / 2, (np.array(high) - low) / 2
            boxes.append(Box(str(i), tuple(centre.tolist()), tuple(half.tolist())))
        self._kernel.set_world(boxes, 0, fixed=True)

    def gap(self, pose: Pose, q: NDArray[np.float64] | None = None) -> float:
        """Least distance of a robot that stands there, with its arm tucked or as given."""
        self._kernel.set_base(pose, 0)
        return self._kernel.clearance(tucked() if q is None else q, 1.0)[0]

    def way(self, start: Pose, metres: float) -> float:
        """Least gap while driving straight ahead."""
        x, y, yaw = start
        steps = np.arange(0.0, metres + 0.05, 0.05)
        return min(self.gap((x + s * math.cos(yaw), y + s * math.sin(yaw), yaw)) for s in steps)
