"""Random chunks in every mode for a robot among obstacles, each judged by the kernel and, where it
accepts, by MuJoCo on the robot's meshes along what the robot may do."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from openral.bench.work import chunk, composite
from openral.manifest import ControlMode, load_robot
from openral.manifest.joint import JointRole
from openral.ros.codec import types
from openral.safety import Kernel
from tests.safety.mesh_world import SHAPES, MeshWorld

Array = NDArray[np.float64]
M = ControlMode
CHUNK = "openral_msgs/msg/ActionChunk"
_STEP_M = 0.004  # at most so far between two samples, about


@dataclass
class MeshTally:
    """What was asked and found."""

    chunks: int = 0
    segments: int = 0
    accepted: int = 0
    accepted_segments: int = 0
    samples: int = 0
    wrong: int = 0
    modes: dict[str, int] = field(default_factory=dict)
    """Accepted segments by mode."""
    findings: list[str] = field(default_factory=list)


class MeshTrials:
    """One robot's trials, reproducible by seed."""

    def __init__(
        self, name: str, seed: int, menagerie: Path | None = None, hulls: Path | None = None
    ) -> None:
        self.robot = load_robot(name)
        self.seed = seed
        self.world = MeshWorld(self.robot, menagerie, hulls)
        self.tally = MeshTally()
        self._kernel = Kernel(self.robot)
        self._now = 1_000_000_000
        driven = self.robot.driven
        self._low, self._high = np.array([j.position_range for j in driven]).T
        self._speed = np.array([j.limits.velocity for j in driven if j.limits])
        self._body = np.array(
            [j.role not in (JointRole.GRIPPER, JointRole.HAND, JointRole.BASE) for j in driven]
        )
        self._base = [self.robot.joint_names.index(n) for n in self.robot.base_joints]
        able = set(self.robot.control_modes)
        wanted = (
            M.JOINT_POSITION, M.JOINT_TRAJECTORY, M.JOINT_VELOCITY, M.JOINT_TORQUE,
            M.CARTESIAN_POSE, M.CARTESIAN_DELTA, M.CARTESIAN_TWIST, M.BODY_TWIST, M.COMPOSITE_MODE,
        )  # fmt: skip
        self.modes = [mode for mode in wanted if mode in able]

    def run(self, shots: int, first: int = 0) -> MeshTally:
        """That many chunks, from this number on."""
        for shot in range(first, first + shots):
            self._shot(np.random.default_rng([self.seed, shot]), shot)
        return self.tally

    def _shot(self, rng: np.random.Generator, shot: int) -> None:
        mode = self.modes[int(rng.integers(len(self.modes)))]
        q = self._state(rng)
        rows, dt = int(rng.integers(2, 33)), float(rng.choice([0.02, 0.05, 0.1]))
        path = self._path(rng, q, rows, dt)
        candidate = self._chunk(rng, mode, q, path, dt)
        if candidate is None:
            return
        self.world.put({})
        obstacles = self.world.put(self._things(rng, q, path))
        verdict, done = self._judge(candidate, q, obstacles)
        tally = self.tally
        tally.chunks += 1
        tally.segments += rows
        if not verdict.accepted:
            return
        tally.accepted += 1
        tally.accepted_segments += rows
        tally.modes[str(mode)] = tally.modes.get(str(mode), 0) + rows
        worst, what, where = self._sweep(rng, q, done, mode)
        if worst > 0.0:
            tally.wrong += 1
            tally.findings.append(
                f"{self.robot.id} seed {self.seed} shot {shot} {mode}: {what} is {1e3 * worst:.2f}"
                f" mm closer than the margin at row {where:.2f}"
            )

    def _state(self, rng: np.random.Generator) -> Array:
        low, high = np.maximum(self._low, -2.9), np.minimum(self._high, 2.9)
        home = np.array(self.robot.home_position)
        for _ in range(20):
            share = rng.uniform(0.05, 0.7)
            q: Array = home + share * (rng.uniform(low, high) - home)
            q = np.where(self._body, np.clip(q, self._low, self._high), home)
            self.world.put({})
            if self.world.intrusion(q)[0] <= 0.0:
                return q
        return home

    def _path(self, rng: np.random.Generator, q: Array, rows: int, dt: float) -> Array:
        """Straight or bent joint rows within ranges and speeds, sometimes into the robot itself."""
        speed = 0.9 * self._speed * 10 ** rng.uniform(-2.0, -0.3)
        way = rng.uniform(-1, 1, q.size) * speed * dt * self._body
        bend = np.cos(np.outer(np.arange(rows), 0.2 * rng.integers(0, 3, q.size)))
        rows_q = q + np.cumsum(way * bend, axis=0)
        return np.asarray(np.clip(rows_q, np.minimum(self._low, q), np.maximum(self._high, q)))

    def _chunk(
        self, rng: np.random.Generator, mode: ControlMode, q: Array, path: Array, dt: float
    ) -> Any:
        names = [n for n, body in zip(self.robot.joint_names, self._body, strict=True) if body]
        rows, columns = len(path), np.flatnonzero(self._body)
        steps = np.diff(np.vstack([q, path]), axis=0)[:, columns]
        if mode in (M.JOINT_POSITION, M.JOINT_TRAJECTORY):
            return chunk(mode, path[:, columns], dt=dt, joint_names=names)
        if mode is M.JOINT_VELOCITY:
            return chunk(mode, steps / dt, dt=dt, joint_names=names)
        if mode is M.JOINT_TORQUE:
            effort = np.array([j.limits.effort for j in self.robot.driven if j.limits])[columns]
            table = np.tile(0.02 * rng.uniform(-1, 1, columns.size) * effort, (rows, 1))
            return chunk(mode, table, dt=dt, joint_names=names)
        twist = rng.uniform(-1, 1, 3) * np.array([0.3, 0.3, 0.5])
        if mode is M.BODY_TWIST:
            return chunk(mode, np.tile(twist, (rows, 1)), dt=dt)
        if mode is M.COMPOSITE_MODE:
            half = columns.size // 2
            first = chunk(
                M.JOINT_POSITION, path[:, columns[:half]], dt=dt, joint_names=names[:half]
            )
            second = chunk(M.JOINT_VELOCITY, steps[:, half:] / dt, dt=dt, joint_names=names[half:])
            parts = [first, second]
            if self._base:
                parts.append(chunk(M.BODY_TWIST, np.tile(twist, (rows, 1)), dt=dt))
            return composite(parts, dt=dt)
        return self._tool_chunk(rng, mode, q, rows, dt)

    def _tool_chunk(
        self, rng: np.random.Generator, mode: ControlMode, q: Array, rows: int, dt: float
    ) -> Any:
        from openral.hal.execution.tool_ik import ToolIK

        hands = self.robot.end_effectors
        hand = hands[int(rng.integers(len(hands)))]
        shift, turn = rng.uniform(-1, 1, 3) * 0.2 * dt, rng.uniform(-1, 1, 3) * 0.4 * dt
        if mode is M.CARTESIAN_POSE:
            pose = ToolIK(self.robot, hand).pose(q)
            table = []
            for i in range(1, rows + 1):
                quat = (
                    Rotation.from_rotvec(i * turn) * Rotation.from_matrix(pose[:3, :3])
                ).as_quat()
                table.append([*(pose[:3, 3] + i * shift), *quat])
            return chunk(mode, table, dt=dt, name=hand.name)
        scale = 1 / dt if mode is M.CARTESIAN_TWIST else 1.0
        return chunk(
            mode, np.tile(np.hstack([shift, turn]) * scale, (rows, 1)), dt=dt, name=hand.name
        )

    def _things(self, rng: np.random.Generator, q: Array, path: Array) -> Any:
        """Up to three obstacles, each near the surface of a link somewhere on the way."""
        things = {}
        for name in rng.permutation(SHAPES)[: rng.integers(0, 4)]:
            at = path[int(rng.integers(len(path)))] if rng.random() < 0.8 else q
            found = self.world.surface(at, rng)
            if found is None:
                continue
            point, out = found
            reach = {"speck": 0.002, "ball": 0.03, "box": 0.01, "bar": 0.015}[str(name)]
            gap = self.robot.safety.margin_m + rng.exponential(0.06) + reach
            side = "x" if name == "box" else "z"
            turn = Rotation.random(random_state=rng)
            if side == "x":  # its face towards the link
                turn = Rotation.align_vectors([out], [[1.0, 0.0, 0.0]])[0]
            things[str(name)] = (point + gap * out, turn.as_quat())
        return things

    def _judge(self, candidate: Any, q: Array, obstacles: Any) -> tuple[Any, Any]:
        kernel = self._kernel
        self._now += 500_000_000
        kernel.reset()
        kernel.set_state(q, stamp_ns=self._now)
        if self._base:
            kernel.set_base((0.0, 0.0, 0.0), self._now)
        kernel.set_world(obstacles, self._now)
        payload = types.encode(candidate)
        verdict = kernel.validate_bytes(payload, self._now)
        if not verdict.accepted:
            return verdict, None
        return verdict, types.decode(CHUNK, kernel.action(payload, verdict))

    def _sweep(
        self, rng: np.random.Generator, q: Array, done: Any, mode: ControlMode
    ) -> tuple[float, str, float]:
        """The worst along the rows as executed, with tracking errors and stops drawn at random."""
        safety = self.robot.safety
        ways, speeds, base = self._rows(q, done)
        told = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(ways, axis=0)).max(axis=1))])
        worst, what, where = 0.0, "", 0.0
        rows = len(ways) - 1
        if mode is M.JOINT_TORQUE:
            rows = min(rows, max(1, int(safety.recheck_s / done.dt)))
        for row in range(rows):
            way = float(np.abs(ways[row + 1] - ways[row]).sum())
            count = int(np.clip(way * 0.6 / _STEP_M, 2, 40))
            for i in range(count):
                part = (i + rng.random()) / count
                at = ways[row] + part * (ways[row + 1] - ways[row])
                if i % 2:
                    stray = min(
                        safety.tracking_error, told[row] + part * (told[row + 1] - told[row])
                    )
                    at = at + rng.choice([-1.0, 1.0], at.size) * stray * self._body
                    stop = rng.choice([0.0, 1.0], at.size) * safety.stop_s * speeds[row]
                    at = np.clip(at + stop, np.minimum(at, self._low), np.maximum(at, self._high))
                if self._base:
                    at = at.copy()
                    at[self._base] = _driven(base, row, part, done.dt)
                depth, pair = self.world.intrusion(at)
                self.tally.samples += 1
                if depth > worst:
                    worst, what, where = depth, pair, row + part
        return worst, what, where

    def _rows(self, q: Array, done: Any) -> tuple[Array, Array, Array]:
        """Joint values at each row's end, velocities of rows, and the base's twists."""
        rows = done.rows
        ways, speeds = np.tile(q, (rows + 1, 1)), np.zeros((rows, q.size))
        base = np.zeros((rows, 3))
        names = list(self.robot.joint_names)
        for slot in done.slots:
            table = np.array(slot.data, float).reshape(rows, slot.width)
            kind = list(M)[slot.control_mode]
            if kind is M.BODY_TWIST:
                base = table
                continue
            columns = [names.index(n) for n in slot.joint_names]
            if kind in (M.JOINT_POSITION, M.JOINT_TRAJECTORY):
                ways[1:, columns] = table
            elif kind is M.JOINT_VELOCITY:
                ways[1:, columns] = q[columns] + np.cumsum(table * done.dt, axis=0)
                speeds[:, columns] = table
        return ways, speeds, base


def _driven(twists: Array, row: int, part: float, dt: float) -> Array:
    """A base that starts at the origin, by many small straight steps."""
    x = y = yaw = 0.0
    for i in range(row + 1):
        share = part if i == row else 1.0
        ahead, left, turn = twists[i] * dt * share / 4
        for _ in range(4):
            middle = yaw + turn / 2
            x += np.cos(middle) * ahead - np.sin(middle) * left
            y += np.sin(middle) * ahead + np.cos(middle) * left
            yaw += turn
    return np.array([x, y, yaw])
