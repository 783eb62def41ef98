"""Every robot stands 150 ms after a stop, and does not jump when the stop is taken back."""

from __future__ import annotations

import pytest

from openral.manifest.library import load_robot, shipped_robots
from tests.hal.joint_stops import STILL, measure_stop, stoppable


@pytest.mark.parametrize("name", shipped_robots())
def test_a_stop_from_full_speed_ends_motion(name: str) -> None:
    """The first joints carry the most; benchmarks/hal_stops.py measures all of them."""
    robot = load_robot(name)
    stops = [measure_stop(robot, joint) for joint in stoppable(robot)[:2]]
    assert any(stop.reached > 0.8 * stop.wanted for stop in stops), stops  # some have no room
    for stop in stops:
        assert stop.after < STILL, stop
        assert stop.jump < 0.01, stop
