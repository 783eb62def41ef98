"""What the kernel accepts, judged by MuJoCo on meshes; benchmarks/kernel_meshes.py does more."""

from __future__ import annotations

import numpy as np
import pytest

from tests.safety.fuzzing import fresh_seed
from tests.safety.mesh_trials import MeshTrials


@pytest.mark.parametrize("robot", ["franka_panda", "so100_follower", "panda_mobile"])
def test_no_accepted_motion_brings_meshes_closer_than_their_margin(robot: str) -> None:
    seed = fresh_seed()
    print(f"seed {seed}")
    tally = MeshTrials(robot, seed).run(60)
    assert tally.findings == []
    assert tally.accepted > 0 and tally.accepted < tally.chunks
    assert tally.samples > tally.accepted_segments


def test_the_judge_sees_a_mesh_that_is_closer_than_its_margin() -> None:
    world = MeshTrials("franka_panda", 1).world
    rng = np.random.default_rng(2)
    q = np.array(world.robot.home_position)
    margin, seen = world.robot.safety.margin_m, 0
    for _ in range(20):
        world.put({})
        found = world.surface(q, rng)
        assert found is not None
        point, out = found
        for gap, close in ((margin * 0.5, True), (3.0, False)):
            world.put({"speck": (point + (gap + 0.002) * out, np.array([0.0, 0.0, 0.0, 1.0]))})
            depth, what = world.intrusion(q)
            if close:
                seen += depth > 0.0 and "speck" in what
            else:
                assert "speck" not in what
    assert seen == 20
