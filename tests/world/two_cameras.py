"""An arm between two depth cameras, on a bus without a wire: a test says what they see."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from openral.graph import topics
from openral.graph.run_key import RunKey
from openral.graph.sealed import SealedPublisher
from openral.hal.publishers.robot_tf import fixed_frames
from openral.hal.sensors.camera_info import camera_info
from openral.hal.sensors.depth import depth_message
from openral.manifest import load_robot
from openral.manifest.library import robot_path
from openral.manifest.sensor import DepthCamera
from openral.ros import msg
from openral.ros.clock import NS
from openral.ros.codec import types
from openral.ros.lifecycle.machine import Outcome
from openral.ros.node.context import Context
from openral.ros.node.executor import Executor
from openral.ros.node.node import Node
from openral.ros.qos import LATCHED, SENSOR, QoS
from openral.ros.stamps import time_message
from openral.ros.transport.memory_transport import MemoryTransport
from openral.world import topics as world_topics
from openral.world.node import WorldNode

SIZE = (96, 72)
PLACES = {"left": (0.4, 0.8, 0.5), "right": (0.4, -0.8, 0.5)}
"""Both look along +x; what they see at 1.0125 is in the middle of a cell."""
CLOCK = "rosgraph_msgs/msg/Clock"


def manifest(folder: Path) -> str:
    """A fixed arm with two depth cameras."""
    described = yaml.safe_load(robot_path("franka_panda").read_text())
    base = described["base_frame"]
    described["sensors"] = [
        {"name": name, "modality": "depth", "mount": {"link": base, "xyz": list(xyz)},
         "fovy_deg": 60.0, "resolution": list(SIZE), "rate_hz": 10.0}
        for name, xyz in PLACES.items()
    ]  # fmt: skip
    path = folder / "franka_panda" / "robot.yaml"
    path.parent.mkdir()
    path.write_text(yaml.safe_dump(described))
    return str(path)


class Speaker:
    """What the robot's drivers say."""

    def __init__(self, node: Node, robot_ref: str) -> None:
        self.key = RunKey.create()
        self.robot = load_robot(robot_ref)
        self.cameras = {s.name: s for s in self.robot.sensors if isinstance(s, DepthCamera)}
        self.q = np.array(self.robot.home_position)
        make = node.create_publisher
        sealed = partial(SealedPublisher, make, self.key)
        self._clock = sealed(CLOCK, "/clock", QoS(depth=1))
        self._joints = sealed("sensor_msgs/msg/JointState", topics.JOINT_STATES, SENSOR)
        self._world = make(msg.WorldCollision, topics.WORLD, LATCHED)
        self._static = make(msg.TFMessage, "/tf_static", LATCHED)
        self._static.publish(msg.TFMessage(fixed_frames(self.robot)))
        self._info, self._depth, self._points = (
            {name: make(kind, topic(name), SENSOR) for name in self.cameras}
            for kind, topic in (
                (msg.CameraInfo, world_topics.camera_info),
                (msg.Image, world_topics.depth),
                (msg.PointCloud2, world_topics.points),
            )
        )

    def tell_time(self, now_ns: int) -> None:
        self._clock.publish(types.new(CLOCK, clock=time_message(now_ns)))

    def tell_joints(self, stamp_ns: int) -> None:
        self._joints.publish(
            msg.JointState(
                header=msg.Header(stamp=time_message(stamp_ns)),
                name=self.robot.joint_names,
                position=self.q,
                velocity=np.zeros(self.q.size),
            )
        )

    def tell_depth(self, name: str, stamp_ns: int, metres: float | Any) -> None:
        camera = self.cameras[name]
        header = msg.Header(stamp=time_message(stamp_ns), frame_id=camera.frame_id)
        picture = np.broadcast_to(np.float32(metres), SIZE[::-1])
        self._info[name].publish(camera_info(header, SIZE, camera.lens))
        self._depth[name].publish(depth_message(header, picture))

    def tell_points(self, name: str, stamp_ns: int, points: Any) -> None:
        """Points in the base frame."""
        camera = self.cameras[name]
        x, y, z = (np.asarray(points, float) - PLACES[name]).T
        data = np.ascontiguousarray(np.stack([-y, -z, x], 1), np.float32)  # the optical frame
        fields = [msg.PointField(n, 4 * i, 7, 1) for i, n in enumerate("xyz")]
        header = msg.Header(stamp=time_message(stamp_ns), frame_id=camera.frame_id)
        cloud = msg.PointCloud2(
            header=header, height=1, width=len(data), fields=fields, point_step=12,
            row_step=12 * len(data), data=data.view(np.uint8).ravel(),
        )  # fmt: skip
        self._points[name].publish(cloud)

    def tell_objects(self, stamp_ns: int, *primitives: Any) -> None:
        header = msg.Header(stamp=time_message(stamp_ns), frame_id=self.robot.base_frame)
        self._world.publish(msg.WorldCollision(header=header, primitives=list(primitives)))


class TwoCameras:
    """The world's node alone, stepped by hand."""

    def __init__(self, folder: Path, **parameters: Any) -> None:
        self._context = Context(transport=MemoryTransport())
        self.executor = Executor(self._context)
        ref = self.folder = manifest(folder)
        given = {"robot_yaml": ref, "use_sim_time": True, "size_m": 3.2, **parameters}
        self.node = Node("robot", context=self._context)
        self.speaker = Speaker(self.node, ref)
        self.world = WorldNode(self.speaker.key, context=self._context, parameters=given)
        self.now = 10 * NS
        self.maps: list[Any] = []
        self.clouds: list[Any] = []
        hear = self.node.create_subscription
        hear(msg.OccupancyVoxels, topics.VOXELS, self.maps.append, SENSOR)
        hear(msg.PointCloud2, world_topics.VOXEL_POINTS, self.clouds.append, SENSOR)
        self.executor.add_node(self.node)
        self.executor.add_node(self.world)
        self.speaker.tell_time(self.now)
        for step in ("configure", "activate"):
            assert self.world.trigger(step) is Outcome.SUCCESS, self.world.failure_reason
        self.wait(0.0)

    @property
    def limit_s(self) -> float:
        return self.speaker.robot.safety.voxels_max_age_s

    def wait(self, seconds: float) -> None:
        """Time passes, and the joints are measured."""
        self.now += round(seconds * NS)
        self.speaker.tell_time(self.now)
        self.speaker.tell_joints(self.now)
        self.executor.spin_until_idle()

    def see(self, metres: float | Any = 1.0125, *names: str, late_s: float = 0.0) -> Any:
        """Cameras, both if none is named, see a wall; returns the map."""
        for name in names or self.speaker.cameras:
            self.speaker.tell_depth(name, self.now - round(late_s * NS), metres)
        self.executor.spin_until_idle()
        return self.maps[-1]

    def see_points(self, points: Any, *names: str) -> Any:
        for name in names or self.speaker.cameras:
            self.speaker.tell_points(name, self.now, points)
        self.executor.spin_until_idle()
        return self.maps[-1]

    def attach(self, *primitives: Any) -> None:
        self.speaker.tell_objects(self.now, *primitives)
        self.executor.spin_until_idle()

    def call(self, service: str) -> Any:
        client = self.node.create_client("std_srvs/srv/Trigger", service)
        future = client.call_async(client.request_class())
        assert self.executor.spin_until(future, 20.0)
        self.node.destroy_client(client)
        return future.result()

    def states(self) -> dict[str, int]:
        """What the newest map says of its sensors."""
        return {sensor.name: sensor.state for sensor in self.maps[-1].sensors}

    def close(self) -> None:
        self.executor.shutdown()
        self._context.close()


def cells(map_: Any, bits: Any = None) -> Any:
    """A map's bits by x, y and z; those that block if none are given."""
    nx, ny, nz = (int(n) for n in map_.dims)
    flat = np.unpackbits(map_.bits if bits is None else bits, count=nx * ny * nz, bitorder="little")
    return flat.reshape(nz, ny, nx).transpose(2, 1, 0).astype(bool)


def at(map_: Any, points: Any, bits: Any = None) -> Any:
    """Whether the cells at those points are set."""
    origin = np.array([map_.origin.x, map_.origin.y, map_.origin.z])
    index = np.floor((np.atleast_2d(points) - origin) / map_.resolution + 1e-6).astype(int)
    return cells(map_, bits)[tuple(index.T)]
