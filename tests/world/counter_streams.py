"""Streams that drive the arm into the kitchen counter, one for each control mode."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from openral.manifest import ControlMode
from openral.manifest.kinematics import matrix
from tests.hal.chunks import chunk, slot
from tests.world.kitchen_rig import KINEMATICS, ROBOT, Pose

ARM = [name for name in ROBOT.joint_names if name.startswith("panda_joint")]
COLUMNS = [ROBOT.joint_names.index(name) for name in ARM]
HAND = ROBOT.end_effectors[0]
TUCKED = np.array([1.2, -0.9, 0.0, -2.4, 0.0, 1.8, 0.785])
COUNTER_EDGE_Y, COUNTER_TOP = 1.86, 0.86
DT, ROWS = 0.05, 3
EFFORT = np.array([ROBOT.joint(name).limits.effort for name in ARM])
STIFFNESS, DAMPING = np.array([[30, 60, 30, 30, 3, 3, 3], [15, 30, 15, 10, 0.5, 0.5, 0.5]])
SPARE = 0.45
"""From the ends of the joints, so that cartesian modes have room for ways of their own."""
SHARE = 0.01
"""Of their effort that motors are told: torque is proven for all that it could do."""
MODES = [
    "joint_position",
    "joint_velocity",
    "joint_trajectory",
    "joint_torque",
    "cartesian_delta",
    "cartesian_pose",
    "cartesian_twist",
    "composite_mode",
]
Vector = NDArray[np.float64]


def tucked() -> Vector:
    q = np.array(ROBOT.home_position)
    q[COLUMNS] = TUCKED
    return q


def tool(q: Vector) -> Vector:
    """The tool in the base frame."""
    poses = KINEMATICS.poses(q)
    base = poses[KINEMATICS.links.index(ROBOT.base_frame)]
    hand = poses[KINEMATICS.links.index(HAND.link)] @ matrix(HAND.tcp.xyz, HAND.tcp.rpy)
    return np.asarray(np.linalg.inv(base) @ hand)


class Way:
    """From pose to pose, straight in joint space and at rest in each."""

    def __init__(self, poses: list[Vector], speeds: Sequence[float]) -> None:
        self.poses = poses
        ways = [np.abs(b - a).max() for a, b in itertools.pairwise(poses)]
        self.times = [1.875 * float(way / speed) for way, speed in zip(ways, speeds, strict=True)]
        self.seconds = sum(self.times)

    def at(self, seconds: float) -> Vector:
        """The joints at a time; before it begins and after it has ended they rest."""
        leg = 0
        while leg + 1 < len(self.times) and seconds > self.times[leg]:
            seconds -= self.times[leg]
            leg += 1
        s = min(max(seconds / self.times[leg], 0.0), 1.0)
        a, b = self.poses[leg : leg + 2]
        return a + (b - a) * (s**3 * (10 - 15 * s + 6 * s**2))


def into_the_counter(start: Pose, rng: np.random.Generator) -> Way:
    """From the tucked pose, over the counter, to one whose hand is inside it.

    The hand comes down flat: fingers have no geometry for the kernel, so they must not be first.
    """
    ahead = COUNTER_EDGE_Y - start[1] + float(rng.uniform(0.16, 0.22))
    side = float(rng.uniform(-0.15, 0.1))
    above = reach(np.array([ahead - 0.1, side, COUNTER_TOP + 0.2]), 0.0)
    inside = reach(np.array([ahead, side, COUNTER_TOP - 0.12]), -0.2)
    speeds = [float(rng.uniform(0.45, 0.65)), float(rng.uniform(0.2, 0.4))]
    return Way([tucked(), above, inside], speeds)


def reach(goal: Vector, pitch: float) -> Vector:
    """Joints that bring the tool there, pointing ahead and upwards by a pitch."""
    low, high = np.array([ROBOT.joint(name).position_range for name in ARM]).T
    wanted = Rotation.from_euler("y", -np.pi / 2 - pitch) * Rotation.from_euler("x", np.pi)
    q = tucked()

    def miss(arm: Vector) -> Vector:
        q[COLUMNS] = arm
        pose = tool(q)
        turn = (wanted.inv() * Rotation.from_matrix(pose[:3, :3])).as_rotvec()
        return np.concatenate([10 * (pose[:3, 3] - goal), 0.3 * turn, 0.1 * arm[[0, 2, 4]]])

    guess = np.clip([0.0, 1.0, 0.0, -1.2, 0.0, 3.5, 0.785], low + SPARE, high - SPARE)
    found = least_squares(miss, guess, bounds=(low + SPARE, high - SPARE))
    assert np.linalg.norm(miss(found.x)[:3]) < 0.8
    q[COLUMNS] = found.x
    return q.copy()


def stream(
    mode: str, way: Way, joints: Callable[[], tuple[Vector, Vector]]
) -> Callable[[float], Any]:
    """Makes the next chunk of a mode, for a time along the way.

    `joints` are the measured positions and velocities. Torque drives the last leg of a way.
    """
    last_leg = way.seconds - way.times[-1]

    def arm_rows(t: float, first: int = 1) -> Vector:
        return np.array([way.at(t + DT * i)[COLUMNS] for i in range(first, ROWS + 1)])

    def tools(t: float) -> list[Vector]:
        return [tool(way.at(t + DT * i)) for i in range(ROWS + 1)]

    def deltas(t: float) -> Vector:
        return np.array([_delta(a, b) for a, b in itertools.pairwise(tools(t))])

    def torques(t: float) -> Vector:
        q, qd = joints()
        push = STIFFNESS * (way.at(t) - q)[COLUMNS] - DAMPING * qd[COLUMNS]
        return np.tile(np.clip(push, -SHARE * EFFORT, SHARE * EFFORT), (2, 1))

    def make(t: float) -> Any:
        if mode == "joint_torque" and t >= last_leg:
            return chunk(slot(ControlMode.JOINT_TORQUE, torques(t), joints=ARM), dt=DT)
        if mode in ("joint_position", "joint_torque"):
            return chunk(slot(ControlMode.JOINT_POSITION, arm_rows(t), joints=ARM), dt=DT)
        if mode == "joint_trajectory":
            return chunk(slot(ControlMode.JOINT_TRAJECTORY, arm_rows(t), joints=ARM), dt=DT)
        if mode == "joint_velocity":
            rows = np.diff(arm_rows(t, 0), axis=0) / DT
            return chunk(slot(ControlMode.JOINT_VELOCITY, rows, joints=ARM), dt=DT)
        if mode == "cartesian_pose":
            rows = np.array([_pose(p) for p in tools(t)[1:]])
            return chunk(slot(ControlMode.CARTESIAN_POSE, rows), dt=DT)
        if mode == "cartesian_delta":
            return chunk(slot(ControlMode.CARTESIAN_DELTA, deltas(t)), dt=DT)
        if mode == "cartesian_twist":
            return chunk(slot(ControlMode.CARTESIAN_TWIST, deltas(t) / DT), dt=DT)
        return chunk(
            slot(ControlMode.JOINT_POSITION, arm_rows(t), joints=ARM),
            slot(ControlMode.GRIPPER_POSITION, np.full((ROWS, 1), 0.02), name=HAND.name),
            slot(ControlMode.BODY_TWIST, np.zeros((ROWS, 3))),
            dt=DT,
        )

    return make


def _pose(pose: Vector) -> Vector:
    return np.concatenate([pose[:3, 3], Rotation.from_matrix(pose[:3, :3]).as_quat()])


def _delta(a: Vector, b: Vector) -> Vector:
    turn = Rotation.from_matrix(b[:3, :3] @ a[:3, :3].T).as_rotvec()
    return np.concatenate([b[:3, 3] - a[:3, 3], turn])
