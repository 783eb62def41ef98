"""BusObserver: what a skill sees and knows, put together from the graph's topics."""

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
"""A stamp further ahead of the clock than this is no time of a measurement."""


class BusObserver:
    """Listens from `open` to `close`; asks for cameras only once a skill needs them."""

    def __init__(self, node: Node, robot: RobotDescription, lock: RLock) -> None:
        """`lock` is held while a message is taken, and by callers who want to see one state."""
        self._node, self._robot, self._lock = node, robot, lock
        self._kinematics = Kinematics(robot)
        self._readings = JointReadings(robot)
        self._frames = Buffer()
        self._world: Any = None
        self._since_ns = 0
        self._undo: list[Callable[[], None]] = []
        self.cameras = CameraFrames(node, robot)

    def open(self) -> None:
        """Begins to listen."""
        self._hear("sensor_msgs/msg/JointState", topics.JOINT_STATES, self._readings.take, SENSOR)
        world, take = "openral_msgs/msg/WorldState", partial(setattr, self, "_world")
        self._world_heard = self._hear(world, topics.WORLD_STATE, take, STATE)
        static = partial(self._frames.receive, static=True)
        self._hear("tf2_msgs/msg/TFMessage", "/tf_static", static, QoS(latched=True, depth=100))

    def close(self) -> None:
        """Stops listening."""
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

    # What is known before the start

    @property
    def root_pose(self) -> Vector:
        """The robot's root in the world; where nobody says, the root is level."""
        try:
            return self._frames.lookup(topics.WORLD_FRAME, self._robot.root).matrix()
        except TransformError:
            return np.eye(4)

    @property
    def knows_world(self) -> bool:
        """Whether known obstacles were heard, be it that there are none."""
        return bool(self._feeds(topics.WORLD))

    @property
    def obstacles(self) -> tuple[StaticBox, ...]:
        """Boxes around what is known and stands in the world, in the root's frame.

        PerceptionStale if it is unknown where something is.
        """
        if lacking := self._lost(topics.WORLD):
            raise PerceptionStale(lacking)
        told = self._world.obstacles if self._world is not None else ()
        things = [thing for thing in told if not thing.attached_link]
        placed = zip(things, self._root_poses(things), strict=True)
        return tuple(StaticBox(thing.id, pose, _half(thing)) for thing, pose in placed)

    @property
    def object_halves(self) -> dict[str, tuple[float, float, float]]:
        """Half the size of each of the task's objects."""
        objects = self._world.objects if self._world is not None else ()
        return {primitive.id: _half(primitive) for primitive in objects}

    def look_anew(self) -> None:
        """From here on, objects that were seen before now are not shown."""
        self._since_ns = self._node.now()

    # What is seen now

    def missing(self, cameras: Collection[str], objects: bool) -> str:
        """What an observation still lacks or is too old for it, in a sentence; empty: nothing."""
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
        """What a skill sees now; PerceptionStale if that is not enough or too old."""
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
        """The joints as they were measured last."""
        return self._readings.q.copy()

    def _seen_objects(self) -> dict[str, Vector]:
        objects = self._world.objects if self._world is not None else ()
        names = [thing.id for thing in objects]
        return dict(zip(names, self._root_poses(objects), strict=True))

    def _feeds(self, topic: str) -> list[Any]:
        """How the lists that come on a topic are doing."""
        sensors = self._world.sensors if self._world is not None else ()
        return [feed for feed in sensors if feed.name == topic]

    def _lost(self, topic: str) -> str:
        """Why some of what is told on a topic is not in the world state; empty: all of it is."""
        return next((str(feed.detail) for feed in self._feeds(topic) if feed.state != _OK), "")

    def _root_poses(self, things: Sequence[Any]) -> list[Vector]:
        """In the root's frame, which is odometry's: x y z, then quaternion w x y z."""
        if not things:
            return []
        links, names = self._kinematics.poses(self._readings.q), self._kinematics.links
        base = Rigid.from_matrix(links[names.index(self._robot.base_frame)])
        if self._world.has_base:
            base = from_message(self._world.base.pose)  # as it was when they were placed
        poses = []
        for thing in things:
            frame = base
            if held_by := thing.attached_link:
                frame = Rigid.from_matrix(links[names.index(held_by)])
            seen = frame @ from_message(thing.pose)
            poses.append(np.r_[seen.translation, seen.rotation.as_quat(scalar_first=True)])
        return poses


def _half(thing: Any) -> tuple[float, float, float]:
    """Half the size of a box around it."""
    x, y, z = (float(size) for size in thing.size)
    if thing.shape == PrimitiveShape.BOX:
        return x / 2, y / 2, z / 2
    return (x, x, x) if thing.shape == PrimitiveShape.SPHERE else (x, x, x + y / 2)
