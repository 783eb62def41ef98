"""BusObserver: assembles a skill's observations from the graph's topics."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openral.errors import PerceptionStale, TransformError
from openral.graph.joint_readings import JointReadings
from openral.graph.states import PrimitiveShape
from openral.manifest import Kinematics, RobotDescription
from openral.ros.clock import NS
from openral.ros.node.node import Node
from openral.ros.qos import SENSOR, STATE, QoS
from openral.ros.stamps import stamp_ns
from openral.ros.tf import Buffer, Rigid, from_message
from openral.sim.rollout import Image, Observation, StaticBox
from openral.skill import topics
from openral.skill.runner.camera_frames import CameraFrames
from openral.skill.spaces.state_vector import StateVector

Vector = NDArray[np.float64]

_OK, _SILENT = 0, 1
_WORLD_AGE_S = 0.5
_AHEAD_S = 0.05
"""A stamp further ahead of the clock than this is not a valid measurement time."""


class BusObserver:
    """Subscribed from `open` to `close`; to cameras only once a skill needs them."""

    def __init__(self, node: Node, robot: RobotDescription, lock: RLock) -> None:
        """`lock` is held while a message is received, and by callers that need one state."""
        self._node, self._robot, self._lock = node, robot, lock
        self._kinematics = Kinematics(robot)
        self._readings = JointReadings(robot)
        self._frames = Buffer()
        self._world: Any = None
        self._since_ns = 0
        self._undo: list[Callable[[], None]] = []
        self.cameras = CameraFrames(node, robot)

    def open(self) -> None:
        """Subscribes to joint states, world state and static transforms."""
        self._hear("sensor_msgs/msg/JointState", topics.JOINT_STATES, self._readings.take, SENSOR)
        world, take = "openral_msgs/msg/WorldState", partial(setattr, self, "_world")
        self._world_heard = self._hear(world, topics.WORLD_STATE, take, STATE)
        static = partial(self._frames.receive, static=True)
        self._hear("tf2_msgs/msg/TFMessage", "/tf_static", static, QoS(latched=True, depth=100))

    def close(self) -> None:
        """Unsubscribes."""
        self.cameras.close()
        while self._undo:
            self._undo.pop()()

    def _hear(self, kind: str, topic: str, take: Callable[[Any], None], qos: QoS) -> Any:
        def callback(message: Any) -> None:
            with self._lock:
                take(message)

        made = self._node.create_subscription(kind, topic, callback, qos)
        self._undo.append(partial(self._node.destroy_subscription, made))
        return made

    # Known before the start

    @property
    def root_pose(self) -> Vector:
        """Pose of the robot's root in the world, 4×4; identity if no transform was received."""
        try:
            return self._frames.lookup(topics.WORLD_FRAME, self._robot.root).matrix()
        except TransformError:
            return np.eye(4)

    @property
    def knows_world(self) -> bool:
        """Whether a list of known obstacles was received, even an empty one."""
        return bool(self._feeds(topics.WORLD))

    @property
    def obstacles(self) -> tuple[StaticBox, ...]:
        """Bounding boxes of known obstacles, without attached objects, in the root frame.

        Raises PerceptionStale if the pose of one is unknown.
        """
        if lacking := self._lost(topics.WORLD):
            raise PerceptionStale(lacking)
        told = self._world.obstacles if self._world is not None else ()
        things = [thing for thing in told if not thing.attached_link]
        placed = zip(things, self._root_poses(things), strict=True)
        return tuple(StaticBox(thing.id, pose, _half(thing)) for thing, pose in placed)

    @property
    def object_halves(self) -> dict[str, tuple[float, float, float]]:
        """Half extents of the task's objects by name, in m."""
        objects = self._world.objects if self._world is not None else ()
        return {primitive.id: _half(primitive) for primitive in objects}

    def look_anew(self) -> None:
        """From now on, only objects that were observed after this call are accepted."""
        self._since_ns = self._node.now()

    # The present observation

    def missing(self, cameras: Collection[str], objects: bool) -> str:
        """Which part of an observation is missing or stale, in a sentence; empty: none."""
        if not self._readings.complete:
            return f"no complete joint state with velocities was heard on {topics.JOINT_STATES}"
        age = (self._node.now() - self._readings.stamp_ns) / NS
        limit = max(self._robot.safety.state_max_age_s, 0.1)
        if not -_AHEAD_S <= age <= limit:
            return f"the joint state was measured {age:.3f} s ago (limit {limit:g} s)"
        return self._lacking_world(objects) or self.cameras.missing(cameras)

    def _lacking_world(self, objects: bool) -> str:
        world = self._world
        if world is None:
            expected = objects or self._world_heard.publisher_count > 0
            return f"no world state was heard on {topics.WORLD_STATE}" if expected else ""
        age = (self._node.now() - stamp_ns(world.joints)) / NS
        if not -_AHEAD_S <= age <= _WORLD_AGE_S:
            return f"the world state is of {age:.3f} s ago (limit {_WORLD_AGE_S:g} s)"
        feeds = self._feeds(topics.OBJECTS)
        if (objects and not feeds) or any(feed.state == _SILENT for feed in feeds):
            return f"no objects were heard on {topics.OBJECTS}"
        if feeds and stamp_ns(world) < self._since_ns:
            return "no objects were seen since this episode began"
        return self._lost(topics.OBJECTS)

    def observe(self, state: StateVector | None, cameras: Collection[str]) -> Observation:
        """The present observation; PerceptionStale if part of it is missing or stale."""
        if lacking := self.missing(cameras, objects=False):
            raise PerceptionStale(lacking)
        positions, velocities = self._readings.q.copy(), self._readings.qd.copy()
        images: dict[str, Image] = self.cameras.images(cameras)
        return Observation(
            positions,
            velocities,
            images,
            self._seen_objects(),
            self._readings.stamp_ns,
            np.zeros(0) if state is None else state.read(positions, velocities),
        )

    @property
    def positions(self) -> Vector:
        """The joint positions measured last, (dof,)."""
        return self._readings.q.copy()

    def _seen_objects(self) -> dict[str, Vector]:
        objects = self._world.objects if self._world is not None else ()
        names = [thing.id for thing in objects]
        return dict(zip(names, self._root_poses(objects), strict=True))

    def _feeds(self, topic: str) -> list[Any]:
        """Health of the source of a topic, as the world state reports it."""
        sensors = self._world.sensors if self._world is not None else ()
        return [feed for feed in sensors if feed.name == topic]

    def _lost(self, topic: str) -> str:
        """Why the world state lacks part of what a topic reports; empty: it lacks nothing."""
        return next((str(feed.detail) for feed in self._feeds(topic) if feed.state != _OK), "")

    def _root_poses(self, things: Sequence[Any]) -> list[Vector]:
        """Poses in the root frame, which is odometry's: x y z, then quaternion w x y z."""
        if not things:
            return []
        links, names = self._kinematics.poses(self._readings.q), self._kinematics.links
        base = Rigid.from_matrix(links[names.index(self._robot.base_frame)])
        if self._world.has_base:
            base = from_message(self._world.base.pose)  # as it was when their poses were computed
        poses = []
        for thing in things:
            frame = base
            if held_by := thing.attached_link:
                frame = Rigid.from_matrix(links[names.index(held_by)])
            seen = frame @ from_message(thing.pose)
            poses.append(np.r_[seen.translation, seen.rotation.as_quat(scalar_first=True)])
        return poses


def _half(thing: Any) -> tuple[float, float, float]:
    """Half extents of the bounding box of a primitive, in m."""
    x, y, z = (float(size) for size in thing.size)
    if thing.shape == PrimitiveShape.BOX:
        return x / 2, y / 2, z / 2
    return (x, x, x) if thing.shape == PrimitiveShape.SPHERE else (x, x, x + y / 2)
