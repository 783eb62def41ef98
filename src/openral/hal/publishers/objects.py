"""Publishes the task's objects with their true pose and size, as perfect perception would."""

from __future__ import annotations

from openral.graph.ports import Ports
from openral.hal import topics
from openral.hal.graph_time import GraphTime
from openral.hal.protocols import SceneObject
from openral.hal.publishers.base_view import BaseView, box
from openral.hal.snapshot import Snapshot
from openral.manifest import RobotDescription
from openral.ros import msg
from openral.ros.qos import SENSOR
from openral.ros.stamps import time_message


class ObjectsBridge:
    """Publishes at the rate of joint states; simulation only."""

    def __init__(
        self, ports: Ports, robot: RobotDescription, view: BaseView, time: GraphTime
    ) -> None:
        self._frame, self._view, self._time = robot.base_frame, view, time
        self._out = ports.publisher("openral_msgs/msg/WorldCollision", topics.OBJECTS, SENSOR)

    @property
    def heard(self) -> bool:
        """Whether there are subscribers."""
        return self._out.has_subscribers

    def publish(self, snapshot: Snapshot, objects: tuple[SceneObject, ...]) -> None:
        """Publishes their poses at the snapshot's time."""
        seen_from = self._view.from_root(snapshot)
        stamp = time_message(self._time.of(snapshot.stamp_ns))
        self._out.publish(
            lambda: msg.WorldCollision(
                header=msg.Header(stamp=stamp, frame_id=self._frame),
                primitives=[
                    box(thing.name, thing.pose, thing.half, seen_from) for thing in objects
                ],
            )
        )
