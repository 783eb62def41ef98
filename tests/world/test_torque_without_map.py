"""Torque is proven for a moment at a time: without a map it is held, and nobody must reset it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from openral.manifest.control import ControlMode
from openral.manifest.library import robot_path
from openral.ros import msg
from openral.safety import topics
from tests.hal.chunks import chunk, slot
from tests.hal.node_rig import ARMED, EXECUTING, HOLDING, LiveGraph, live_graph
from tests.ros.conftest import wait_until

ACCEPTED = 0


@pytest.fixture
def live(domain: int, tmp_path: Path) -> Iterator[LiveGraph]:
    described = yaml.safe_load(robot_path("franka_panda").read_text())
    described.pop("sensors", None)
    described["safety"]["recheck_s"] = 0.4  # a busy machine may be late
    path = tmp_path / "franka_panda" / "robot.yaml"
    path.parent.mkdir()
    path.write_text(yaml.safe_dump(described))
    with live_graph(domain, str(path)) as made:
        made.start_hal("heartbeat_s=0.1")
        wait_until(lambda: made.heard[topics.JOINT_STATES], 60.0)
        made.start_kernel("requires_voxels=true", "external_map=true")
        wait_until(lambda: made.heard[topics.SAFETY_STATE], 60.0)
        wait_until(lambda: made.candidates.has_subscribers)
        yield made


class Map:
    """An empty map of the robot's surroundings, from somebody else than our own mapper."""

    def __init__(self, live: LiveGraph) -> None:
        self.healthy = self.sending = True
        self._live = live
        self._out = live.node.create_publisher(msg.OccupancyVoxels, topics.VOXELS, topics.SENSOR)
        live.node.create_wall_timer(0.05, self._send)

    def _send(self) -> None:
        if self.sending:
            header = msg.Header(self._live.node.stamp(), self._live.robot.base_frame)
            self._out.publish(
                msg.OccupancyVoxels(
                    header=header,
                    resolution=0.05,
                    origin=msg.Point(-1.6, -1.6, -1.6),
                    dims=[64, 64, 64],
                    encoding=msg.OccupancyVoxels.CELLS,
                    healthy=self.healthy,
                )
            )


@pytest.mark.parametrize("fault", ["silent", "unhealthy"])
def test_torque_under_way_is_held_without_a_map_and_passes_again_with_it(
    live: LiveGraph, fault: str
) -> None:
    map_ = Map(live)
    for _ in range(5):
        if _held(live, map_, fault):
            return
    raise AssertionError("this machine is too busy")


def _held(live: LiveGraph, map_: Map, fault: str) -> bool:
    """False if a heartbeat was lost meanwhile, which is another story."""
    map_.sending = map_.healthy = True
    arm = [joint.name for joint in live.robot.driven if joint.role == "arm"]

    def limp() -> Any:
        return chunk(slot(ControlMode.JOINT_TORQUE, [[0.0] * len(arm)] * 100, joints=arm), dt=0.1)

    def accepted() -> bool:
        if live.safety.state != ARMED:  # a busy machine was late at something else
            live.arm()
        return bool(live.propose(limp()).status == ACCEPTED)

    live.arm()
    wait_until(accepted)
    wait_until(lambda: live.state.state == EXECUTING)
    time.sleep(1.0)  # proven again and again
    if live.safety.detail == "heartbeat_lost":
        return False
    assert live.state.state == EXECUTING, (live.state.reason, live.safety.detail)
    stops = len(live.heard[topics.ESTOP])
    map_.sending, map_.healthy = fault != "silent", fault != "unhealthy"
    wait_until(lambda: live.state.state != EXECUTING)
    time.sleep(1.0)  # well past the end of the last proof
    if live.safety.detail == "heartbeat_lost":
        return False
    assert (live.state.state, live.state.reason) == (HOLDING, "kernel")
    assert live.safety.state == ARMED, live.safety.detail
    assert live.propose(limp()).reason == "voxel_unavailable"
    assert live.state.state == HOLDING
    map_.sending = map_.healthy = True
    wait_until(lambda: live.propose(limp()).status == ACCEPTED)
    wait_until(lambda: live.state.state == EXECUTING)
    assert len(live.heard[topics.ESTOP]) == stops
    return True
