"""Mapping: makes the voxel map from depth sensors and publishes it with its health."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openral.errors import ConfigError, ExtrapolationError, TransformError
from openral.graph import topics
from openral.graph.pinned import Pinned, SoleSource
from openral.graph.sealed import SealedPublisher, Secret
from openral.graph.states import SensorState
from openral.graph.topics import LATCHED, SENSOR, VOXELS, WORLD
from openral.graph.voxel_message import occupancy_voxels
from openral.graph.world_lists import WorldLists, attached
from openral.manifest.robot import RobotDescription
from openral.manifest.sensor import DepthCamera
from openral.manifest.sensor_frame import sensor_frame
from openral.ros import msg
from openral.ros.clock import NS
from openral.ros.node.node import Node
from openral.ros.node.subscription import Subscription
from openral.ros.stamps import time_message
from openral.ros.tf import Buffer
from openral.world.body import Body
from openral.world.joint_history import JointHistory
from openral.world.sensor_watch import SensorWatch
from openral.world.view_queue import View, ViewQueue
from openral.world.voxel_map import VoxelMap
from openral.world.world_parameters import ODOM_FRAME, WorldParameters

Matrix = NDArray[np.float64]


class Mapping:
    """Maintains the map of one robot.

    The owner calls `work` whenever joint positions were received: a view is inserted once the
    robot's pose at its time is known.
    """

    def __init__(
        self,
        node: Node,
        key: Secret,
        robot: RobotDescription,
        settings: WorldParameters,
        joints: JointHistory,
        frames: Buffer,
    ) -> None:
        """`frames` serves transforms if the map's frame is not one of the robot's own."""
        self._key = key
        self._node, self._robot, self._settings = node, robot, settings
        self._joints, self._frames = joints, frames
        self.body = Body(robot)
        self.map = VoxelMap(settings.map_options(robot))
        self.frame = settings.fixed_frame(robot)
        limit = robot.safety.voxels_max_age_s
        self._limit_ns = round(limit * NS)
        self.queues = [
            ViewQueue(sensor, SensorWatch(sensor.name, limit), settings, node.now)
            for sensor in settings.depth_sensors(robot)
        ]
        self._mounts = {q.sensor.name: sensor_frame(robot, q.sensor) for q in self.queues}
        self._begun = False
        self._decayed_ns = 0
        self._attached_unseen: set[str] = set()
        self._hidden: set[str] = set()
        """Attached objects whose volume at the time of attachment is hidden in the map."""
        self._attached = WorldLists(attached)
        self._attaching = Pinned(f"attached objects on {WORLD}")

    def open(self) -> list[Callable[[], None]]:
        """Starts subscriptions and publishers; returns the calls that end them."""
        node = self._node
        with node.context.presence.batch_announcements():
            kind = "openral_msgs/msg/OccupancyVoxels"
            self._voxels = SealedPublisher(node.create_publisher, self._key, kind, VOXELS, SENSOR)
            self._centres = node.create_publisher(msg.PointCloud2, topics.VOXEL_POINTS, SENSOR)
            known = node.create_subscription(
                msg.WorldCollision,
                WORLD,
                lambda told: self._on_world(told, known.source),
                LATCHED,
            )
            made = [known]
            for queue in self.queues:
                made += self._listen(queue)
            service = node.create_service("std_srvs/srv/Trigger", topics.CLEAR_MAP, self._on_clear)
        timer = node.create_timer(1 / self._settings.health_hz, self.tell_health)
        return [
            partial(node.destroy_timer, timer),
            partial(node.destroy_service, service),
            *(partial(node.destroy_subscription, one) for one in made),
            partial(node.destroy_publisher, self._centres),
            *(partial(node.destroy_publisher, end) for end in self._voxels.endpoints),
        ]

    def _listen(self, queue: ViewQueue) -> list[Any]:
        name = queue.sensor.name
        if self._settings.input == "points":
            return [
                self._watch(
                    queue, msg.PointCloud2, topics.camera(name, "points"), queue.take_points
                )
            ]
        return [
            self._watch(queue, msg.CameraInfo, topics.camera(name, "camera_info"), queue.take_info),
            self._watch(queue, msg.Image, topics.camera(name, "depth"), queue.take_depth),
        ]

    def _watch(
        self, queue: ViewQueue, kind: Any, topic: str, take: Callable[[Any], None]
    ) -> Subscription:
        """Subscribes to a sensor's topic of one publisher; with two the sensor is unusable."""
        sole = SoleSource(topic)

        def see(message: Any) -> None:
            if fault := sole.fault(made.source):
                queue.watch.failed(SensorState.MISCONFIGURED, fault)
                return
            take(message)
            self.work()

        made = self._node.create_subscription(kind, topic, see, SENSOR)
        return made

    def forget(self) -> None:
        """Clears the map: time was set back, so old measurements are meaningless now."""
        for queue in self.queues:
            queue.forget()
        self.map.forget()
        self._begun, self._decayed_ns = False, 0

    def work(self) -> None:
        """Inserts all views whose pose is known, and publishes the map if there were any."""
        changed = False
        for queue in self.queues:
            while queue.waiting and self._place(queue, queue.waiting[0]):
                queue.waiting.popleft()
                changed = True
        if changed:
            self._publish()

    def tell_health(self) -> None:
        """Drops stale attached objects and publishes the map while it is unhealthy."""
        self._hold_attached()
        if not self.healthy:
            self._publish()

    @property
    def healthy(self) -> bool:
        """Whether the map is based on fresh measurements of every sensor that it needs."""
        now = self._node.now()
        return bool(self.queues) and all(
            q.watch.state(now)[0] is SensorState.OK for q in self.queues
        )

    def health(self) -> list[Any]:
        """A SensorHealth for each sensor."""
        now = self._node.now()
        return [queue.watch.message(now) for queue in self.queues]

    def _place(self, queue: ViewQueue, view: View) -> bool:
        """Inserts or discards a view; False: its pose is not known yet."""
        q = self._joints.at(view.stamp_ns)
        try:
            if q is None:
                raise ExtrapolationError("where the joints were at its time is not known")
            camera, base = self._poses(queue.sensor, view.stamp_ns, q)
        except ExtrapolationError as error:
            if self._node.now() - view.stamp_ns < self._limit_ns:
                return False
            queue.watch.failed(SensorState.STALE, str(error))
            return True
        except TransformError as error:
            queue.watch.failed(SensorState.MISCONFIGURED, str(error))
            return True
        if reason := queue.frozen(view, camera):
            queue.watch.failed(SensorState.STALE, reason)
            return True
        self._insert(queue, view, camera, base, q)
        queue.watch.used(view.stamp_ns)
        return True

    def _poses(self, sensor: DepthCamera, stamp: int, q: Matrix) -> tuple[Matrix, Matrix]:
        """Poses of sensor and base in the map's frame, each 4×4.

        From the joints alone where that frame is the robot's, because any node can publish /tf.
        """
        robot = self._robot
        links = self.body.link_poses(q)
        link, pose = self._mounts[sensor.name]
        if self.frame == robot.base_frame:
            return links[link] @ pose, np.eye(4)
        if self.frame in (robot.root, ODOM_FRAME):
            base = np.asarray(np.linalg.inv(links[robot.root]), float)
            return base @ links[link] @ pose, base
        find = self._frames.lookup
        camera = find(self.frame, sensor.frame_id, stamp).matrix()
        return camera, find(self.frame, robot.base_frame, stamp).matrix()

    def _insert(
        self, queue: ViewQueue, view: View, camera: Matrix, base: Matrix, q: Matrix
    ) -> None:
        body, held = self.body.parts(q, base)
        self.map.follow(*base[:3, 3].tolist())
        if not self._begun:
            self.map.assume_free(body)
            self._begun = True
        reach = queue.sensor.range_m
        if view.lens is None:
            self.map.see_points(view.values, camera, reach, body, held)
        else:
            self.map.see_depth(view.values, view.lens, camera, reach, body, held)
        every = self._settings.decay_s * NS
        if every and not 0 <= view.stamp_ns - self._decayed_ns < every:
            if self._decayed_ns:
                self.map.decay(body)
            self._decayed_ns = view.stamp_ns
        self._hide_held(q, base)

    def _hide_held(self, q: Matrix, base: Matrix) -> None:
        """Hides the former volume of an attached object, until it is released or observed again."""
        if not self._hidden <= set(self.body.held):
            self.map.show()
            self._hidden = set()
        if self._attached_unseen:
            self.map.hide(self.body.shapes(q, base, self._attached_unseen))
            self._hidden |= self._attached_unseen
            self._attached_unseen = set()

    def _on_world(self, message: Any, source: int) -> None:
        if message.sealed:  # the run's own list: objects of the scene, nothing attached
            return
        if attached(message):
            try:
                self._attaching.take(source)
            except ConfigError as error:  # then nothing is removed from the map
                self._attached = WorldLists(attached)
                self._hold_attached()
                self._node.log.error("nothing is attached", reason=str(error), once="attached")
                return
        self._attached.take(message, source, self._node.now())
        self._hold_attached()

    def _hold_attached(self) -> None:
        # An object that is no longer published is mapped again: it must not hide anything for good.
        self._attached.forget_old(self._node.now(), self._robot.safety.world_max_age_s)
        try:
            fresh = self.body.hold(p for told in self._attached.all() for p in told)
        except ConfigError as error:
            text = str(error)
            self._node.log.error("attached objects cannot be used", reason=text, once=text)
            return
        self._attached_unseen = (self._attached_unseen | set(fresh)) & set(self.body.held)

    def _on_clear(self, request: Any, response: Any) -> Any:
        self.map.forget()
        self._attaching.release()
        self._begun = False
        response.success, response.message = True, "everything is unknown"
        return response

    # Published messages

    def message(self) -> Any:
        """The map as OccupancyVoxels, stamped with the oldest measurement that it relies on."""
        return occupancy_voxels(
            self._header(),
            self.map.origin,
            self.map.options.resolution_m,
            self.map.dims,
            self._blocking(),
            self.map.unknown_bits(),
            self.health(),
            self.healthy,
        )

    def _blocking(self) -> NDArray[np.uint8]:
        """One bit per cell, set where the robot must not enter."""
        bits = self.map.occupied_bits()
        return bits | self.map.unknown_bits() if self._settings.unknown == "occupied" else bits

    def _header(self) -> msg.Header:
        stamp = min((queue.watch.stamp_ns for queue in self.queues), default=0)
        return msg.Header(stamp=time_message(stamp), frame_id=self.frame)

    def _publish(self) -> None:
        self._voxels.publish(self.message())
        self._centres.publish(self._cloud)

    def _cloud(self) -> msg.PointCloud2:
        data = self.map.centres(self._blocking())
        fields = [msg.PointField(n, 4 * i, msg.PointField.FLOAT32, 1) for i, n in enumerate("xyz")]
        return msg.PointCloud2(
            header=self._header(),
            height=1,
            width=len(data),
            fields=fields,
            point_step=12,
            row_step=12 * len(data),
            data=data.view(np.uint8).ravel(),
            is_dense=True,
        )
