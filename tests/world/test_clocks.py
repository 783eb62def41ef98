"""Either clock: at equal states verdicts are equal, and ages are counted in the graph's seconds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openral.graph.obstacles import VoxelGrid
from openral.manifest import ControlMode
from openral.ros.clock import NS
from openral.safety.kernel import Kernel
from tests.hal.chunks import chunk, slot
from tests.world.counter_streams import ARM, COLUMNS, tucked
from tests.world.kitchen_rig import ROBOT

SIM_NS, WALL_NS = 10 * NS, 1_790_000_000 * NS
LIMITS = {
    "state_unavailable": ROBOT.safety.state_max_age_s,
    "voxel_unavailable": ROBOT.safety.voxels_max_age_s,
    "base_unavailable": ROBOT.safety.state_max_age_s,
}
ages = st.tuples(*(st.floats(0.0, 1.5).map(lambda s, limit=limit: s * limit)  # type: ignore[misc]
                   for limit in LIMITS.values()))  # fmt: skip


def judged(now: int, ages_s: tuple[float, ...], x: float, turn: float) -> Any:
    """The verdict on a turn of the arm beside a block, with inputs of those ages."""
    state, voxels, base = (now - round(age * NS) for age in ages_s)
    cells = np.zeros((24, 24, 24), np.uint8)
    cells[10:14, 10:14] = 1
    kernel = Kernel(ROBOT, requires_voxels=True)
    kernel.set_voxels(VoxelGrid(cells, (x, -0.3, 0.6), 0.025, fixed=True), voxels)
    for stamp in (voxels, base):  # odometry is heard all along
        kernel.set_base((0.0, 0.0, 0.0), min(stamp, base))
    kernel.set_state(tucked(), stamp_ns=state)
    rows = tucked()[COLUMNS] + np.outer(np.arange(1, 4), np.eye(7)[0]) * turn / 3
    return kernel.validate(chunk(slot(ControlMode.JOINT_POSITION, rows, joints=ARM)), now)


@settings(max_examples=150, deadline=None)
@given(ages, st.floats(0.2, 1.2), st.floats(-0.2, 0.2))
def test_equal_states_get_equal_verdicts_on_either_clock(
    ages_s: tuple[float, ...], x: float, turn: float
) -> None:
    sim, wall = judged(SIM_NS, ages_s, x, turn), judged(WALL_NS, ages_s, x, turn)
    assert (sim.status, sim.speed_factor, sim.row, sim.work, str(sim)) == (
        wall.status, wall.speed_factor, wall.row, wall.work, str(wall)
    )  # fmt: skip
    late = {
        status
        for (status, limit), age in zip(LIMITS.items(), ages_s, strict=True)
        if age > limit + 1e-6
    }
    if late:
        assert sim.status in late and not sim.accepted and not sim.latched
    elif all(age < limit - 1e-6 for age, limit in zip(ages_s, LIMITS.values(), strict=True)):
        assert sim.status not in LIMITS


@pytest.mark.parametrize("now", [SIM_NS, WALL_NS], ids=["sim clock", "wall clock"])
def test_a_veto_and_a_pass_are_among_them(now: int) -> None:
    near, far = judged(now, (0.0, 0.0, 0.0), 0.0, 0.2), judged(now, (0.0, 0.0, 0.0), 1.2, 0.01)
    assert near.status == "voxel_collision"
    assert far.accepted
