"""Inputs of the kernel node: the robot's state, known obstacles and the voxel map."""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from openral.errors import ConfigError, CorruptMessage
from openral.graph import topics
from openral.graph.joint_readings import JointReadings
from openral.graph.obstacles import VoxelGrid
from openral.graph.pinned import Pinned
from openral.graph.sealed import Secret, subscribe_sealed
from openral.ros.clock import NS
from openral.ros.codec import types
from openral.ros.node.node import Node
from openral.ros.node.subscription import Subscription
from openral.ros.qos import SENSOR
from openral.ros.stamps import stamp_ns
from openral.safety.kernel import Kernel
from openral.safety.node.candidate import FairLimit
from openral.safety.node.evidence import Evidence
from openral.safety.node.input_thread import InputThread
from openral.safety.node.known_objects import KnownObjects, KnownWorld
from openral.safety.node.map_cover import MapCover
from openral.safety.node.obstacle_views import spoil_voxels, tell_voxels
from openral.safety.node.verdict_message import Place

_VOXELS = "openral_msgs/msg/OccupancyVoxels"
_WORLD = "openral_msgs/msg/WorldCollision"
_OWN = 0
"""The source number of this run's own HAL; publishers have other numbers."""
_LIST_BYTES = 256 * 1024
_LISTS_HZ, _LISTS_BURST = 50.0, 20
_MAP_BYTES = 20 * 1024 * 1024
"""Limit for the largest map: 1 MB as bits with unknown cells, 17 MB as a list of cells."""
_SKEW_NS = 10_000_000


class KernelInputs:
    """Subscribes to joint states, odometry, obstacles and voxels; keeps them for evidence."""

    def __init__(
        self, node: Node, kernel: Kernel, key: Secret, unknown_blocks: bool, external_map: bool
    ) -> None:
        """`external_map`: the map comes from one publisher outside the run and is not sealed."""
        self._node, self._key = node, key
        self._kernel = kernel
        self._external_map = external_map
        self._unknown_blocks = unknown_blocks
        self._readings = JointReadings(kernel.robot)
        self._evidence = Evidence(self._readings)
        self._complaints: dict[str, str] = {}
        self._odom_frame = ""
        self._voxel_frame = ""
        self._known = KnownObjects(kernel)
        self._known_lock = threading.Lock()
        """Lists arrive on the input thread; odometry and resets on the executor's."""
        self._limit = FairLimit(_LISTS_HZ, _LISTS_BURST)
        self._map_source = Pinned(topics.VOXELS)
        self._cover = MapCover(kernel.robot)
        self.settle: Callable[[], None] = lambda: None
        """Waits until everything received has reached the kernel: for graphs on one thread."""

    def open(self) -> list[Callable[[], None]]:
        """Subscribes; returns the calls that undo it."""
        thread = self._thread = InputThread()
        self.settle = thread.settle
        others = self._node.create_subscription(
            _WORLD,
            topics.WORLD,
            lambda payload: self._offer_list(payload, others.source),
            topics.LATCHED,
            raw=True,
        )
        sealed = partial(subscribe_sealed, self._node, self._key)
        made = [
            others,
            sealed(_WORLD, topics.WORLD, self._offer_own_list, topics.LATCHED, raw=True),
            sealed("sensor_msgs/msg/JointState", topics.JOINT_STATES, self._on_joints, SENSOR),
            self._open_map(),
        ]
        if self._kernel.robot.base_joints:
            made.append(sealed("nav_msgs/msg/Odometry", topics.ODOM, self._on_odom, SENSOR))
        ends = [partial(self._node.destroy_subscription, subscription) for subscription in made]
        return [thread.close, *ends]

    def _open_map(self) -> Subscription:
        if not self._external_map:
            take = partial(self._offer_map, 0)
            return subscribe_sealed(
                self._node, self._key, _VOXELS, topics.VOXELS, take, SENSOR, raw=True
            )
        maps = self._node.create_subscription(
            _VOXELS,
            topics.VOXELS,
            lambda payload: self._offer_map(maps.source, payload),
            SENSOR,
            raw=True,
        )
        return maps

    def state_fault(self) -> str:
        """Why the robot's state cannot be relied on; empty if it can."""
        if not self._readings.complete:
            return f"no complete joint state with velocities was heard on {topics.JOINT_STATES}"
        age = self._node.now() - self._readings.stamp_ns
        limit = self._kernel.robot.safety.state_max_age_s
        if not -_SKEW_NS <= age <= limit * NS:
            return f"the joint state was measured {age / NS:.3f} s ago (limit {limit:g} s)"
        return ""

    def fresh_until(self, now_ns: int) -> dict[str, int]:
        """Until when each input that is fresh now stays fresh, in ns of graph time."""
        safety, evidence = self._kernel.robot.safety, self._evidence
        stamps: dict[str, tuple[int, float]] = {}
        if self._readings.complete:
            stamps["joint states"] = (self._readings.stamp_ns, safety.state_max_age_s)
        if evidence.trail:
            stamps["odometry"] = (evidence.trail[-1][1], safety.state_max_age_s)
        if evidence.world is not None:
            stamps["known obstacles"] = (evidence.world.stamp_ns, safety.world_max_age_s)
        if evidence.voxels is not None:
            stamps["voxel map"] = (evidence.voxels[1], safety.voxels_max_age_s)
        until = {name: stamp + round(age_s * NS) for name, (stamp, age_s) in stamps.items()}
        return {name: ns for name, ns in until.items() if ns >= now_ns}

    def clearance(self) -> float:
        """Least distance to the world and between links at the measured pose in m, at most 0.5."""
        return min(self._kernel.clearance(self._readings.q))

    def forget_dead(self) -> str:
        """Drops known objects that are no longer published; returns a text with their ids.

        Also accepts a new publisher of the voxel map.
        """
        self._map_source.release()
        with self._known_lock:
            gone = self._known.forget_old(self._node.now())
            if gone is None:
                return ""
            self._use("obstacles", lambda: self._keep(self._known.tell()))
        which = ", ".join(gone) or "none were in it"
        self._node.log.warning("a list of known objects is not kept up: forgotten", objects=which)
        return f"; forgot known objects that nobody tells of any more ({which[:300]})"

    def margin_hint(self) -> str:
        """A warning for the operator if the robot is inside a margin; else empty."""
        safety = self._kernel.robot.safety
        world, own = self._kernel.clearance(self._readings.q)
        if world >= safety.margin_m and own >= safety.self_margin_m:
            return ""
        return (
            f"; but the robot is inside the margin ({world * 1e3:.1f} mm to the world, "
            f"{own * 1e3:.1f} mm to itself): use recover"
        )

    def place_of(self, cell: Sequence[int]) -> Place | None:
        """Position of a voxel's centre: its indices mean nothing once the map has shifted."""
        if self._evidence.voxels is None:
            return None
        grid = self._evidence.voxels[0]
        x, y, z = (o + (i + 0.5) * grid.resolution for o, i in zip(grid.origin, cell, strict=True))
        return Place(self._voxel_frame, x, y, z)

    def evidence(self, payload: bytes, now_ns: int, recovering: bool) -> str:
        """JSON with all inputs of the verdict on this candidate."""
        return self._evidence.of(payload, now_ns, recovering)

    def _on_joints(self, message: Any) -> None:
        # Sealed by the owner of the clock, whose /clock message may still be in transit.
        if self._node.clock.simulated is not None:
            self._node.clock.simulated.advance(stamp_ns(message))
        self._readings.take(message)
        self._readings.tell(self._kernel)

    def _on_odom(self, message: Any) -> None:
        self._odom_frame = message.header.frame_id
        pose, turn = message.pose.pose.position, message.pose.pose.orientation
        yaw = math.atan2(
            2 * (turn.w * turn.z + turn.x * turn.y), 1 - 2 * (turn.y * turn.y + turn.z * turn.z)
        )
        stamp = stamp_ns(message)
        self._use("odometry", lambda: self._take_base((pose.x, pose.y, yaw), stamp))
        with self._known_lock:
            if self._known.heard_base(self._odom_frame, stamp):
                self._use("obstacles", lambda: self._keep(self._known.tell()))

    def _take_base(self, pose: tuple[float, float, float], stamp: int) -> None:
        self._kernel.set_base(pose, stamp)
        self._evidence.trail.append((pose, stamp))

    def _offer_own_list(self, payload: bytes) -> None:
        self._thread.offer(_OWN, lambda: self._on_list(payload, _OWN))

    def _offer_list(self, payload: bytes, source: int) -> None:
        """Takes a list from outside the run: size and rate are limited before it is decoded."""
        if len(payload) > _LIST_BYTES:
            self._thread.offer(source, lambda: self._refuse_list(len(payload), source))
        elif self._limit.allow(time.monotonic(), source):
            self._thread.offer(source, lambda: self._on_list(payload, source))

    def _on_list(self, payload: bytes, source: int) -> None:
        try:
            message = types.decode(_WORLD, payload)
        except CorruptMessage as error:
            self._node.log.error("a list of known objects cannot be read", reason=str(error))
            return
        if message.sealed and source != _OWN:  # this run's own list, which also arrives sealed
            return
        now = self._node.now()
        with self._known_lock:
            self._use("obstacles", lambda: self._keep(self._known.take(message, source, now)))

    def _refuse_list(self, size: int, source: int) -> None:
        text = f"a list of known objects of {size} bytes (at most {_LIST_BYTES})"
        with self._known_lock:
            self._use("obstacles", lambda: self._known.refuse(ConfigError(text), source))

    def _keep(self, world: KnownWorld | None) -> None:
        self._evidence.world = world

    def _offer_map(self, source: int, payload: bytes) -> None:
        self._thread.offer(
            topics.VOXELS, lambda: self._use("voxels", lambda: self._take_voxels(payload, source))
        )

    def _take_voxels(self, payload: bytes, source: int) -> None:
        if source:
            self._pin_map(source)
        if len(payload) > _MAP_BYTES:
            spoil_voxels(self._kernel, self._node.now())
            raise ConfigError(f"a voxel map of {len(payload)} bytes (at most {_MAP_BYTES})")
        message = types.decode(_VOXELS, payload)
        grid = tell_voxels(
            self._kernel, message, self._unknown_blocks, self._in_map, self._odom_frame
        )
        self._evidence.voxels = grid, stamp_ns(message)
        self._voxel_frame = message.header.frame_id

    def _pin_map(self, source: int) -> None:
        try:
            if self._map_source.take(source):
                self._node.log.info("the voxel map comes from outside", publisher=source)
        except ConfigError:
            spoil_voxels(self._kernel, self._node.now())
            raise

    def _in_map(self, grid: VoxelGrid, stamp: int) -> None:
        self._cover.require(self._kernel, grid, stamp, self._readings.q.copy())

    def _use(self, what: str, take: Callable[[], None]) -> None:
        try:
            take()
        except (ConfigError, CorruptMessage) as error:
            gist = re.sub(r"\d[\d.]*", "#", str(error))  # log once, whatever its numbers
            if self._complaints.get(what) != gist:
                self._complaints[what] = gist
                self._node.log.error(f"{what} cannot be used", reason=str(error))
