"""What the kernel takes for granted in cartesian modes is how our own driver behaves.

Every joint stays within ik_slack × travel of the path that the proof is centred on, for as long as
an acceptance can be in force (recheck + stop); no joint exceeds its rate; the tool keeps its way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from openral.hal.executor import ChunkExecutor
from openral.hal.tool_ik import ToolIK
from openral.manifest import RobotDescription, load_robot, shipped_robots
from openral.manifest.parts import EndEffector
from openral.safety import Kernel
from tests.safety.helpers import NOW, M, chunk
from tests.safety.robot_motions import seen

Array = NDArray[np.float64]
TICK = 5_000_000
DT = 0.05
TOOLS = [
    (name, effector.name)
    for name in shipped_robots()
    for effector in load_robot(name).end_effectors
]


@dataclass(frozen=True)
class Tube:
    """The kernel's path for a chunk of deltas, sampled, and how far each joint may be from it."""

    line: Array
    slack: Array

    @classmethod
    def around(cls, kernel: Kernel, hand: EndEffector, start: Array, deltas: Array) -> Tube:
        robot = kernel.robot
        safety = robot.safety
        speed = np.array([joint.limits.velocity for joint in robot.driven if joint.limits])
        target, q = ToolIK(robot, hand).pose(start), start
        line, slack, steps = [start], [np.full(len(q), 1e-9)], []
        for i, delta in enumerate(deltas):
            target = moved(target, delta)
            after = kernel.centre(hand.name, target, q)
            shift, turn = np.linalg.norm(delta.reshape(2, 3), axis=1)
            steps.append(max(np.abs(after - q).max(), shift, turn))
            since = DT * (i + 1)
            window = min(since, safety.recheck_s + safety.stop_s)
            travel = sum(steps[-round(window / DT) :])
            allowed = np.minimum(speed * window, safety.ik_slack * travel) + 1e-9
            line += [q + share * (after - q) for share in np.linspace(0, 1, 20)]
            slack += [allowed] * 20
            q = after
        return cls(np.array(line), np.array(slack))

    def strays(self, q: Array) -> float:
        """How far a pose is off the path, as a share of what is allowed."""
        return float((np.abs(q - self.line) / self.slack).max(axis=1).min())


def moved(pose: Array, delta: Array) -> Array:
    out = pose.copy()
    out[:3, 3] += delta[:3]
    out[:3, :3] = Rotation.from_rotvec(delta[3:]).as_matrix() @ out[:3, :3]
    return out


def drawn(robot: RobotDescription, hand: EndEffector, rng: Any) -> tuple[Array, Array]:
    """A start, with joints at their limits now and then, and a steady motion of the tool."""
    start = np.array(robot.home_position)
    low, high = np.array([joint.position_range for joint in robot.driven]).T
    columns = ToolIK(robot, hand).columns
    start[columns] += rng.uniform(-0.9, 0.9, len(columns))
    way = rng.normal(size=6)
    way[:3] /= np.linalg.norm(way[:3])
    way[3:] *= rng.choice([0.0, 1.0]) / np.linalg.norm(way[3:])
    speed = rng.choice([0.005, 0.02, 0.05, 0.1, 0.25])
    return np.clip(start, low, high), np.tile(way * speed * DT, (4, 1))


def driven(robot: RobotDescription, action: Any, start: Array) -> Array:
    """What our driver tells the joints while an acceptance can be in force."""
    executor = ChunkExecutor(robot, frozenset(robot.control_modes))
    executor.seed(start)
    executor.submit(action)
    q, path = start, [start]
    longest = robot.safety.recheck_s + robot.safety.stop_s
    for tick in range(round(longest * 1e9 / TICK)):
        q = np.array(executor.tick(tick * TICK, (tick + 1) * TICK, q, 0 * q).positions)
        path.append(q)
    return np.array(path)


@pytest.mark.parametrize(("name", "tool"), TOOLS)
def test_our_driver_keeps_to_what_cartesian_proofs_assume(name: str, tool: str) -> None:
    robot = load_robot(name)
    hand = next(e for e in robot.end_effectors if e.name == tool)
    ik = ToolIK(robot, hand)
    speed = np.array([joint.limits.velocity for joint in robot.driven if joint.limits])
    rng = np.random.default_rng(3)
    accepted = 0
    for _ in range(1500):
        start, deltas = drawn(robot, hand, rng)
        action = chunk(M.CARTESIAN_DELTA, deltas, dt=DT, name=tool)
        kernel = seen(robot, start)
        if not kernel.validate(action, NOW).accepted:
            continue
        path = driven(robot, action, start)
        assert (np.abs(np.diff(path, axis=0)) <= speed * TICK * 1e-9 + 1e-9).all()
        tube = Tube.around(kernel, hand, start, deltas)
        assert max(tube.strays(q) for q in path) <= 1.0
        straight = np.array([ik.pose(q)[:3, 3] for q in path]) - ik.pose(start)[:3, 3]
        way = deltas[0, :3] / np.linalg.norm(deltas[0, :3])
        off = straight - np.outer(straight @ way, way)
        assert np.linalg.norm(off, axis=1).max() < 0.005  # what the kernel lets a driver miss by
        accepted += 1
        if accepted == 50:
            break
    assert accepted >= 20
