"""Torque is proven for a moment at a time: without a map it is held, and nobody must reset it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from openral.graph import topics
from openral.graph.deadlines import INPUT_S, SILENT_S
from openral.graph.sealed import subscribe_sealed
from openral.graph.time_lease import TOPIC, TYPE
from openral.manifest.control import ControlMode
from openral.manifest.library import robot_path
from openral.ros import msg
from openral.ros.clock import NS
from openral.ros.qos import STATE
from tests.hal.chunks import chunk, slot
from tests.hal.node_rig import ACCEPTED, ARMED, EXECUTING, HOLDING, LiveGraph, live_graph
from tests.ros.conftest import wait_until


@pytest.fixture
def live(domain: int, tmp_path: Path) -> Iterator[LiveGraph]:
    described = yaml.safe_load(robot_path("franka_panda").read_text())
    described.pop("sensors", None)
    path = tmp_path / "franka_panda" / "robot.yaml"
    path.parent.mkdir()
    path.write_text(yaml.safe_dump(described))
    with live_graph(domain, str(path)) as made:
        made.start_hal()
        wait_until(lambda: made.heard[topics.JOINT_STATES], 60.0)
        made.start_kernel("requires_voxels=true", "external_map=true")
        wait_until(lambda: made.heard[topics.SAFETY_STATE], 60.0)
        wait_until(lambda: made.candidates.has_subscribers)
        yield made


def limp(live: LiveGraph) -> Any:
    """Ten seconds without torque."""
    arm = [joint.name for joint in live.robot.driven if joint.role == "arm"]
    return chunk(slot(ControlMode.JOINT_TORQUE, [[0.0] * len(arm)] * 100, joints=arm), dt=0.1)


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
    live.arm()
    wait_until(lambda: live.propose(limp(live)).status == ACCEPTED)  # with the first map
    wait_until(lambda: live.state.state == EXECUTING)
    began = live.node.now()
    wait_until(lambda: live.node.now() > began + NS)  # proven again and again
    assert live.state.state == EXECUTING, (live.state.reason, live.safety.detail)
    map_.sending, map_.healthy = fault != "silent", fault != "unhealthy"
    wait_until(lambda: live.state.state != EXECUTING)
    began = live.node.now()
    wait_until(lambda: live.node.now() > began + NS)  # well past the end of the last proof
    assert (live.state.state, live.state.reason) == (HOLDING, "kernel")
    assert live.safety.state == ARMED, live.safety.detail
    assert live.propose(limp(live)).reason == "voxel_unavailable"
    assert live.state.state == HOLDING
    map_.sending = map_.healthy = True
    wait_until(lambda: live.propose(limp(live)).status == ACCEPTED)
    wait_until(lambda: live.state.state == EXECUTING)
    assert not live.heard[topics.ESTOP]


def stand_still_s(live: LiveGraph, limit_s: float) -> float:
    """Waits until simulated time stands, and then until it goes on; wall time of that."""
    clock = live.node.clock.simulated
    wait_until(lambda: clock.silent_for_s() > 0.5)
    longest = 0.0

    def goes_on() -> bool:
        nonlocal longest
        silent = clock.silent_for_s()
        longest = max(longest, silent)
        return bool(silent < 0.5)

    wait_until(goes_on, limit_s)
    return longest


def test_time_waits_once_for_a_map_that_never_comes_again(live: LiveGraph) -> None:
    """Somebody else's mapper has died: simulated time stands for a while, and then no more."""
    leases: list[Any] = []
    subscribe_sealed(live.node, live.key, TYPE, TOPIC, leases.append, STATE)
    map_ = Map(live)
    live.arm()
    wait_until(lambda: live.propose(limp(live)).status == ACCEPTED)
    map_.sending = False
    stood = stand_still_s(live, 30.0)
    assert INPUT_S - 0.1 < stood < SILENT_S, "not so long as a dead node"
    assert "voxel map" in {lease.waits_for for lease in leases}
    clock, longest = live.node.clock.simulated, 0.0
    for again in range(2):
        began = live.node.now()
        while live.node.now() < began + 2 * NS:
            longest = max(longest, clock.silent_for_s())
            time.sleep(0.01)
        assert longest < INPUT_S - 1.0, f"it waits for the same map again ({again})"
        assert live.propose(limp(live)).reason == "voxel_unavailable"
        map_.sending = not again  # it comes back for a while, and goes again
        wait_until(lambda: again or live.propose(limp(live)).status == ACCEPTED)  # noqa: B023
        map_.sending = False
    assert live.safety.state == ARMED, "a drop, and no stop"
    assert not live.heard[topics.ESTOP]
