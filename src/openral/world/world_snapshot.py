"""Belief: a world snapshot collected from the graph, for display to an operator."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openral.graph.joint_readings import JointReadings
from openral.graph.obstacles import VoxelGrid
from openral.graph.states import SafetyMode, SensorState, VerdictStatus
from openral.graph.topics import (
    JOINT_STATES,
    LATCHED,
    ODOM,
    REFUSAL,
    SAFETY_STATE,
    SENSOR,
    STATE,
    VERDICT,
    VOXELS,
    WORLD,
)
from openral.graph.voxel_message import voxel_grid
from openral.graph.world_lists import WorldLists, attached
from openral.manifest.robot import RobotDescription
from openral.ros import msg
from openral.ros.clock import NS
from openral.ros.node.node import Node
from openral.ros.stamps import stamp_ns
from openral.world.body import Body

_STATUS = ("accepted", "slowed", "rejected", "dropped")


class WorldSnapshot:
    """Subscribes to the map, the robot's state, and the kernel's verdicts and state."""

    def __init__(self, node: Node, robot: RobotDescription) -> None:
        self._node, self._robot = node, robot
        self._body = Body(robot)
        self._readings = JointReadings(robot)
        self.voxels: Any = None
        self.verdict: Any = None
        self._refusal: Any = None
        self._odom: Any = None
        self._safety: Any = None
        self._attached = WorldLists(attached)
        hear = node.create_subscription
        hear(msg.OccupancyVoxels, VOXELS, self._on_voxels, SENSOR)
        hear(msg.JointState, JOINT_STATES, self._readings.take, SENSOR)
        hear(msg.Verdict, VERDICT, self._on_verdict, STATE)
        hear(msg.Verdict, REFUSAL, self._on_refusal, LATCHED)
        hear(msg.SafetyState, SAFETY_STATE, self._on_safety, LATCHED)
        self._known = hear(msg.WorldCollision, WORLD, self._on_world, LATCHED)
        if robot.base_joints:
            hear(msg.Odometry, ODOM, self._on_odom, SENSOR)

    @property
    def complete(self) -> bool:
        """Whether a map and the robot's state have been received."""
        odometry = self._odom is not None or not self._robot.base_joints
        return self.voxels is not None and self._readings.complete and odometry

    def missing(self) -> list[str]:
        """Topics on which nothing has been received yet."""
        out = [] if self.voxels is not None else [VOXELS]
        out += [] if self._readings.complete else [JOINT_STATES]
        lacks_base = self._robot.base_joints and self._odom is None
        return [*out, ODOM] if lacks_base else out

    @property
    def grid(self) -> VoxelGrid:
        """The occupied cells of the map."""
        return voxel_grid(self.voxels, False)

    @property
    def base(self) -> tuple[float, float, float]:
        """x, y in m and yaw in rad of the base in the map's frame."""
        if self._odom is None or self.voxels.header.frame_id in ("", self._robot.base_frame):
            return 0.0, 0.0, 0.0
        place, turn = self._odom.pose.pose.position, self._odom.pose.pose.orientation
        return place.x, place.y, 2 * math.atan2(turn.z, turn.w)

    def shapes(self) -> NDArray[np.float64]:
        """Capsules (n, 7) of the robot and attached objects in the map's frame: ends and radius."""
        x, y, yaw = self.base
        c, s = math.cos(yaw), math.sin(yaw)
        pose = np.array([[c, -s, 0, x], [s, c, 0, y], [0, 0, 1, 0], [0, 0, 0, 1]])
        return self._body.shapes(self._readings.q, pose)

    @property
    def standing(self) -> Any:
        """The verdict to show: the refusal for which the robot is stopped, else the last one."""
        safety = self._safety
        refused = safety is not None and (
            safety.state == SafetyMode.RECOVERY
            or (safety.state == SafetyMode.ESTOPPED and safety.source == "kernel")
        )
        return (self._refusal if refused else None) or self.verdict

    def hit_point(self) -> tuple[float, float, float] | None:
        """Centre of the voxel that the verdict names, in m in the map's frame."""
        verdict = self.standing
        if verdict is None or not verdict.hit.startswith("voxel "):
            return None
        if verdict.header.frame_id != self.voxels.header.frame_id:
            return None
        return verdict.hit_point.x, verdict.hit_point.y, verdict.hit_point.z

    def hit_shapes(self) -> list[int]:
        """Indices of those `shapes` that belong to links named in the verdict."""
        verdict = self.standing
        if verdict is None or verdict.status != VerdictStatus.REJECTED:
            return []
        named = {verdict.link, verdict.hit}
        return [i for i, link in enumerate(self._body.shape_links) if link in named]

    def lines(self) -> list[str]:
        """The caption of a render."""
        data = self.data()
        healthy = "healthy" if data["healthy"] else "UNHEALTHY"
        faults = [f"{s['name']}: {s['detail']}" for s in data["sensors"] if s["detail"]]
        first = (
            f"{data['occupied']} occupied cells of {data['resolution_m'] * 100:g} cm in "
            f"'{data['frame']}', measured {data['age_s']:.2f} s ago, {healthy}"
        )
        return [first + "".join(f"; {f}" for f in faults), f"verdict: {data['verdict']}"]

    def data(self) -> dict[str, Any]:
        """The snapshot as a dictionary for JSON."""
        voxels = self.voxels
        return {
            "frame": voxels.header.frame_id,
            "stamp_ns": stamp_ns(voxels),
            "age_s": round((self._now() - stamp_ns(voxels)) / NS, 3),
            "resolution_m": voxels.resolution,
            "origin": [voxels.origin.x, voxels.origin.y, voxels.origin.z],
            "dims": [int(n) for n in voxels.dims],
            "occupied": int(np.count_nonzero(self.grid.cells)),
            "unknown": int(np.unpackbits(voxels.unknown).sum()) if len(voxels.unknown) else None,
            "healthy": bool(voxels.healthy),
            "sensors": [
                {
                    "name": sensor.name,
                    "state": SensorState(sensor.state).name.lower(),
                    "rate_hz": round(float(sensor.rate), 2),
                    "detail": sensor.detail,
                }
                for sensor in voxels.sensors
            ],
            "base": list(self.base),
            "verdict": self._last(),
            "hit": self._hit(),
        }

    def _now(self) -> int:
        """Graph time in ns, simulated or not: the stamp of the newest state or heartbeat."""
        heartbeat = 0 if self._safety is None else stamp_ns(self._safety)
        return max(self._readings.stamp_ns, heartbeat)

    def _hit(self) -> dict[str, Any] | None:
        verdict, point = self.standing, self.hit_point()
        if verdict is None or not verdict.hit:
            return None
        at = None if point is None else [round(value, 4) for value in point]
        return {"link": verdict.link, "what": verdict.hit, "at": at}

    def _last(self) -> str:
        if (verdict := self.standing) is not None:
            status = _STATUS[min(int(verdict.status), 3)]
            return f"{status}: {verdict.detail or verdict.reason}"
        if self._safety is not None:
            return f"none heard; the kernel: {self._safety.reason} {self._safety.detail}".strip()
        return "none heard"

    def _on_voxels(self, message: Any) -> None:
        self.voxels = message

    def _on_verdict(self, message: Any) -> None:
        self.verdict = message

    def _on_refusal(self, message: Any) -> None:
        self._refusal = message

    def _on_safety(self, message: Any) -> None:
        self._safety = message

    def _on_odom(self, message: Any) -> None:
        self._odom = message

    def _on_world(self, message: Any) -> None:
        self._attached.take(message, self._known.source, self._node.now())
        self._body.hold(p for told in self._attached.all() for p in told)
