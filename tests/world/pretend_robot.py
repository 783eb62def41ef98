"""A robot that stands in a rendered kitchen and whose depth camera can be broken in every way."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np

from openral.graph import topics
from openral.graph.run_key import RunKey
from openral.graph.sealed import SealedPublisher
from openral.hal.publishers.robot_tf import fixed_frames
from openral.hal.sensors.camera_info import camera_info
from openral.hal.sensors.depth import depth_message, in_range
from openral.manifest import load_robot, load_scene
from openral.manifest.sensor import DepthCamera
from openral.ros import msg
from openral.ros.clock import NS
from openral.ros.qos import LATCHED, SENSOR
from openral.ros.stamps import time_message
from openral.ros.tf.broadcaster import TF_QOS
from openral.world import topics as world_topics
from tests.ros.conftest import Graph

ROBOT = load_robot("panda_mobile")
CAMERA = next(s for s in ROBOT.sensors if isinstance(s, DepthCamera))


@cache
def kitchen_depth() -> Any:
    """What the robot's camera sees at the kitchen's start."""
    from openral.sim.registry import make_rollout

    rollout = make_rollout(load_scene("kitchen"), ROBOT)
    try:
        return in_range(rollout.depth(CAMERA.name), CAMERA.range_m)
    finally:
        rollout.close()


def _stirred(depth: Any) -> Any:
    """Another picture of the same: no real camera measures the very same twice."""
    out = depth.copy()
    out[0, 0] = np.nextafter(out[0, 0], np.float32(9.0))
    return out


class PretendRobot:
    """Publishes joints, odometry, transforms and depth; `fault` changes what the camera says."""

    def __init__(self, graph: Graph) -> None:
        self.node = graph.node("robot", apart=True)
        self.fault = ""
        self.good_ns = 0
        """When the last good picture was taken."""
        self.pose = [0.0, 0.0, 0.0]
        self._frozen: Any = None
        make = self.node.create_publisher
        self.key = RunKey.create()
        sealed = partial(SealedPublisher, make, self.key)
        self._joints = sealed("sensor_msgs/msg/JointState", topics.JOINT_STATES, SENSOR)
        self._odom = sealed("nav_msgs/msg/Odometry", topics.ODOM, SENSOR)
        self._tf = make(msg.TFMessage, "/tf", TF_QOS)
        self._static = make(msg.TFMessage, "/tf_static", LATCHED)
        self._info = make(msg.CameraInfo, world_topics.camera_info(CAMERA.name), SENSOR)
        self._depth = make(msg.Image, world_topics.depth(CAMERA.name), SENSOR)
        self._static.publish(msg.TFMessage(fixed_frames(ROBOT)))
        self.depth = kitchen_depth()
        self.node.create_wall_timer(0.02, self.speak)
        self.node.create_wall_timer(0.1, self.look)

    def speak(self) -> None:
        stamp = self.node.stamp()
        q = np.array(ROBOT.home_position)
        q[:3] = self.pose
        self._joints.publish(
            msg.JointState(
                header=msg.Header(stamp=stamp),
                name=ROBOT.joint_names,
                position=q,
                velocity=np.zeros(q.size),
            )
        )
        x, y, yaw = self.pose
        turn = msg.Quaternion(0.0, 0.0, float(np.sin(yaw / 2)), float(np.cos(yaw / 2)))
        odom = msg.Odometry(
            header=msg.Header(stamp=stamp, frame_id="odom"), child_frame_id=ROBOT.base_frame
        )
        odom.pose.pose = msg.Pose(msg.Point(x, y, 0.0), turn)
        self._odom.publish(odom)
        place = msg.Transform(msg.Vector3(x, y, 0.0), turn)
        self._tf.publish(
            msg.TFMessage([msg.TransformStamped(odom.header, ROBOT.base_frame, place)])
        )

    def look(self) -> None:
        """Sends one picture, or what the fault makes of it."""
        fault = self.fault  # it may change meanwhile, and a picture is good or not
        if fault == "killed":
            return
        now = self.node.now()
        if fault == "delayed by 2 s":
            now -= 2 * NS
        if fault == "stamped ahead":
            now += 3 * NS
        header = msg.Header(stamp=time_message(now), frame_id=CAMERA.frame_id)
        if fault != "the same content":
            self.depth = _stirred(self.depth)
        depth, size = self.depth, CAMERA.resolution
        if fault == "black":
            depth = np.zeros_like(depth)
        if fault == "all NaN":
            depth = np.full_like(depth, np.nan)
        if fault == "no return":
            depth = np.full_like(depth, np.inf)
        if fault == "wrong frame":
            header.frame_id = ROBOT.base_frame
        if fault == "wrong intrinsics size":
            size = (320, 240)
        if fault == "frozen" and self._frozen is not None:
            self._depth.publish(self._frozen)
            return
        self._info.publish(camera_info(header, size, CAMERA.lens))
        picture = depth_message(header, depth)
        self._frozen = picture
        if not fault:
            self.good_ns = now
        self._depth.publish(picture)


FAULTS = [
    "killed",
    "frozen",
    "the same content",
    "delayed by 2 s",
    "stamped ahead",
    "black",
    "all NaN",
    "no return",
    "wrong frame",
    "wrong intrinsics size",
]
