"""Applied actions: every row that was sent to the motors, with requested and applied targets."""

from __future__ import annotations

import numpy as np

from openral.graph.ports import Ports
from openral.graph.states import HalStatus
from openral.hal import topics
from openral.hal.graph_time import GraphTime
from openral.hal.snapshot import Snapshot
from openral.ros import msg
from openral.ros.qos import STATE
from openral.ros.stamps import time_message


class AppliedActionBridge:
    """Publishes each row when it begins."""

    def __init__(self, ports: Ports, time: GraphTime) -> None:
        self._time = time
        self._out = ports.publisher("openral_msgs/msg/AppliedAction", topics.APPLIED, STATE)
        self._last = (0, -1)

    def begins(self, snapshot: Snapshot) -> bool:
        """Whether this measurement is the first of a row; call it for each, in order."""
        motion = snapshot.motion
        place = (motion.sequence, motion.row)
        fresh = motion.status is HalStatus.EXECUTING and place != self._last
        self._last = place
        return fresh

    def publish(self, snapshot: Snapshot) -> None:
        """Publishes the row that has begun."""
        motion = snapshot.motion
        self._out.publish(
            lambda: msg.AppliedAction(
                header=msg.Header(stamp=time_message(self._time.of(snapshot.stamp_ns))),
                trace_id=np.frombuffer(motion.trace_id, np.uint8),
                sequence=motion.sequence,
                row=max(motion.row, 0),
                joint_names=list(snapshot.names),
                requested=motion.requested,
                applied=motion.applied,
                measured=snapshot.positions,
            )
        )
