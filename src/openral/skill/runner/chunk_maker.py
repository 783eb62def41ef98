"""ChunkMaker: builds the ActionChunk messages of proposals, each with its own trace id."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

import numpy as np

from openral.manifest import ControlMode
from openral.ros import msg
from openral.ros.stamps import time_message
from openral.skill.spaces.action_space import SlotRows


class ChunkMaker:
    """Numbers its chunks and gives each a trace id.

    Ids are random; with a `seed` they follow from it, so that a run is reproducible to the bit.
    """

    def __init__(self, seed: str | None = None) -> None:
        self._seed = seed
        self.made = 0

    def trace_id(self) -> bytes:
        """The trace id for the next chunk, 16 bytes."""
        if self._seed is None:
            return os.urandom(16)
        text = f"{self._seed}/{self.made + 1}".encode()
        return hashlib.blake2b(text, digest_size=16).digest()

    def chunk(
        self, slots: Sequence[SlotRows], dt: float, trace_id: bytes, now_ns: int
    ) -> msg.ActionChunk:
        """An ActionChunk of slots that are executed together, one row every `dt` seconds."""
        self.made += 1
        one = len(slots) == 1
        return msg.ActionChunk(
            header=msg.Header(stamp=time_message(now_ns)),
            sequence=self.made,
            trace_id=np.frombuffer(trace_id, np.uint8),
            control_mode=(slots[0].mode if one else ControlMode.COMPOSITE_MODE).byte,
            dt=dt,
            rows=len(slots[0].data),
            slots=[_slot(part) for part in slots],
        )


def _slot(part: SlotRows) -> msg.ActionSlot:
    named = part.mode in _BY_NAME
    return msg.ActionSlot(
        name=part.wire_name,
        control_mode=part.mode.byte,
        joint_names=list(part.columns.joints) if named else [],
        width=part.data.shape[1],
        data=part.data.ravel(),
    )


_BY_NAME = {
    ControlMode.JOINT_POSITION,
    ControlMode.JOINT_VELOCITY,
    ControlMode.JOINT_TORQUE,
    ControlMode.JOINT_TRAJECTORY,
    ControlMode.DEX_HAND_JOINT,
}
