"""Publishes the robot's frames: moving joints on /tf, everything fixed on /tf_static."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from openral.graph.ports import Ports
from openral.hal.graph_time import GraphTime
from openral.hal.snapshot import Snapshot
from openral.manifest import RobotDescription
from openral.manifest.joint import Joint, JointType
from openral.manifest.kinematics import matrix
from openral.manifest.sensor import Lidar
from openral.manifest.sensor_frame import sensor_frame
from openral.ros import msg
from openral.ros.qos import LATCHED
from openral.ros.stamps import time_message
from openral.ros.tf.broadcaster import TF_QOS
from openral.ros.tf.rigid import Rigid, stamped

Matrix = NDArray[np.float64]

WORLD = "world"


class RobotTF:
    """Publishes the manifest's chain; a mobile base's own joints are covered by its odometry."""

    def __init__(
        self,
        ports: Ports,
        robot: RobotDescription,
        time: GraphTime,
        root_pose: Matrix | None = None,
    ) -> None:
        """`root_pose`: the robot's root in the frame `world`, 4×4; None: not known."""
        self._time = time
        self._out = ports.publisher("tf2_msgs/msg/TFMessage", "/tf", TF_QOS)
        self._moving = _Moving(robot)
        static = ports.publisher("tf2_msgs/msg/TFMessage", "/tf_static", LATCHED)
        frames = fixed_frames(robot)
        if root_pose is not None and robot.root != WORLD:
            frames.append(stamped(WORLD, robot.root, 0, Rigid.from_matrix(root_pose)))
        static.publish(msg.TFMessage(frames))

    def publish(self, snapshot: Snapshot, odometry: msg.TransformStamped | None = None) -> None:
        """Publishes one measurement; the base's transform goes into the same message."""
        stamp = time_message(self._time.of(snapshot.stamp_ns))
        self._out.publish(
            lambda: msg.TFMessage(
                self._moving.transforms(snapshot.positions, stamp)
                + ([] if odometry is None else [odometry])
            )
        )


class _Moving:
    """The transforms of all moving joints, mimic joints included."""

    def __init__(self, robot: RobotDescription) -> None:
        column = {name: i for i, name in enumerate(robot.joint_names)}
        joints = [
            joint for joint in robot.joints if joint.moves and joint.name not in robot.base_joints
        ]
        self._frames = [(joint.parent, joint.child) for joint in joints]
        self._columns = [column[j.mimic.joint if j.mimic else j.name] for j in joints]
        self._scale = np.array([j.mimic.multiplier if j.mimic else 1.0 for j in joints])
        self._shift = np.array([j.mimic.offset if j.mimic else 0.0 for j in joints])
        self._slides = np.array([j.type is JointType.PRISMATIC for j in joints], bool)
        axes = np.array([_axis(j) for j in joints]).reshape(-1, 3)
        self._axes = axes
        self._turns = Rotation.from_euler("xyz", [j.origin.rpy for j in joints] or np.zeros((1, 3)))
        self._places = np.array([j.origin.xyz for j in joints], float).reshape(-1, 3)
        self._along = self._turns.apply(axes) if joints else axes

    def transforms(self, q: Matrix, stamp: msg.Time) -> list[msg.TransformStamped]:
        if not self._frames:
            return []
        values = q[self._columns] * self._scale + self._shift
        slide = np.where(self._slides, values, 0.0)[:, None]
        turn = np.where(self._slides, 0.0, values)[:, None]
        places = (self._places + self._along * slide).tolist()
        turns = (self._turns * Rotation.from_rotvec(self._axes * turn)).as_quat().tolist()
        return [
            msg.TransformStamped(
                msg.Header(stamp=stamp, frame_id=parent),
                child,
                msg.Transform(msg.Vector3(*place), msg.Quaternion(*quaternion)),
            )
            for (parent, child), place, quaternion in zip(self._frames, places, turns, strict=True)
        ]


def _axis(joint: Joint) -> Matrix:
    axis = np.array(joint.axis, float)
    return np.asarray(axis / np.linalg.norm(axis))


def fixed_frames(robot: RobotDescription) -> list[msg.TransformStamped]:
    """Transforms of fixed joints, tool centre points, and sensors with their optical frames."""
    links = {link.name for link in robot.links}
    found: dict[str, msg.TransformStamped] = {}

    def add(parent: str, child: str, pose: Matrix) -> None:
        found.setdefault(child, stamped(parent, child, 0, Rigid.from_matrix(pose)))

    for joint in robot.joints:
        if not joint.moves:
            add(joint.parent, joint.child, matrix(joint.origin.xyz, joint.origin.rpy))
    places: list[tuple[str, str, Matrix]] = [
        (effector.link, effector.name, matrix(effector.tcp.xyz, effector.tcp.rpy))
        for effector in robot.end_effectors
    ]
    for sensor in robot.sensors:
        if not isinstance(sensor, Lidar):
            pose = matrix(sensor.mount.xyz, sensor.mount.rpy)
            places.append((sensor.mount.link, sensor.name, pose))
        link, pose = sensor_frame(robot, sensor)
        places.append((link, sensor.frame_id, pose))
    for link, frame, pose in places:
        if frame not in links:  # a link of that name already has a frame
            add(link, frame, pose)
    return list(found.values())
