"""The whole graph in front of the counter: from depth pixels to a veto."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openral.graph import topics
from openral.graph.sealed import subscribe_sealed
from openral.graph.time_lease import TOPIC, TYPE
from openral.manifest import ControlMode
from openral.ros.qos import STATE
from tests.hal.chunks import chunk, joint_chunk, slot
from tests.hal.node_rig import ACCEPTED, ARMED
from tests.ros.conftest import Graph, wait_until
from tests.world.live_kitchen import SEEN, scene_file, start, vetoed

ARM = [f"panda_joint{i}" for i in range(1, 8)]


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    return scene_file(tmp_path, (-1.0, 1.0, 1.5708))


def test_an_arm_velocity_stream_at_the_counter_is_vetoed(graph: Graph, scene: Path) -> None:
    """The stream that nobody checked: joint velocities towards the counter's edge."""
    live = start(graph, scene, sim_time=True)
    try:
        down = np.zeros(7)
        down[[1, 3]] = [0.35, 0.15]  # forwards and down

        def stream() -> bool:
            made: Any = chunk(
                slot(ControlMode.JOINT_VELOCITY, np.tile(down, (6, 1)), joints=ARM), dt=0.05
            )
            live.propose(made)
            return vetoed(live) is not None

        wait_until(stream, 120.0)
        verdict = wait_until(lambda: [v for v in live.heard[topics.VERDICT] if v.status == 2])[-1]
        assert verdict.control_mode == ControlMode.JOINT_VELOCITY.byte
        assert verdict.reason in SEEN, verdict.detail
    finally:
        live.close()


def test_the_map_stays_fresh_while_the_mapper_is_frozen(graph: Graph, scene: Path) -> None:
    """What a busy machine did to the mapper: motion was dropped for want of a map."""
    live = start(graph, scene, sim_time=True)
    try:
        leases: list[Any] = []
        subscribe_sealed(live.node, live.key, TYPE, TOPIC, leases.append, STATE)
        stay = [[live.robot.home[name] for name in ARM]] * 3
        mapper = next(p for p in live.processes if "openral.world" in p.args)
        freeze = threading.Timer(0.5, mapper.send_signal, [signal.SIGSTOP])
        wake = threading.Timer(2.5, mapper.send_signal, [signal.SIGCONT])
        maps, longest = len(live.heard[topics.VOXELS]), 0.0
        for timer in (freeze, wake):
            timer.start()
        try:
            over = time.monotonic() + 3.5
            while time.monotonic() < over:
                verdict = live.propose(joint_chunk(stay, dt=0.02, joints=ARM))
                assert verdict.status == ACCEPTED, verdict.detail
                longest = max(longest, live.node.clock.simulated.silent_for_s())
                time.sleep(0.05)
        finally:
            for timer in (freeze, wake):
                timer.cancel()
            mapper.send_signal(signal.SIGCONT)
        assert longest > 1.0, "time did not wait for the map"
        assert "voxel map" in {lease.waits_for for lease in leases}
        wait_until(lambda: len(live.heard[topics.VOXELS]) > maps + 5)
        assert live.safety.state == ARMED
        assert not live.heard[topics.ESTOP]
    finally:
        live.close()
