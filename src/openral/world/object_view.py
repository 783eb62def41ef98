"""ObjectView: all known and perceived objects, in the present base frame."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

from openral.errors import ConfigError, TransformError, choices
from openral.graph import topics
from openral.graph.states import SensorState
from openral.graph.topics import WORLD
from openral.graph.world_lists import WorldLists
from openral.manifest.robot import RobotDescription
from openral.ros import msg
from openral.ros.clock import NS
from openral.ros.stamps import stamp_ns, time_message
from openral.ros.tf import Buffer
from openral.ros.tf.rigid import Rigid, from_message
from openral.world.sensor_watch import AHEAD_NS

_SEEN_AGE_S = 1.0
_REMEMBERED = 10.0
"""A list is reported as stale for up to this many times its age limit, then dropped."""


class Around(NamedTuple):
    """Obstacles and objects around the robot, with the health of their sources."""

    obstacles: dict[str, Any]
    """Known CollisionPrimitives by id."""
    objects: dict[str, Any]
    """CollisionPrimitives that perception reports, by id."""
    health: list[Any]
    """A SensorHealth for each list; none for a topic on which nothing was received."""


class ObjectView:
    """Lists may be in the base frame at the time of their stamp, or in the odometry frame."""

    def __init__(self, robot: RobotDescription) -> None:
        self._robot = robot
        self.forget()

    def forget(self) -> None:
        """Drops all that was received."""
        self._known: WorldLists[Any] = WorldLists(lambda message: message)
        self._seen: Any = None
        self._odom: Any = None
        self._trail = Buffer()

    def take_known(self, message: Any, source: int, now_ns: int) -> None:
        """Receives a publisher's list of known objects."""
        self._known.take(message, source, now_ns)

    def take_seen(self, message: Any) -> None:
        """Receives the list of objects that perception reports."""
        self._seen = message

    def take_odom(self, odom: Any) -> None:
        """Receives the odometry of a mobile base."""
        self._odom = odom
        at = odom.pose.pose.position
        place = msg.Transform(msg.Vector3(at.x, at.y, at.z), odom.pose.pose.orientation)
        base = msg.TransformStamped(odom.header, self._robot.base_frame, place)
        self._trail.receive(msg.TFMessage([base]))

    @property
    def seen_ns(self) -> int:
        """Stamp of perception's last list in ns; 0: none."""
        return 0 if self._seen is None else stamp_ns(self._seen)

    def now(self, now_ns: int) -> Around:
        """All objects whose pose is known; lists that had to be omitted are reported as stale."""
        around = Around({}, {}, [])
        limit = self._robot.safety.world_max_age_s
        self._known.forget_old(now_ns, _REMEMBERED * limit)
        if abs(now_ns - self.seen_ns) > _REMEMBERED * _SEEN_AGE_S * NS:
            self._seen = None
        try:
            lists = [(told, WORLD, limit, around.obstacles) for told in self._known.all()]
        except ConfigError as error:
            lists, stamp = [], self._known.stamp_ns
            around.health.append(_health(WORLD, SensorState.MISCONFIGURED, stamp, str(error)))
        if self._seen is not None:
            lists.append((self._seen, topics.OBJECTS, _SEEN_AGE_S, around.objects))
        for told, topic, limit_s, found in lists:
            state, detail = SensorState.OK, ""
            try:
                found.update(self._placed(told, now_ns, limit_s))
            except TransformError as error:
                state, detail = SensorState.STALE, str(error)
            around.health.append(_health(topic, state, stamp_ns(told), detail))
        return around

    def _placed(self, told: Any, now_ns: int, limit_s: float) -> dict[str, Any]:
        age = (now_ns - stamp_ns(told)) / NS
        if not -AHEAD_NS / NS <= age <= limit_s:
            raise TransformError(f"objects were observed {age:.1f} s ago (limit {limit_s:g} s)")
        links = [link.name for link in self._robot.links]
        for primitive in told.primitives:
            if (link := primitive.attached_link) and link not in links:
                raise TransformError(
                    f"'{primitive.id}' is held by link '{link}'; {choices(link, links, 'links')}"
                )
        view = self._view(told.header.frame_id, stamp_ns(told))
        return {primitive.id: _seen_from(primitive, view) for primitive in told.primitives}

    def _view(self, frame: str, stamp: int) -> Rigid:
        """Pose of a frame at that time in the present base frame; TransformError if unknown."""
        base = self._robot.base_frame
        if not self._robot.base_joints and frame == base:
            return Rigid.identity()
        fixed = self._odom.header.frame_id if self._odom is not None else ""
        valid = [base, fixed] if fixed else [base]
        if frame not in valid:
            raise TransformError(f"objects in frame '{frame}'; {choices(frame, valid, 'frames')}")
        if self._odom is None:
            raise TransformError("objects seen from a base that drives, and no odometry was heard")
        here = from_message(self._odom.pose.pose).inverse()
        if frame == fixed:
            return here
        if stamp >= stamp_ns(self._odom):
            return Rigid.identity()
        return here @ self._trail.lookup(fixed, base, stamp)


def _seen_from(primitive: Any, view: Rigid) -> Any:
    if primitive.attached_link:
        return primitive
    seen = copy.copy(primitive)
    seen.pose = (view @ from_message(primitive.pose)).to_pose()
    return seen


def _health(topic: str, state: SensorState, stamp: int, detail: str) -> msg.SensorHealth:
    return msg.SensorHealth(name=topic, state=state, stamp=time_message(stamp), detail=detail)
