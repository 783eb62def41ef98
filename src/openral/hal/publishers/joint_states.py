"""Joint states: publishes the measured joint positions and velocities."""

from __future__ import annotations

from openral.graph import topics
from openral.graph.ports import Ports
from openral.hal.graph_time import GraphTime
from openral.hal.snapshot import Snapshot
from openral.ros import msg
from openral.ros.stamps import time_message


class JointStateBridge:
    """Publishes positions and velocities under the manifest's names."""

    def __init__(self, ports: Ports, time: GraphTime) -> None:
        self._time = time
        self._out = ports.sealed_publisher(
            "sensor_msgs/msg/JointState", topics.JOINT_STATES, topics.STATE
        )

    def publish(self, snapshot: Snapshot) -> None:
        """Publishes one measurement."""
        self._out.publish(
            lambda: msg.JointState(
                header=msg.Header(stamp=time_message(self._time.of(snapshot.stamp_ns))),
                name=list(snapshot.names),
                position=snapshot.positions,
                velocity=snapshot.velocities,
            )
        )
