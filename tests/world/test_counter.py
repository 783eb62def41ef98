"""The collision that must never happen again: the arm driven into the counter in every mode."""

from __future__ import annotations

import os
from collections.abc import Iterator

import mujoco
import numpy as np
import pytest

from tests.world.counter_runs import ACCELERATION, CounterDrives
from tests.world.counter_streams import ARM, COLUMNS, EFFORT, MODES, tucked
from tests.world.kitchen_rig import ROBOT

SEEDS = range(int(os.environ.get("OPENRAL_SOAK", "1")))


@pytest.fixture(scope="module", params=SEEDS)
def drives(request: pytest.FixtureRequest) -> Iterator[CounterDrives]:
    with CounterDrives(request.param) as made:
        yield made


@pytest.mark.parametrize("mode", MODES)
def test_no_mode_drives_the_arm_into_the_counter(drives: CounterDrives, mode: str) -> None:
    free = drives.run(mode, gated=False)
    assert free.hit_the_counter, "the scenario does not collide"
    kept = drives.run(mode, gated=True)
    assert kept.last is not None and kept.last.latched, "it was not vetoed"
    assert not kept.contacts
    assert kept.last.mode == mode
    assert kept.last.status == "voxel_collision", kept.last.text
    # It was stopped at the counter, not by a gate that lets nothing pass.
    assert kept.accepted > 50
    assert kept.gap_m < 0.12
    if mode != "joint_torque":  # torque cannot be slowed
        assert kept.slowest == ROBOT.safety.slow_factor
    assert kept.same_on_wall_clock


def test_what_torque_is_trusted_with_holds_in_the_twin(drives: CounterDrives) -> None:
    """No joint is accelerated by more of its limit than the share of effort that motors use."""
    kitchen = drives.kitchen
    model, data = kitchen.rollout.mujoco_handles()
    dofs = kitchen.rollout.binding.qvel[COLUMNS]
    low, high = np.array([ROBOT.joint(name).position_range for name in ARM]).T
    rng, q, inertia = np.random.default_rng(drives.seed), tucked(), np.zeros((model.nv, model.nv))
    kitchen.begin(gated=False)
    for _ in range(200):
        q[COLUMNS] = rng.uniform(low, high)
        kitchen.rollout.binding.place(data, q)
        mujoco.mj_forward(model, data)
        mujoco.mj_fullM(model, data, inertia)
        most = np.abs(np.linalg.inv(inertia)[np.ix_(dofs, dofs)]) @ EFFORT
        assert (most <= ACCELERATION).all(), most
