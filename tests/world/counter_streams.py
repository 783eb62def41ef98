"""Streams that drive the arm into the kitchen counter, one for each control mode."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from openral.manifest import ControlMode
from openral.manifest.kinematics import matrix
from tests.hal.chunks import chunk, slot
from tests.world.kitchen_rig import KINEMATICS, ROBOT, Kitchen, Pose

ARM = [name for name in ROBOT.joint_names if name.startswith("panda_joint")]
COLUMNS = [ROBOT.joint_names.index(name) for name in ARM]
HAND = ROBOT.end_effectors[0]
TUCKED = np.array([1.2, -0.9, 0.0, -2.4, 0.0, 1.8, 0.785])
COUNTER_EDGE_Y, COUNTER_TOP = 1.86, 0.86
DT, ROWS = 0.05, 8
EFFORT = np.array([40.0, 40.0, 40.0, 40.0, 8.0, 8.0, 8.0])
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


class IntoTheCounter:
    """A smooth way from the tucked pose to one whose hand is inside the counter."""

    def __init__(self, start: Pose, rng: np.random.Generator) -> None:
        ahead = COUNTER_EDGE_Y - start[1] + float(rng.uniform(0.08, 0.16))
        goal = np.array([ahead, float(rng.uniform(-0.15, 0.1)), COUNTER_TOP - 0.1])
        self.start, self.goal = tucked(), self._reach(goal)
        way = np.abs(self.goal - self.start).max()
        self.seconds = float(1.875 * way / rng.uniform(0.4, 0.6))

    def _reach(self, goal: Vector) -> Vector:
        low, high = np.array([ROBOT.joint(name).position_range for name in ARM]).T
        down = Rotation.from_euler("xyz", [np.pi, 0.0, 0.0])
        q = tucked()

        def miss(arm: Vector) -> Vector:
            q[COLUMNS] = arm
            pose = tool(q)
            turn = (down.inv() * Rotation.from_matrix(pose[:3, :3])).as_rotvec()
            return np.concatenate([10 * (pose[:3, 3] - goal), 0.3 * turn[:2]])

        guess = np.clip([0.0, 0.4, 0.0, -1.8, 0.0, 2.1, 0.785], low + 0.05, high - 0.05)
        found = least_squares(miss, guess, bounds=(low + 0.05, high - 0.05))
        assert np.linalg.norm(miss(found.x)[:3]) < 0.05
        q[COLUMNS] = found.x
        return q.copy()

    def at(self, seconds: float) -> Vector:
        s = min(max(seconds / self.seconds, 0.0), 1.0)
        return self.start + (self.goal - self.start) * (s**3 * (10 - 15 * s + 6 * s**2))


def stream(mode: str, way: IntoTheCounter, kitchen: Kitchen) -> Callable[[float], Any]:
    """Makes the next chunk of a mode at a time since the start."""

    def arm_rows(t: float, first: int = 1) -> Vector:
        return np.array([way.at(t + DT * i)[COLUMNS] for i in range(first, ROWS + 1)])

    def tools(t: float) -> list[Vector]:
        return [tool(way.at(t + DT * i)) for i in range(ROWS + 1)]

    def deltas(t: float) -> Vector:
        poses = tools(t)
        return np.array([_delta(a, b) for a, b in itertools.pairwise(poses)])

    def torques(t: float) -> Vector:
        q, qd = kitchen.q[COLUMNS], np.array(kitchen.hal.read_state().velocities)[COLUMNS]
        gain = np.array([400, 400, 300, 300, 60, 60, 30.0])
        force = gain * (way.at(t + 0.15)[COLUMNS] - q) - 0.15 * gain * qd
        return np.tile(np.clip(force, -EFFORT, EFFORT), (2, 1))

    def make(t: float) -> Any:
        if mode in ("joint_position", "joint_trajectory"):
            return chunk(slot(ControlMode(mode), arm_rows(t), joints=ARM), dt=DT)
        if mode == "joint_velocity":
            rows = np.diff(arm_rows(t, 0), axis=0) / DT
            return chunk(slot(ControlMode.JOINT_VELOCITY, rows, joints=ARM), dt=DT)
        if mode == "joint_torque":
            return chunk(slot(ControlMode.JOINT_TORQUE, torques(t), joints=ARM), dt=DT)
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
