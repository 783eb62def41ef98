"""Chunks for tests, as a proposer would send them."""

from __future__ import annotations

from typing import Any

import numpy as np

from openral.manifest import ControlMode
from openral.ros.codec import types


def slot(mode: ControlMode, rows: Any, *, name: str = "", frame: str = "", joints: Any = ()) -> Any:
    data = np.atleast_2d(np.asarray(rows, float))
    return types.new(
        "openral_msgs/msg/ActionSlot",
        name=name,
        control_mode=mode.byte,
        frame_id=frame,
        joint_names=list(joints),
        width=data.shape[1],
        data=data.ravel(),
    )


def chunk(*slots: Any, dt: float = 0.05, sequence: int = 1) -> Any:
    one = len(slots) == 1
    return types.new(
        "openral_msgs/msg/ActionChunk",
        sequence=sequence,
        trace_id=np.full(16, sequence % 256, np.uint8),
        control_mode=slots[0].control_mode if one else ControlMode.COMPOSITE_MODE.byte,
        dt=dt,
        rows=slots[0].data.size // slots[0].width,
        slots=list(slots),
    )


def joint_chunk(rows: Any, dt: float = 0.05, sequence: int = 1, **options: Any) -> Any:
    mode = options.pop("mode", ControlMode.JOINT_POSITION)
    return chunk(slot(mode, rows, **options), dt=dt, sequence=sequence)
