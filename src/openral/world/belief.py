"""Belief: what the graph says the robot believes now, for people to look at."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openral.manifest.robot import RobotDescription
from openral.ros import msg
from openral.ros.clock import NS
from openral.ros.node import Node
from openral.safety.joint_readings import JointReadings
from openral.safety.obstacles import VoxelGrid
from openral.safety.surroundings import stamp_ns, voxel_grid
from openral.safety.topics import (
    JOINT_STATES,
    LATCHED,
    ODOM,
    SAFETY_STATE,
    SENSOR,
    STATE,
    VERDICT,
    VOXELS,
    WORLD,
)
from openral.safety.world_lists import WorldLists, attached
from openral.world.body import Body
from openral.world.sensor_watch import Health

_STATUS = ("accepted", "slowed", "rejected", "dropped")


class Belief:
    """Hears the map, the robot's state and the kernel."""

    def __init__(self, node: Node, robot: RobotDescription) -> None:
        self._node, self._robot = node, robot
        self._body = Body(robot)
        self._readings = JointReadings(robot)
        self.voxels: Any = None
        self.verdict: Any = None
        self._odom: Any = None
        self._safety: Any = None
        self._attached = WorldLists(attached)
        hear = node.create_subscription
        hear(msg.OccupancyVoxels, VOXELS, self._on_voxels, SENSOR)
        hear(msg.JointState, JOINT_STATES, self._readings.take, SENSOR)
        hear(msg.Verdict, VERDICT, self._on_verdict, STATE)
        hear(msg.SafetyState, SAFETY_STATE, self._on_safety, LATCHED)
        self._known = hear(msg.WorldCollision, WORLD, self._on_world, LATCHED)
        if robot.base_joints:
            hear(msg.Odometry, ODOM, self._on_odom, SENSOR)

    @property
    def complete(self) -> bool:
        """Whether there is a map and a robot to draw."""
        odometry = self._odom is not None or not self._robot.base_joints
        return self.voxels is not None and self._readings.complete and odometry

    def missing(self) -> list[str]:
        """Topics that have not been heard."""
        out = [] if self.voxels is not None else [VOXELS]
        out += [] if self._readings.complete else [JOINT_STATES]
        lacks_base = self._robot.base_joints and self._odom is None
        return [*out, ODOM] if lacks_base else out

    @property
    def grid(self) -> VoxelGrid:
        """The occupied cells."""
        return voxel_grid(self.voxels, False)

    @property
    def base(self) -> tuple[float, float, float]:
        """The base in the map's frame."""
        if self._odom is None or self.voxels.header.frame_id in ("", self._robot.base_frame):
            return 0.0, 0.0, 0.0
        place, turn = self._odom.pose.pose.position, self._odom.pose.pose.orientation
        return place.x, place.y, 2 * math.atan2(turn.z, turn.w)

    def shapes(self) -> NDArray[np.float64]:
        """The robot's capsules in the map's frame, those that the verdict names last."""
        x, y, yaw = self.base
        c, s = math.cos(yaw), math.sin(yaw)
        pose = np.array([[c, -s, 0, x], [s, c, 0, y], [0, 0, 1, 0], [0, 0, 0, 1]])
        return self._body.shapes(self._readings.q, pose)

    def hit_cell(self) -> tuple[int, int, int] | None:
        """The voxel that the last verdict names."""
        words = self.verdict.hit.split() if self.verdict is not None else []
        if len(words) != 4 or words[0] != "voxel":
            return None
        x, y, z = (int(word) for word in words[1:])
        return x, y, z

    def lines(self) -> list[str]:
        """What to write under a picture."""
        data = self.data()
        healthy = "healthy" if data["healthy"] else "UNHEALTHY"
        faults = [f"{s['name']}: {s['detail']}" for s in data["sensors"] if s["detail"]]
        first = (
            f"{data['occupied']} occupied cells of {data['resolution_m'] * 100:g} cm in "
            f"'{data['frame']}', measured {data['age_s']:.2f} s ago, {healthy}"
        )
        return [first + "".join(f"; {f}" for f in faults), f"verdict: {data['verdict']}"]

    def data(self) -> dict[str, Any]:
        """The same for programs."""
        voxels = self.voxels
        return {
            "frame": voxels.header.frame_id,
            "stamp_ns": stamp_ns(voxels),
            "age_s": round((self._node.now() - stamp_ns(voxels)) / NS, 3),
            "resolution_m": voxels.resolution,
            "origin": [voxels.origin.x, voxels.origin.y, voxels.origin.z],
            "dims": [int(n) for n in voxels.dims],
            "occupied": int(np.count_nonzero(self.grid.cells)),
            "unknown": int(np.unpackbits(voxels.unknown).sum()) if len(voxels.unknown) else None,
            "healthy": bool(voxels.healthy),
            "sensors": [
                {
                    "name": sensor.name,
                    "state": Health(sensor.state).name.lower(),
                    "rate_hz": round(float(sensor.rate), 2),
                    "detail": sensor.detail,
                }
                for sensor in voxels.sensors
            ],
            "base": list(self.base),
            "verdict": self._last(),
        }

    def _last(self) -> str:
        if self.verdict is not None:
            status = _STATUS[min(int(self.verdict.status), 3)]
            return f"{status}: {self.verdict.detail or self.verdict.reason}"
        if self._safety is not None:
            return f"none heard; the kernel: {self._safety.reason} {self._safety.detail}".strip()
        return "none heard"

    def _on_voxels(self, message: Any) -> None:
        self.voxels = message

    def _on_verdict(self, message: Any) -> None:
        self.verdict = message

    def _on_safety(self, message: Any) -> None:
        self._safety = message

    def _on_odom(self, message: Any) -> None:
        self._odom = message

    def _on_world(self, message: Any) -> None:
        self._attached.take(message, self._known.source)
        self._body.hold(p for told in self._attached.all() for p in told)
