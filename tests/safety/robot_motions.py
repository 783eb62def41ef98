"""A motion of a robot said in every control mode, and a search for motions that end badly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from openral.hal.execution.tool_ik import ToolIK
from openral.manifest import RobotDescription, load_robot
from openral.manifest.kinematics import Kinematics
from openral.manifest.parts import EndEffector
from openral.safety import Box, Kernel, Obstacle
from openral.safety.robot_model import grasping_links
from tests.safety.helpers import NOW, M, chunk, composite

Array = NDArray[np.float64]
ROWS = 20
FAST = 0.85  # share of the speed limits: not refused for its speed


@dataclass(frozen=True)
class Motion:
    """A straight joint path from a start, moved by one hand's chain."""

    robot: RobotDescription
    hand: EndEffector
    start: Array
    goal: Array
    pace: float = FAST
    dt: float = 0.0
    """Seconds a row; 0: what the pace makes it."""

    def __post_init__(self) -> None:
        if self.dt == 0.0:
            object.__setattr__(self, "dt", self._fastest())

    @property
    def path(self) -> Array:
        return self.start + np.linspace(0, 1, ROWS + 1)[1:, None] * (self.goal - self.start)

    @property
    def names(self) -> list[str]:
        return [self.robot.joint_names[i] for i in arm(self.robot, self.hand).columns]

    def covered(self, mode: M) -> Array:
        """Poses that a robot told to move so takes; one that coasts is checked again soon."""
        safety = self.robot.safety
        until = safety.recheck_s + safety.stop_s / 2
        share = until / (ROWS * self.dt) if mode is M.JOINT_TORQUE else 1.0
        return self.start + share * (self.path - self.start)

    def _fastest(self) -> float:
        """Seconds a row that keep joints and tool to their share of the speed limits."""
        steps = np.abs(self.goal - self.start) / ROWS
        speed = np.array([joint.limits.velocity for joint in self.robot.driven if joint.limits])
        safety = self.robot.safety
        shift, turn = self._deltas().reshape(-1, 2, 3).transpose(1, 0, 2)
        return float(
            max(
                (steps / speed).max(),
                np.linalg.norm(shift, axis=1).max() / safety.ee_speed_m_s,
                np.linalg.norm(turn, axis=1).max() / safety.ee_angular_rad_s,
            )
            / self.pace
        )

    def _poses(self) -> list[Array]:
        return [arm(self.robot, self.hand).pose(q) for q in (self.start, *self.path)]

    def _deltas(self) -> Array:
        poses = np.array(self._poses())
        turns = poses[1:, :3, :3] @ poses[:-1, :3, :3].transpose(0, 2, 1)
        shifts = np.diff(poses[:, :3, 3], axis=0)
        return np.hstack([shifts, Rotation.from_matrix(turns).as_rotvec()])

    def chunk(self, mode: M) -> Any:
        """The motion as a chunk; in torque mode the robot is already moving, and coasts."""
        columns, hand = arm(self.robot, self.hand).columns, self.hand.name
        rows = self.path[:, columns]
        steps = np.diff(np.vstack([self.start, self.path]), axis=0)[:, columns]
        match mode:
            case M.JOINT_POSITION | M.JOINT_TRAJECTORY:
                return chunk(mode, rows, dt=self.dt, joint_names=self.names)
            case M.JOINT_VELOCITY:
                return chunk(mode, steps / self.dt, dt=self.dt, joint_names=self.names)
            case M.JOINT_TORQUE:
                return chunk(mode, 0 * rows, dt=self.dt, joint_names=self.names)
            case M.CARTESIAN_POSE:
                poses = np.array(self._poses()[1:])
                quats = Rotation.from_matrix(poses[:, :3, :3]).as_quat()
                return chunk(mode, np.hstack([poses[:, :3, 3], quats]), dt=self.dt, name=hand)
            case M.CARTESIAN_DELTA:
                return chunk(mode, self._deltas(), dt=self.dt, name=hand)
            case M.CARTESIAN_TWIST:
                return chunk(mode, self._deltas() / self.dt, dt=self.dt, name=hand)
        assert mode is M.COMPOSITE_MODE, mode
        half = len(columns) // 2
        parts = [
            chunk(M.JOINT_POSITION, part, dt=self.dt, joint_names=names)
            for part, names in (
                (rows[:, :half], self.names[:half]),
                (rows[:, half:], self.names[half:]),
            )
        ]
        if self.hand.gripper:
            parts.append(chunk(M.GRIPPER_BINARY, np.ones((ROWS, 1)), name=hand))
        if M.BODY_TWIST in self.robot.control_modes:
            parts.append(chunk(M.BODY_TWIST, np.zeros((ROWS, 3))))
        return composite(parts, dt=self.dt)

    def kernel(self, mode: M, obstacles: tuple[Obstacle, ...] = ()) -> Kernel:
        """A kernel that sees the robot at the start of this motion."""
        coasting = (self.goal - self.start) / (ROWS * self.dt) if mode is M.JOINT_TORQUE else None
        return seen(self.robot, self.start, obstacles, coasting)


def seen(
    robot: RobotDescription, q: Any, obstacles: Any = (), velocity: Array | None = None
) -> Kernel:
    """A kernel that has just measured the robot there, among these obstacles."""
    kernel = Kernel(robot)
    kernel.set_state(q, velocity, NOW)
    kernel.set_world(obstacles, NOW)
    if robot.base_joints:
        kernel.set_base((0.0, 0.0, 0.0), NOW)
    return kernel


@cache
def _arm(robot_id: str, hand: str) -> ToolIK:
    robot = load_robot(robot_id)
    return ToolIK(robot, next(e for e in robot.end_effectors if e.name == hand))


def arm(robot: RobotDescription, hand: EndEffector) -> ToolIK:
    """The chain that carries a hand."""
    return _arm(robot.id, hand.name)


def _somewhere(robot: RobotDescription, hand: EndEffector, rng: np.random.Generator) -> Array:
    """Home, with the joints of one arm anywhere well inside their limits."""
    q = np.array(robot.home_position)
    for i in arm(robot, hand).columns:
        low, high = np.clip(robot.driven[i].position_range, -3.0, 3.0)
        q[i] = rng.uniform(low + 0.05 * (high - low), high - 0.05 * (high - low))
    return q


def into_itself(robot: RobotDescription, mode: M, tries: int = 4000) -> Iterator[Motion]:
    """Fast motions from poses that are fine into self-collisions."""
    hand = robot.end_effectors[0]
    kernel = seen(robot, robot.home_position)
    rng = np.random.default_rng(7)
    home = np.array(robot.home_position)
    near = min(robot.safety.self_margin_m + 0.01, kernel.clearance(home)[1] - 1e-3)
    shares = np.linspace(0, 1, 100)[:, None]
    for _ in range(tries):
        hit = _somewhere(robot, hand, rng)
        if kernel.clearance(hit)[1] > -0.02:
            continue
        line = home + shares * (hit - home)
        clear = [kernel.clearance(q)[1] for q in line]
        first = next(i for i, c in enumerate(clear) if c < near)
        deep = next(i for i, c in enumerate(clear) if c < -0.02 or i == len(clear) - 1)
        motion = Motion(robot, hand, line[max(first - 1, 0)], line[deep])
        touched = min(kernel.clearance(q)[1] for q in motion.covered(mode))
        if _inside(motion) and touched < robot.safety.self_margin_m - 1e-3:
            yield motion


def _direction(way: Array) -> Array:
    return way / float(np.abs(way).max())


def _inside(motion: Motion) -> bool:
    """Whether joints and tool keep to their ranges."""
    robot = motion.robot
    low, high = np.array([joint.position_range for joint in robot.driven]).T
    if ((motion.goal < low) | (motion.goal > high)).any():
        return False
    space = robot.safety.workspace
    places = np.array([arm(robot, motion.hand).pose(q)[:3, 3] for q in motion.path])
    return space is None or bool(((places > space.low) & (places < space.high)).all())


def into_a_box(robot: RobotDescription, mode: M, tries: int = 300) -> Iterator[tuple[Motion, Box]]:
    """Motions from home that are accepted, each with a box that stands in its way."""
    hand = robot.end_effectors[0]
    rng = np.random.default_rng(11)
    home = np.array(robot.home_position)
    free = seen(robot, home)
    margin = robot.safety.margin_m
    for _ in range(tries):
        way = _direction(_somewhere(robot, hand, rng) - home)
        pace = float(rng.choice([0.1, 0.03] if mode.is_cartesian else [FAST, 0.3, 0.1]))
        motion = Motion(robot, hand, home, home + rng.uniform(0.1, 0.6) * way, pace)
        if not _inside(motion) or not motion.kernel(mode).validate(motion.chunk(mode), NOW):
            continue
        box = Box("crate", _ahead(motion, mode), (0.02, 0.02, 0.02))
        free.set_world([box], NOW)
        touched = min(free.clearance(q)[0] for q in motion.covered(mode))
        if free.clearance(home)[0] > margin + 0.003 and touched < margin - 1e-3:
            yield motion, box


def _ahead(motion: Motion, mode: M) -> tuple[float, float, float]:
    """A place that the hand comes to; a robot that coasts must have it right before it."""
    before, radius = _hand_place(motion, 0.0)
    after, _ = _hand_place(motion, 1.0)
    if mode is M.JOINT_TORQUE:
        gap = radius + 0.02 * np.sqrt(3) + motion.robot.safety.margin_m + 0.005
        after = before + gap * (after - before) / max(float(np.linalg.norm(after - before)), 1e-6)
    x, y, z = after
    return float(x), float(y), float(z)


def _hand_place(motion: Motion, share: float) -> tuple[Array, float]:
    """The middle of the hand's last capsule after that share of the motion, and its radius."""
    robot, link = motion.robot, motion.hand.link
    while not robot.link(link).capsules or link in grasping_links(robot):
        link = robot.parent_joint[link].parent
    capsule = robot.link(link).capsules[0]
    kinematics = Kinematics(robot)
    poses = kinematics.poses(motion.start + share * (motion.goal - motion.start))
    base = np.linalg.inv(poses[kinematics.links.index(robot.base_frame)])
    middle = np.array([*(np.array(capsule.p0) + capsule.p1) / 2, 1.0])
    return (base @ poses[kinematics.links.index(link)] @ middle)[:3], capsule.radius
