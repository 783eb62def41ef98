"""Known objects: merges the lists of all publishers of obstacles for the kernel.

Lists are in the base frame as of their stamp, or in the odometry frame. The kernel takes one frame
and one stamp: if a robot has a mobile base and there are several lists, they are merged in the
odometry frame, and obstacles grow by the uncertainty of odometry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from openral.errors import ConfigError
from openral.graph.attached_object import AttachedObject, held_object
from openral.graph.obstacles import Obstacle, Sphere, moved, obstacle
from openral.graph.pinned import Pinned
from openral.graph.world_lists import WorldLists, attached
from openral.ros.stamps import stamp_ns
from openral.safety.kernel import Kernel
from openral.safety.node.obstacle_views import stands_still

_LOST_BASE_M = 0.25
_NAN3 = (float("nan"),) * 3


@dataclass(frozen=True)
class KnownWorld:
    """Known obstacles and attached objects at one time."""

    obstacles: list[Obstacle]
    held: list[AttachedObject]
    """Attached objects: they move with a link of the robot."""
    fixed: bool
    """Whether the obstacles are in the odometry frame; otherwise they are in the base frame."""
    stamp_ns: int
    """Stamp of the oldest list, in ns."""


class KnownObjects:
    """Passes the union of all lists to the kernel whenever one of them changes."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._lists = WorldLists(self._read)
        self._attaching = Pinned("attached objects: they may touch the robot and leave the map")
        self._odom_frame, self._odom_ns, self._waits = "", 0, False

    def take(self, message: Any, source: int, now_ns: int) -> KnownWorld | None:
        """Takes a publisher's WorldCollision; ConfigError after making the world unusable."""
        if not message.sealed and attached(message):
            try:
                self._attaching.take(source)
            except ConfigError as error:
                self._lists.refuse(error, source)
                return self.tell()
        self._lists.take(message, source, now_ns)
        return self.tell()

    def refuse(self, why: ConfigError, source: int) -> None:
        """Makes the world unusable until the publisher sends a valid list; raises `why`."""
        self._lists.refuse(why, source)
        self.tell()

    def heard_base(self, frame: str, stamp: int) -> bool:
        """Records odometry that the kernel has received; returns whether `tell` waited for it."""
        self._odom_frame, self._odom_ns = frame, stamp
        return self._waits

    def forget_old(self, now_ns: int) -> list[str] | None:
        """Drops lists that are no longer published; returns their ids, None if none was dropped.

        Call `tell` to update the kernel.
        """
        self._attaching.release()
        return self._lists.forget_old(now_ns, self._kernel.robot.safety.world_max_age_s)

    def tell(self) -> KnownWorld | None:
        """Passes all lists to the kernel; None if there are none, as if there never had been."""
        self._waits = False
        if not self._lists:
            self._kernel.forget_world()
            return None
        stamp = self._lists.stamp_ns
        try:
            world = self._together(self._lists.all(), stamp)
            self._kernel.set_world(world.obstacles, stamp, world.held, world.fixed)
        except ConfigError:
            _spoil(self._kernel, stamp)
            raise
        return world

    def _read(self, message: Any) -> KnownWorld:
        fixed = stands_still(self._kernel.robot, message, self._odom_frame)
        found = [obstacle(p) for p in message.primitives if not p.attached_link]
        held = [held_object(p) for p in message.primitives if p.attached_link]
        return KnownWorld(found, held, fixed, stamp_ns(message))

    def _together(self, lists: list[KnownWorld], stamp: int) -> KnownWorld:
        held = [thing for told in lists for thing in told.held]
        if len(lists) == 1 or not self._kernel.robot.base_joints:
            found = [thing for told in lists for thing in told.obstacles]
            return KnownWorld(found, held, lists[0].fixed, stamp)
        found = [thing for told in lists for thing in self._standing(told)]
        return KnownWorld(found, held, True, stamp)

    def _standing(self, told: KnownWorld) -> list[Obstacle]:
        """The obstacles of a list in the odometry frame."""
        if told.fixed or not told.obstacles:
            return told.obstacles
        self._waits = self._waits or told.stamp_ns > self._odom_ns
        place = self._kernel.base_at(told.stamp_ns)
        if place is None or place.shift > _LOST_BASE_M:
            raise ConfigError("odometry does not tell where the base was when obstacles were seen")
        return [moved(o, place[:3], place.shift, place.turn) for o in told.obstacles]


def _spoil(kernel: Kernel, stamp: int) -> None:
    try:
        kernel.set_world([Sphere("unusable", _NAN3, float("nan"))], stamp)
    except ConfigError:
        return
