"""Every robot stands 150 ms after a stop, and does not jump when the stop is taken back."""

from __future__ import annotations

import pytest

from openral.manifest.library import load_robot, shipped_robots
from tests.hal.joint_stops import STILL, measure_stop, stoppable


@pytest.mark.parametrize("name", shipped_robots())
def test_a_stop_from_most_of_its_speed_ends_motion(name: str) -> None:
    """The first joints carry the most; benchmarks/hal_stops.py measures all of them."""
    robot = load_robot(name)
    for joint in stoppable(robot)[:2]:
        stop = measure_stop(robot, joint)
        assert stop.reached > 0.8 * stop.wanted, stop
        assert stop.after < STILL, stop
        assert stop.jump < 0.01, stop
