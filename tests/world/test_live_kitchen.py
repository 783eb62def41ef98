"""The whole graph in the kitchen: from depth pixels to a veto, on either clock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openral.hal import topics as hal_topics
from openral.manifest import ControlMode
from openral.ros import msg
from openral.safety import topics
from tests.hal.chunks import chunk, slot
from tests.ros.conftest import Graph, wait_until
from tests.world.live_kitchen import SEEN, scene_file, start, vetoed

START_Y, COUNTER_Y, FRONT = 0.6, 1.86, 0.455
ARM = [f"panda_joint{i}" for i in range(1, 8)]


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    return scene_file(tmp_path, (-0.6, START_Y, 1.5708))


@pytest.mark.parametrize("sim_time", [True, False], ids=["sim clock", "wall clock"])
def test_cmd_vel_at_the_counter_is_vetoed(graph: Graph, scene: Path, sim_time: bool) -> None:
    live = start(graph, scene, sim_time)
    try:
        cmd = live.node.create_publisher(msg.Twist, hal_topics.CMD_VEL, topics.COMMAND)
        wait_until(lambda: cmd.has_subscribers)

        def drive() -> bool:
            cmd.publish(msg.Twist(linear=msg.Vector3(0.4, 0.0, 0.0)))
            return vetoed(live) is not None

        wait_until(drive, 60.0)
        verdicts = wait_until(lambda: [v for v in live.heard[topics.VERDICT] if v.status == 2])
        assert verdicts[-1].control_mode == ControlMode.BODY_TWIST.byte
        assert verdicts[-1].reason in SEEN, verdicts[-1].detail
        wait_until(lambda: live.speed < 0.01)
        gone = live.latest(topics.ODOM).pose.pose.position.x
        assert 0.05 < gone < COUNTER_Y - START_Y - FRONT
    finally:
        live.close()


def test_an_arm_velocity_stream_at_the_counter_is_vetoed(graph: Graph, scene: Path) -> None:
    """The stream that nobody checked: joint velocities towards the counter's edge."""
    text = scene.read_text().replace(f"{START_Y}", "1.0")
    scene.write_text(text)
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

        wait_until(stream, 60.0)
        verdict = wait_until(lambda: [v for v in live.heard[topics.VERDICT] if v.status == 2])[-1]
        assert verdict.control_mode == ControlMode.JOINT_VELOCITY.byte
        assert verdict.reason in SEEN, verdict.detail
    finally:
        live.close()
