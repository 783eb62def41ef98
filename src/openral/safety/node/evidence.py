"""The inputs behind a verdict, as JSON that `openral kernel explain` reads."""

from __future__ import annotations

import base64
import json
import math
from collections import deque
from dataclasses import asdict
from typing import Any

import numpy as np

from openral.errors import CorruptMessage
from openral.graph.joint_readings import JointReadings
from openral.graph.obstacles import Box, Obstacle, Sphere, VoxelGrid
from openral.manifest.control import ControlMode
from openral.ros.codec import types
from openral.safety.node.known_objects import KnownWorld

_NEVER_S = 1e6
_MODES = {mode.byte: mode.value for mode in ControlMode}


class Evidence:
    """Keeps the inputs that the kernel received last."""

    def __init__(self, readings: JointReadings) -> None:
        self.readings = readings
        self.world: KnownWorld | None = None
        self.voxels: tuple[VoxelGrid, int] | None = None
        self.trail: deque[tuple[tuple[float, float, float], int]] = deque(maxlen=128)
        """The base's poses (x, y in m, yaw in rad) and their stamps in ns, newest last."""

    def of(self, payload: bytes, now_ns: int, recovering: bool) -> str:
        """The case of a candidate as JSON; its CDR if it cannot be written as a case."""
        try:
            chunk = _chunk(types.decode("openral_msgs/msg/ActionChunk", payload))
        except (CorruptMessage, ValueError, KeyError):
            return json.dumps({"candidate_cdr": base64.b64encode(payload[:4096]).decode()})
        case: dict[str, Any] = {"state": self._state(), "chunk": chunk, "recovering": recovering}
        complete = self.readings.complete
        ages = {"state": _age(now_ns, self.readings.stamp_ns) if complete else _NEVER_S}
        if self.world is not None:
            known = self.world
            case["world"] = [_obstacle(o) for o in known.obstacles]
            case["world_fixed"] = known.fixed
            case["held"] = [asdict(held) for held in known.held]
            ages["world"] = _age(now_ns, known.stamp_ns)
        if self.voxels is not None:
            case["voxels"] = _voxels(self.voxels[0])
            ages["voxels"] = _age(now_ns, self.voxels[1])
        if self.trail:
            *before, (pose, stamp) = self.trail
            case["base"] = dict(zip(("x", "y", "yaw"), pose, strict=True))
            ages["base"] = _age(now_ns, stamp)
            case["trail"] = [
                dict(zip(("x", "y", "yaw"), p, strict=True)) | {"age": _age(now_ns, at)}
                for p, at in before
            ]
        return json.dumps({**case, "ages": ages})

    def _state(self) -> dict[str, dict[str, float]]:
        pairs = zip(self.readings.q, self.readings.qd, strict=True)
        return {
            name: {"position": _known(q), "velocity": _known(qd)}
            for name, (q, qd) in zip(self.readings.names, pairs, strict=True)
        }


def _age(now_ns: int, stamp_ns: int) -> float:
    return max(0.0, (now_ns - stamp_ns) / 1e9)


def _known(value: Any) -> float:
    """A value that was never measured is written as 0, and the state as very old."""
    return float(value) if math.isfinite(value) else 0.0


def _number(value: Any) -> Any:
    """JSON has no non-finite numbers; they are written as a string, which is parsed back."""
    return float(value) if math.isfinite(value) else str(float(value))


def _chunk(chunk: Any) -> dict[str, Any]:
    return {
        "dt": _number(chunk.dt),
        "sequence": int(chunk.sequence),
        "slots": [_slot(slot, chunk.rows) for slot in chunk.slots],
    }


def _slot(slot: Any, rows: int) -> dict[str, Any]:
    return {
        "mode": _MODES[slot.control_mode],
        "name": slot.name,
        "frame_id": slot.frame_id,
        "joint_names": list(slot.joint_names),
        "rows": [[_number(v) for v in row] for row in np.reshape(slot.data, (rows, slot.width))],
    }


def _obstacle(o: Obstacle) -> dict[str, Any]:
    if isinstance(o, Sphere):
        return {"shape": "sphere", "id": o.id, "centre": o.centre, "radius": o.radius}
    if isinstance(o, Box):
        return {
            "shape": "box",
            "id": o.id,
            "centre": o.centre,
            "half": o.half,
            "quaternion": o.quaternion,
        }
    return {"shape": "capsule", "id": o.id, "p0": o.p0, "p1": o.p1, "radius": o.radius}


def _voxels(grid: VoxelGrid) -> dict[str, Any]:
    return {
        "origin": grid.origin,
        "fixed": grid.fixed,
        "resolution": grid.resolution,
        "shape": grid.cells.shape,
        "occupied": np.argwhere(grid.cells).tolist(),
    }
