"""The promise: an accepted motion keeps the margin, sampled densely and judged by MuJoCo."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from openral.manifest.robot import RobotDescription
from openral.ros.codec import types
from openral.safety import Kernel
from tests.safety.drawing import random_arm, random_grid, random_world
from tests.safety.helpers import NOW, M, chunk, composite, mobile_robot
from tests.safety.oracle import Oracle

SEEDS = st.integers(0, 2**32 - 1)
FEW = settings(
    max_examples=35,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
    database=None,
)
TINY = 2e-6  # what MuJoCo's own distances may be off by
DT = 0.05
CHUNK = "openral_msgs/msg/ActionChunk"


@dataclass
class Scene:
    """One robot somewhere in a random world, told to the kernel and to the oracle."""

    robot: RobotDescription
    rng: np.random.Generator
    q: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        obstacles = random_world(self.rng, int(self.rng.integers(0, 8)))
        grid = random_grid(self.rng, int(self.rng.integers(0, 25)))
        self.oracle = Oracle(self.robot, obstacles, grid)
        self.kernel = Kernel(self.robot, scalar_only=bool(self.rng.random() < 0.3))
        self.kernel.set_world(obstacles, NOW)
        self.kernel.set_voxels(grid, NOW)
        safety = self.robot.safety
        for _ in range(60):  # somewhere clear, and not far from something
            self.q = self.rng.uniform(-1.2, 1.2, len(self.robot.driven))
            for i, joint in enumerate(self.robot.driven):
                low, high = joint.position_range
                self.q[i] = np.clip(self.q[i], low, high)
            world, own = self.oracle.clearance(self.q)
            if world > safety.margin_m + 0.001 and own > safety.self_margin_m + 0.001:
                break
        self.kernel.set_state(self.q, stamp_ns=NOW)

    def assert_clear(self, q: np.ndarray, base: tuple[float, float, float] = (0, 0, 0)) -> None:
        world, own = self.oracle.clearance(q, base, reach=0.05)
        assert world >= self.robot.safety.margin_m - TINY
        assert own >= self.robot.safety.self_margin_m - TINY

    def assert_path_clear(self, points: list[np.ndarray]) -> None:
        """Along straight lines between the points, off by as much as the tracking error allows."""
        tracking, travel = self.robot.safety.tracking_error, 0.0
        for a, b in itertools.pairwise(points):
            travel += float(np.abs(b - a).max())
            off = min(tracking, travel)
            for t in np.linspace(0, 1, 6):
                self.assert_clear(a + (b - a) * t)
                corner = self.rng.choice([-1.0, 0.0, 1.0], len(a)) * off
                self.assert_clear(a + (b - a) * t + corner)


@FEW
@given(SEEDS)
def test_positions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scene = Scene(random_arm(rng), rng)
    for _ in range(6):
        scene.kernel.reset()
        step = rng.uniform(-1, 1, len(scene.q)) * rng.choice([0.02, 0.08])
        path = [scene.q + step * (i + 1) for i in range(int(rng.integers(1, 12)))]
        mode = M.JOINT_POSITION if rng.random() < 0.5 else M.JOINT_TRAJECTORY
        if scene.kernel.validate(chunk(mode, path), NOW).accepted:
            scene.assert_path_clear([scene.q, *path])


@FEW
@given(SEEDS)
def test_velocities_with_jitter_and_the_stop_after_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scene = Scene(random_arm(rng), rng)
    safety = scene.robot.safety
    for _ in range(6):
        scene.kernel.reset()
        rows = rng.uniform(-1, 1, (int(rng.integers(1, 10)), len(scene.q))) * rng.choice([0.3, 1.2])
        if not scene.kernel.validate(chunk(M.JOINT_VELOCITY, rows), NOW).accepted:
            continue
        jitter = 1 + rng.uniform(-1, 1) * safety.rate_jitter
        path = [scene.q]
        for row in rows:
            path.append(path[-1] + row * DT * jitter)
        path.append(path[-1] + rows[-1] * safety.stop_s * rng.uniform(0, 1) / jitter)
        limits = np.array([j.position_range for j in scene.robot.driven])
        path[-1] = np.clip(path[-1], limits[:, 0], limits[:, 1])
        scene.assert_path_clear(path)


@FEW
@given(SEEDS)
def test_torques_until_the_next_check_and_the_stop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scene = Scene(random_arm(rng), rng)
    safety = scene.robot.safety
    speed = rng.uniform(-0.2, 0.2, len(scene.q)) * rng.choice([0, 1])
    scene.kernel.set_state(scene.q, speed, NOW)
    rows = rng.uniform(-5, 5, (3, len(scene.q)))
    if not scene.kernel.validate(chunk(M.JOINT_TORQUE, rows), NOW).accepted:
        return
    share = np.abs(rows).max() / 50
    for _ in range(20):
        q, v = scene.q.copy(), speed.copy()
        push = rng.uniform(-1, 1, len(q)) * 60 * share
        for _ in range(20):
            v = np.clip(v + push * safety.recheck_s / 20, -2, 2)
            q = q + v * safety.recheck_s / 20
            scene.assert_clear(q)
        scene.assert_clear(q + v * safety.stop_s / 2)


def _twist_rows(rng: np.random.Generator, count: int) -> np.ndarray:
    out = np.zeros((count, 6))
    out[:, :3] = rng.normal(size=3) * 0.006
    out[:, 3:] = rng.normal(size=3) * 0.02
    return out


def _tool(scene: Scene, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scene.oracle.place(q)
    data, body = scene.oracle.data, int(scene.oracle.model.nbody - 1)
    rotation = data.xmat[body].reshape(3, 3).copy()
    return data.xpos[body] + rotation @ scene.robot.end_effectors[0].tcp.xyz, rotation


@settings(FEW, max_examples=30)
@given(SEEDS)
def test_cartesian_rows_and_the_joint_rows_in_their_place(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scene = Scene(random_arm(rng, joints=int(rng.integers(6, 8)), cartesian_step_rad=0.5), rng)
    safety = scene.robot.safety
    for _ in range(4):
        scene.kernel.reset()
        rows = _twist_rows(rng, int(rng.integers(1, 20)))
        mode = M.CARTESIAN_DELTA if rng.random() < 0.5 else M.CARTESIAN_TWIST
        payload = types.encode(chunk(mode, rows if mode is M.CARTESIAN_DELTA else rows / DT))
        verdict = scene.kernel.validate_bytes(payload, NOW)
        if not verdict.accepted:
            continue
        done: Any = types.decode(CHUNK, scene.kernel.action(payload, verdict))
        rates = np.reshape(done.slots[0].data, (done.rows, done.slots[0].width))
        columns = [scene.robot.joint_names.index(n) for n in done.slots[0].joint_names]
        path = [scene.q]
        at, rotation = _tool(scene, scene.q)
        for row, rate in zip(rows, rates, strict=True):
            step = np.zeros(len(scene.q))
            step[columns] = rate * DT
            path.append(path[-1] + step)
            at, rotation = at + row[:3], Rotation.from_rotvec(row[3:]).as_matrix() @ rotation
            there, turned = _tool(scene, path[-1])
            assert np.linalg.norm(there - at) <= safety.cartesian_error_m
            turn = Rotation.from_matrix(rotation.T @ turned).magnitude()
            assert turn <= safety.cartesian_error_rad
        path.append(path[-1] + step / DT * safety.stop_s * rng.uniform(0, 1))
        limits = np.array([j.position_range for j in scene.robot.driven])
        path[-1] = np.clip(path[-1], limits[:, 0], limits[:, 1])
        scene.assert_path_clear(path)


@settings(FEW, max_examples=20)
@given(SEEDS)
def test_a_moving_base_with_a_moving_arm(seed: int) -> None:
    rng = np.random.default_rng(seed)
    robot = mobile_robot(tracking_error=0.0, ee_speed_m_s=20.0, ee_angular_rad_s=20.0)
    obstacles = random_world(rng, 3)
    kernel, oracle = Kernel(robot), Oracle(robot, obstacles)
    kernel.set_state(robot.home_position, stamp_ns=NOW)
    kernel.set_world(obstacles, NOW)
    kernel.set_base((0.3, -0.2, 0.7), NOW)
    names = [j.name for j in robot.driven if j.role == "arm"]
    home = np.array([robot.home[n] for n in names])
    for _ in range(6):
        kernel.reset()
        twist = rng.uniform(-1, 1, 3) * [0.4, 0.4, 0.8]
        step = rng.uniform(-0.02, 0.02, len(names))
        path = np.array([home + step * (i + 1) for i in range(8)])
        parts = composite(
            [
                chunk(M.JOINT_POSITION, path, joint_names=names),
                chunk(M.BODY_TWIST, np.tile(twist, (8, 1))),
            ]
        )
        if not kernel.validate(parts, NOW).accepted:
            continue
        for t in np.linspace(0, 8, 60):
            base = _arc(twist, t * DT)
            q = np.append(home + step * t, robot.home["finger_joint"])
            world, own = oracle.clearance(q, base, reach=0.05)
            assert world >= robot.safety.margin_m - TINY
            assert own >= robot.safety.self_margin_m - TINY


def _arc(twist: np.ndarray, seconds: float) -> tuple[float, float, float]:
    x = y = yaw = 0.0
    for _ in range(200):
        h = seconds / 200
        middle = yaw + twist[2] * h / 2
        x += (twist[0] * np.cos(middle) - twist[1] * np.sin(middle)) * h
        y += (twist[0] * np.sin(middle) + twist[1] * np.cos(middle)) * h
        yaw += twist[2] * h
    return x, y, yaw
