"""HalState: publishes what the HAL executes, and confirms stops that were applied."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from openral.graph import topics
from openral.graph.ports import Ports
from openral.graph.seal import Refusals
from openral.graph.states import HalStatus
from openral.hal.graph_time import GraphTime
from openral.hal.protocols import HAL
from openral.hal.snapshot import Snapshot
from openral.ros import msg
from openral.ros.clock import NS
from openral.ros.stamps import time_message


@dataclass
class GateRecord:
    """Counters of the gate and of stops; written on the executor's thread, read on any."""

    refused: Refusals
    unsupported: int = 0
    """Actions that the HAL could not execute."""
    held_back: int = 0
    """Valid actions that arrived while the kernel was not trusted or the robot was stopped."""
    epoch: int = 0
    sequence: int = 0
    """Of the last action accepted."""
    stop_epoch: int = 0
    stop_beat: int = 0
    """Heartbeat of the e-stop that was applied last."""


class HalStateBridge:
    """Publishes at the rate of joint states, and at once when a motion begins or ends."""

    def __init__(self, ports: Ports, hal: HAL, time: GraphTime, record: GateRecord) -> None:
        self._hal, self._time, self._record = hal, time, record
        self._lock, self._last_ns = threading.Lock(), 0
        self._out = ports.sealed_publisher(
            "openral_msgs/msg/HalState", topics.HAL_STATE, topics.STATE
        )

    def publish(self, snapshot: Snapshot | None = None) -> None:
        """Publishes a measurement, else the latest; on any thread, never one after a newer one."""
        found = snapshot or self._hal.read_state()
        with self._lock:
            if 0 < self._last_ns - found.stamp_ns < NS:  # further back: a clock was reset
                return
            self._last_ns = found.stamp_ns
            self._out.publish(lambda: self._message(found))

    def _message(self, snapshot: Snapshot) -> msg.HalState:
        motion, record = snapshot.motion, self._record
        stopped = motion.status is HalStatus.STOPPED
        return msg.HalState(
            header=msg.Header(stamp=time_message(self._time.of(snapshot.stamp_ns))),
            state=int(motion.status),
            reason=motion.reason,
            epoch=record.epoch if motion.sequence == record.sequence else 0,
            sequence=motion.sequence,
            row=max(motion.row, 0),
            stop_epoch=record.stop_epoch if stopped else 0,
            stop_beat=record.stop_beat if stopped else 0,
            fastest_joint=snapshot.fastest_joint,
            bad_mac=record.refused.bad_mac + record.refused.corrupt,
            replayed=record.refused.replayed,
            expired=record.refused.expired,
            unsupported=record.unsupported,
        )
