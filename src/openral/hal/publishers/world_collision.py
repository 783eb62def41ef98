"""Publishes known obstacles: the static boxes of a scene, for the kernel and planners."""

from __future__ import annotations

import numpy as np

from openral.graph import topics
from openral.graph.ports import Ports
from openral.hal.graph_time import GraphTime
from openral.hal.publishers.base_view import BaseView, Matrix, box
from openral.hal.snapshot import Snapshot
from openral.manifest import RobotDescription
from openral.ros import msg
from openral.ros.stamps import time_message
from openral.sim.rollout import StaticBox

_EVERY_NS = 500_000_000
_MOVED = 0.01
"""Change of the base's transform, in m or in its rotation matrix, after which the boxes are
published again."""


class WorldCollisionBridge:
    """Publishes the boxes twice a second, and whenever a mobile base has moved."""

    def __init__(
        self,
        ports: Ports,
        robot: RobotDescription,
        view: BaseView,
        time: GraphTime,
        boxes: tuple[StaticBox, ...],
    ) -> None:
        self._frame, self._view, self._time, self._boxes = robot.base_frame, view, time, boxes
        kind = "openral_msgs/msg/WorldCollision"
        self._out = ports.sealed_publisher(kind, topics.WORLD, topics.LATCHED)
        self._told_ns: int | None = None
        self._seen_from: Matrix = np.eye(4)

    def publish(self, snapshot: Snapshot) -> None:
        """Publishes the boxes if they are due; called at the rate of joint states."""
        now, seen_from = snapshot.stamp_ns, self._view.from_root(snapshot)
        moved = bool(self._boxes) and bool((np.abs(seen_from - self._seen_from) > _MOVED).any())
        if self._told_ns is not None and now - self._told_ns < _EVERY_NS and not moved:
            return
        self._told_ns, self._seen_from = now, seen_from
        primitives = [
            box(found.name or f"box{number}", found.pose, found.half, seen_from)
            for number, found in enumerate(self._boxes)
        ]
        stamp = time_message(self._time.of(now))
        header = msg.Header(stamp=stamp, frame_id=self._frame)
        self._out.publish(msg.WorldCollision(header=header, primitives=primitives, sealed=True))
