"""Small honest motions from home pass, with every shipped manifest."""

from __future__ import annotations

import pytest

from openral.bench.refusals import table
from openral.bench.robot import bench_robot
from openral.manifest.library import shipped_robots
from tests.safety.helpers import NOW, M, at_home, chunk

# Orientations that an arm cannot keep over 5 cm from home (dropped), and a fold of the SO-101 in
# which the capsules of base and upper arm come within their margin.
ALLOWED = {
    ("aloha_bimanual", "cartesian, 5 cm"): 4,
    ("h1", "cartesian, 5 cm"): 2,
    ("so101_follower", "cartesian, 5 cm"): 1,
    ("aloha_bimanual", "5 cm along a table 10 cm below"): 4,
    ("so101_follower", "5 cm along a table 10 cm below"): 1,
}


@pytest.mark.parametrize("name", shipped_robots())
def test_small_cartesian_motions_from_home_pass(name: str) -> None:
    for row in table(name):
        if row["motion"].startswith("cartesian") or "10 cm" in row["motion"]:
            allowed = ALLOWED.get((name, row["motion"]), 0)
            assert row["refused"] <= allowed, row


def test_reaching_too_far_is_dropped_and_the_next_motion_passes() -> None:
    robot = bench_robot(cartesian_step_m=2.0, ee_speed_m_s=100.0)
    kernel = at_home(robot)
    far = kernel.validate(chunk(M.CARTESIAN_DELTA, [[1.5, 0, 0, 0, 0, 0]]), NOW)
    assert far.status == "unsolved" and not far.accepted and not far.latched
    assert kernel.validate(chunk(M.CARTESIAN_DELTA, [[0.01, 0, 0, 0, 0, 0]]), NOW).accepted
