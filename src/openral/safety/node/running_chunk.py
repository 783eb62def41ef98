"""A chunk in execution whose proof ends before the motion does.

Torque is proven for `recheck_s` from a measured state. While such a chunk runs, what is left of it
is judged again from the new state before that time is over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from openral.manifest.control import ControlMode
from openral.ros import msg
from openral.ros.clock import NS
from openral.ros.codec import types
from openral.ros.codec.message import Message
from openral.ros.stamps import stamp_ns

_RATES = {ControlMode.JOINT_VELOCITY.byte, ControlMode.BODY_TWIST.byte}
"""Modes whose rows are relative to the present position."""


class RunningChunk:
    """Progress of an accepted chunk, by the clock and by the HAL's reports."""

    def __init__(self, payload: bytes, sequence: int, now_ns: int, valid_ns: int) -> None:
        self._chunk: Any = types.decode("openral_msgs/msg/ActionChunk", payload)
        self._tables = [np.reshape(s.data, (self._chunk.rows, s.width)) for s in self._chunk.slots]
        self._dt_ns = self._chunk.dt * NS
        self.sequence = sequence
        """Sequence number of the SafeAction."""
        self.payload = payload
        """CDR of the chunk as it is executed."""
        self._valid_ns = valid_ns
        self.proven_until_ns = now_ns + valid_ns
        self._started_ns = float(now_ns)

    @property
    def _ends_ns(self) -> float:
        return self._started_ns + float(self._chunk.rows * self._dt_ns)

    @property
    def proven_to_the_end(self) -> bool:
        """Whether the proof lasts as long as the motion."""
        return self.proven_until_ns >= self._ends_ns - 1000

    def overran(self, now_ns: int) -> bool:
        """Whether the robot has moved without a proof, or time has gone back."""
        back = now_ns < self.proven_until_ns - self._valid_ns
        return back or (now_ns > self.proven_until_ns and not self.proven_to_the_end)

    def heard(self, hal: Any) -> None:
        """Takes a HalState about this chunk: it bounds the time at which the HAL began."""
        at = stamp_ns(hal)
        latest = at - hal.row * self._dt_ns
        self._started_ns = min(max(self._started_ns, latest - self._dt_ns), latest)

    def remainder(self, now_ns: int) -> Message | None:
        """The rows that are left, of the current one the remaining part; None: none are left."""
        done = max(0.0, (now_ns - self._started_ns) / self._dt_ns)
        row = int(done)
        if row >= self._chunk.rows:
            return None
        slots = []
        for slot, table in zip(self._chunk.slots, self._tables, strict=True):
            left = table[row:].copy()
            if slot.control_mode in _RATES:
                left[0] *= 1.0 - (done - row)
            slots.append(
                msg.ActionSlot(
                    name=slot.name,
                    control_mode=slot.control_mode,
                    frame_id=slot.frame_id,
                    joint_names=slot.joint_names,
                    width=slot.width,
                    data=left.ravel(),
                )
            )
        out: Message = msg.ActionChunk(
            header=self._chunk.header,
            sequence=self._chunk.sequence,
            trace_id=self._chunk.trace_id,
            control_mode=self._chunk.control_mode,
            dt=self._chunk.dt,
            rows=self._chunk.rows - row,
            slots=slots,
        )
        return out

    def renew(self, now_ns: int, valid_ns: int) -> None:
        """Extends the proof: the remainder was found clear."""
        self._valid_ns = valid_ns
        self.proven_until_ns = now_ns + valid_ns
