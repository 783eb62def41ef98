"""BusObserver: what a skill sees and knows, put together from the graph's topics."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from functools import partial
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openral.errors import ConfigError, PerceptionStale, TransformError, choices
from openral.manifest import Kinematics, RobotDescription
from openral.ros.clock import NS
from openral.ros.node import Node
from openral.ros.qos import LATCHED, SENSOR, QoS
from openral.ros.tf import Buffer, Rigid, from_message
from openral.safety.joint_readings import JointReadings
from openral.safety.surroundings import stamp_ns
from openral.safety.world_lists import WorldLists
from openral.sim.rollout import Image, Observation, StaticBox
from openral.skill import topics
from openral.skill.camera_frames import CameraFrames
from openral.skill.state_vector import StateVector

Vector = NDArray[np.float64]

_BOX = 1
_READINGS = 256
_NEAR_S = 0.1
"""The joints must have been measured so close to the time of a list, for a robot that drives."""


class BusObserver:
    """Listens from `open` to `close`; asks for cameras only once a skill needs them."""

    def __init__(self, node: Node, robot: RobotDescription, lock: RLock) -> None:
        """`lock` is held while a message is taken, and by callers who want to see one state."""
        self._node, self._robot, self._lock = node, robot, lock
        self._kinematics = Kinematics(robot)
        self._base = self._kinematics.links.index(robot.base_frame)
        self._readings = JointReadings(robot)
        self._frames = Buffer()
        self._past: deque[tuple[int, Vector]] = deque(maxlen=_READINGS)
        self._world: WorldLists[Any] = WorldLists(lambda told: told)
        self._objects: Any = None
        self._undo: list[Callable[[], None]] = []
        self.cameras = CameraFrames(node, robot)

    def open(self) -> None:
        """Begins to listen."""
        worlds = "openral_msgs/msg/WorldCollision"
        self._hear("sensor_msgs/msg/JointState", topics.JOINT_STATES, self._on_joints, SENSOR)
        known = self._hear(
            worlds, topics.WORLD, lambda told: self._world.take(told, known.source), LATCHED
        )
        self._objects_heard = self._hear(
            worlds, topics.OBJECTS, partial(setattr, self, "_objects"), SENSOR
        )
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

    def _on_joints(self, message: Any) -> None:
        self._readings.take(message)
        if self._readings.complete:
            self._past.append((self._readings.stamp_ns, self._readings.q.copy()))

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
        return bool(self._world)

    @property
    def obstacles(self) -> tuple[StaticBox, ...]:
        """The known boxes in the root's frame; PerceptionStale if it is unknown where they are."""
        try:
            lists = self._world.all()
        except ConfigError as error:
            raise PerceptionStale(str(error)) from None
        found = []
        for told in lists:
            view = self._root_view(told)
            for primitive in told.primitives:
                if primitive.shape == _BOX and not primitive.attached_link:
                    x, y, z = (float(size) / 2 for size in primitive.size)
                    pose = _pose(view, primitive)
                    found.append(StaticBox(primitive.id, pose, (x, y, z)))
        return tuple(found)

    @property
    def object_halves(self) -> dict[str, tuple[float, float, float]]:
        """Half the size of each of the task's objects."""
        halves = {}
        for primitive in self._objects.primitives if self._objects is not None else ():
            x, y, z = (float(size) / 2 for size in primitive.size)
            halves[primitive.id] = (x, y, z)
        return halves

    # What is seen now

    def missing(self, cameras: Collection[str], objects: bool) -> str:
        """What an observation still lacks or is too old for it, in a sentence; empty: nothing."""
        if not self._readings.complete:
            return f"no complete joint state with velocities was heard on {topics.JOINT_STATES}"
        age = (self._node.now() - self._readings.stamp_ns) / NS
        limit = max(self._robot.safety.state_max_age_s, 0.1)
        if age > limit:
            return f"the joint state was measured {age:.3f} s ago (limit {limit:g} s)"
        expected = objects or self._objects_heard.publisher_count > 0
        if expected and self._objects is None:
            return f"no objects were heard on {topics.OBJECTS}"
        try:
            self._seen_objects()
        except PerceptionStale as error:
            return str(error)
        return self.cameras.missing(cameras)

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
        if self._objects is None:
            return {}
        view = self._root_view(self._objects)
        return {primitive.id: _pose(view, primitive) for primitive in self._objects.primitives}

    def _root_view(self, told: Any) -> Rigid:
        """The list's frame in the root's, which is odometry's; PerceptionStale if not known."""
        frame, base, root = told.header.frame_id, self._robot.base_frame, self._robot.root
        if frame == root:
            return Rigid.identity()
        if frame != base:
            raise PerceptionStale(f"objects in frame '{frame}'; {choices(frame, [base, root])}")
        poses = self._kinematics.poses(self._joints_at(stamp_ns(told)))
        return Rigid.from_matrix(poses[self._base])

    def _joints_at(self, stamp: int) -> Vector:
        if not self._robot.base_joints:
            return self._readings.q
        at, near = min(self._past, key=lambda one: abs(one[0] - stamp), default=(0, None))
        if near is None or abs(at - stamp) > _NEAR_S * NS:
            raise PerceptionStale("it is not known where the base was when objects were observed")
        return near


def _pose(view: Rigid, primitive: Any) -> Vector:
    """In the root's frame: x y z, then quaternion w x y z."""
    seen = view @ from_message(primitive.pose)
    return np.concatenate([seen.translation, seen.rotation.as_quat(scalar_first=True)])
