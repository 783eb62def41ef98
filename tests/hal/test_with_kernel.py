"""What the kernel accepts, the HAL executes clear: the promise across the two, in every mode.

The kernel proves a chunk from the measured state; the HAL's own interpolation then decides which
joint path is driven. It must be one that the proof covers.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from openral.graph.obstacles import Sphere
from openral.hal.execution.executor import ChunkExecutor
from openral.manifest import ControlMode, load_robot
from openral.ros.codec import types
from openral.safety.kernel import Kernel
from tests.hal.chunks import chunk, slot

TICK = 4_000_000
NAMES = ["franka_panda", "ur5e", "so101_follower"]
ROBOTS = {name: load_robot(name) for name in NAMES}
CLOCK = itertools.count(1_000_000_000, 50_000_000)  # a clock that stands still is stale
KERNELS = {name: Kernel(robot) for name, robot in ROBOTS.items()}


def execute(robot: Any, action: Any, start: np.ndarray) -> np.ndarray:
    """The joint path that an ideal servo drives for a chunk, and a while beyond."""
    executor = ChunkExecutor(robot, frozenset(robot.control_modes))
    executor.seed(start)
    executor.submit(action)
    q, path = start, [start]
    for tick in range(round(action.dt * action.rows * 1e9 / TICK) + 5):
        q = np.array(executor.tick(tick * TICK, (tick + 1) * TICK, q, 0 * q).positions)
        path.append(q)
    return np.array(path)


def proposal(robot: Any, rng: np.random.Generator, start: np.ndarray, mode: ControlMode) -> Any:
    rows = int(rng.integers(1, 8))
    if mode is ControlMode.JOINT_POSITION:
        steps = rng.uniform(-0.06, 0.06, (rows, start.size)) * rng.uniform(0, 1)
        data = start + np.cumsum(steps, axis=0)
    elif mode is ControlMode.JOINT_VELOCITY:
        data = rng.uniform(-1.0, 1.0, (rows, start.size)) * rng.uniform(0, 1)
    else:
        heading = rng.normal(size=6) * [1, 1, 1, 2, 2, 2]
        scale = 0.02 if mode is ControlMode.CARTESIAN_DELTA else 0.4
        data = np.tile(heading / np.linalg.norm(heading) * scale * rng.uniform(0.1, 1), (rows, 1))
    for column, joint in enumerate(robot.driven):
        if not mode.is_cartesian and joint.role.value == "gripper":
            data[:, column] = start[column] if mode is ControlMode.JOINT_POSITION else 0.0
    return chunk(slot(mode, data), dt=0.05)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "mode",
    [
        ControlMode.JOINT_POSITION,
        ControlMode.JOINT_VELOCITY,
        ControlMode.CARTESIAN_DELTA,
        ControlMode.CARTESIAN_TWIST,
    ],
)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_an_accepted_chunk_keeps_the_margin_when_it_is_executed(
    name: str, mode: ControlMode, seed: int
) -> None:
    robot, kernel = ROBOTS[name], KERNELS[name]
    rng = np.random.default_rng(seed)
    start = np.array(robot.home_position) + rng.uniform(-0.4, 0.4, len(robot.driven))
    for column, joint in enumerate(robot.driven):
        low, high = joint.position_range
        start[column] = np.clip(
            start[column], low + 0.01 * (high - low), high - 0.01 * (high - low)
        )
    reach = 0.9 if name != "so101_follower" else 0.4
    obstacles = [
        Sphere(f"ball{i}", tuple(rng.uniform(-reach, reach, 3)), float(rng.uniform(0.02, 0.15)))
        for i in range(3)
    ]
    now = next(CLOCK)
    kernel.reset()
    kernel.set_world(obstacles, now)
    kernel.set_state(start, np.zeros(start.size), now)
    payload = types.encode(proposal(robot, rng, start, mode))
    verdict = kernel.validate_bytes(payload, now)
    assume(verdict.accepted)
    action = types.decode("openral_msgs/msg/ActionChunk", kernel.action(payload, verdict))
    for q in execute(robot, action, start):
        world, own = kernel.clearance(q)
        assert world >= robot.safety.margin_m - 1e-6
        assert own >= robot.safety.self_margin_m - 1e-6
