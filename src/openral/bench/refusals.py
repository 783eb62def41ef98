"""Small harmless motions from the home pose, and which of them the kernel refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from openral.bench.work import chunk
from openral.graph.obstacles import Box, Obstacle
from openral.manifest import ControlMode, load_robot
from openral.manifest.kinematics import Kinematics
from openral.manifest.robot import RobotDescription
from openral.safety.kernel import Kernel

NOW = 1_000_000_000
AXES = {"+x": (1, 0, 0), "-x": (-1, 0, 0), "+y": (0, 1, 0), "-y": (0, -1, 0), "+z": (0, 0, 1),
        "-z": (0, 0, -1)}  # fmt: skip
HEIGHTS = (0.02, 0.1)
VELOCITY_CHUNKS = 100
TORQUE_CHUNKS = 20


def table(name: str) -> list[dict[str, Any]]:
    """One row per kind of motion: how many were proposed, how many refused, and the refusals."""
    robot = load_robot(name)
    kinds: dict[str, list[Any]] = {}
    for kind, label, motion, world in motions(robot):
        kinds.setdefault(kind, []).append((label, motion, world))
    return [_row(robot, kind, asked) for kind, asked in kinds.items()]


def motions(robot: RobotDescription) -> Iterator[tuple[str, str, Any, list[Obstacle]]]:
    """Yields kind, label, chunk and obstacles of every motion in the table."""
    modes = set(robot.control_modes)
    hands = [e.name for e in robot.end_effectors]
    if ControlMode.CARTESIAN_DELTA in modes:
        for hand in hands:
            for axis, way in AXES.items():
                for kind, step, rows in (("1 cm in one row", 0.01, 1), ("5 cm", 0.005, 10)):
                    yield f"cartesian, {kind}", f"{hand} {axis}", _delta(hand, way, step, rows), []
        for height in HEIGHTS:
            for hand in hands:
                for axis in ("+x", "-x", "+y", "-y"):
                    kind = f"5 cm along a table {height * 100:g} cm below"
                    world = _table(robot, hand, height)
                    yield kind, f"{hand} {axis}", _delta(hand, AXES[axis], 0.005, 10), world
    yield from _joint_motions(robot)


def _joint_motions(robot: RobotDescription) -> Iterator[tuple[str, str, Any, list[Obstacle]]]:
    body = [j for j in robot.driven if j.role not in ("gripper", "hand", "base")]
    names = [j.name for j in body]
    top = np.array([j.limits.velocity for j in body if j.limits])
    low, high = np.array([j.position_range for j in body], float).T
    home = np.array([robot.home[name] for name in names])
    rng = np.random.default_rng(7)
    for i in range(VELOCITY_CHUNKS):
        speeds = np.clip(rng.normal(0.0, 0.15, len(body)), -0.3, 0.3) * np.minimum(top, 2.0)
        # Move away from a nearby limit: rows that exceed one are rightly refused.
        end = home + speeds * 4 * 0.05 * (1 + robot.safety.rate_jitter)
        speeds = np.where((end < low) | (end > high), -speeds, speeds)
        rows = np.tile(speeds, (4, 1))
        yield "velocity", str(i), chunk(ControlMode.JOINT_VELOCITY, rows, joint_names=names), []
    if ControlMode.JOINT_TORQUE not in robot.control_modes:
        return
    effort = np.array([j.limits.effort for j in body if j.limits])
    for i in range(TORQUE_CHUNKS):
        rows = np.tile(effort * rng.uniform(-0.02, 0.02, len(body)), (2, 1))
        yield "torque", str(i), chunk(ControlMode.JOINT_TORQUE, rows, joint_names=names), []


def _delta(hand: str, way: tuple[int, int, int], step: float, rows: int) -> Any:
    row = [*(step * np.array(way, float)), 0.0, 0.0, 0.0]
    return chunk(ControlMode.CARTESIAN_DELTA, np.tile(row, (rows, 1)), name=hand)


def _table(robot: RobotDescription, hand: str, height: float) -> list[Obstacle]:
    """A small table `height` m below the hand: the lowest of its link's capsules and its TCP."""
    effector = next(e for e in robot.end_effectors if e.name == hand)
    kinematics = Kinematics(robot)
    pose = kinematics.poses(np.array(robot.home_position))[kinematics.links.index(effector.link)]
    root = kinematics.poses(np.array(robot.home_position))[kinematics.links.index(robot.base_frame)]
    pose = np.linalg.inv(root) @ pose
    tip = (pose @ np.array([*effector.tcp.xyz, 1.0]))[:3]
    low = float(tip[2])
    for link in robot.links:
        if link.name == effector.link:
            for capsule in link.capsules:
                for end in (capsule.p0, capsule.p1):
                    low = min(low, float((pose @ np.array([*end, 1.0]))[2]) - capsule.radius)
    centre = (float(tip[0]), float(tip[1]), low - height - 0.01)
    return [Box("table", centre, (0.08, 0.08, 0.01))]


def _row(robot: RobotDescription, kind: str, asked: list[Any]) -> dict[str, Any]:
    refused: dict[str, str] = {}
    for label, motion, world in asked:
        kernel = Kernel(robot)
        kernel.set_state(robot.home_position, stamp_ns=NOW)
        kernel.set_base((0.0, 0.0, 0.0), NOW)
        kernel.set_world(world, NOW)
        verdict = kernel.validate(motion, NOW)
        if not verdict.accepted:
            refused[label] = str(verdict)
    return {"robot": robot.id, "motion": kind, "asked": len(asked), "refused": len(refused),
            "verdicts": refused}  # fmt: skip
