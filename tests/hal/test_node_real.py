"""The HAL's node with hardware: an SO-101 on its (simulated) bus, gated like any other robot."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from openral.graph import topics
from openral.hal import topics as hal_topics
from tests.hal.feetech_arm import calibrate
from tests.hal.feetech_simulator import FeetechSimulator
from tests.hal.node_rig import (
    ESTOPPED,
    EXECUTING,
    HOLDING,
    STOPPED,
    LiveGraph,
    live_graph,
    needs_deadlines,
)
from tests.ros.conftest import domain, wait_until  # noqa: F401 - a fixture


@pytest.fixture
def live(domain: int, simulator: FeetechSimulator, tmp_path: Path) -> Iterator[LiveGraph]:  # noqa: F811
    transport = {
        "port": simulator.port,
        "calibration": str(calibrate(simulator, tmp_path)),
        "timeout": 0.05,
        "attempts": 6,
        "ramp_seconds": 0.06,
    }
    with live_graph(domain, "so101_follower", sim_time=False) as made:
        made.start_hal("hal_mode=real", f"transport={json.dumps(transport)}")
        wait_until(lambda: made.heard[topics.JOINT_STATES], 60.0)
        made.start_kernel("hal_mode=real")
        wait_until(lambda: made.heard[topics.SAFETY_STATE], 60.0)
        wait_until(lambda: made.candidates.has_subscribers)
        yield made


@needs_deadlines
def test_hardware_moves_by_the_kernel_alone_and_stops_when_it_is_unplugged(
    live: LiveGraph, simulator: FeetechSimulator
) -> None:
    joint = live.robot.joint_names[0]
    start = live.q
    live.under_way(joint, 0.3, 1.0, fast=0.0)
    wait_until(lambda: live.state.state == HOLDING)
    wait_until(lambda: abs(live.q[0] - start[0] - 0.3) < 0.05)
    assert live.latest(hal_topics.APPLIED).sequence == live.state.sequence
    service = live.node.create_client(
        "openral_msgs/srv/ResetToPose", hal_topics.reset_to_pose(live.robot.id)
    )
    assert not service.service_is_ready()

    live.under_way(joint, -0.3, 3.0, fast=0.0)
    answer = live.call("openral_msgs/srv/EStop", topics.ESTOP, source="operator", reason="test")
    assert answer.applied
    wait_until(lambda: live.state.state == STOPPED)
    place = live.q
    live.arm()
    assert np.abs(live.q - place).max() < 0.02

    live.under_way(joint, -0.2, 3.0, fast=0.0)
    assert live.state.state == EXECUTING
    simulator.unplug()
    wait_until(lambda: live.safety.state == ESTOPPED)
    wait_until(lambda: any(f.reason == "hal_fault" for f in live.heard[hal_topics.FAILURE]))
