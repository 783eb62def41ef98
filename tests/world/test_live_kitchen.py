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
from tests.hal.node_rig import ESTOPPED, LiveGraph
from tests.ros.conftest import Graph, wait_until

START_Y, COUNTER_Y, FRONT = 0.6, 1.86, 0.455
SEEN = {"voxel_collision", "budget_exceeded"}
"""What voxels end a motion with: there is nothing else to see."""
ARM = [f"panda_joint{i}" for i in range(1, 8)]


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    path = tmp_path / "counter.yaml"
    path.write_text(
        "id: counter\nname: In front of the counter\nrobot: panda_mobile\n"
        f"world: {{scene: kitchen, options: {{start: [-0.6, {START_Y}, 1.5708]}}}}\n"
    )
    return path


def start(graph: Graph, scene: Path, sim_time: bool) -> LiveGraph:
    live = LiveGraph(graph, "panda_mobile", sim_time=sim_time)
    live.hear("openral_msgs/msg/OccupancyVoxels", topics.VOXELS, topics.SENSOR)
    live.hear("nav_msgs/msg/Odometry", topics.ODOM, topics.SENSOR)
    live.start_hal(
        f"sim_env_yaml={scene}",
        f"wall_clock={not sim_time}",
        "heartbeat_s=0.1",
        "known_obstacles=false",  # all that is known was seen
    )
    wait_until(lambda: live.heard[topics.JOINT_STATES], 60.0)
    live.start("openral.world", f"use_sim_time={sim_time}")
    live.start_kernel("requires_voxels=true", "candidate_max_age_s=5.0")
    wait_until(lambda: live.heard[topics.SAFETY_STATE], 60.0)
    wait_until(lambda: live.candidates.has_subscribers)
    healthy = wait_until(lambda: any(m.healthy for m in live.heard[topics.VOXELS]), 60.0)
    assert healthy
    live.arm()
    return live


def vetoed(live: LiveGraph) -> bool:
    """Whether the kernel has stopped it; a beat lost on a busy machine is armed over."""
    if live.safety.state != ESTOPPED:
        return False
    if live.safety.source == "kernel":
        return True
    live.arm()
    return False


@pytest.mark.parametrize("sim_time", [True, False], ids=["sim clock", "wall clock"])
def test_cmd_vel_at_the_counter_is_vetoed(graph: Graph, scene: Path, sim_time: bool) -> None:
    live = start(graph, scene, sim_time)
    try:
        cmd = live.node.create_publisher(msg.Twist, hal_topics.CMD_VEL, topics.COMMAND)
        wait_until(lambda: cmd.has_subscribers)

        def drive() -> bool:
            cmd.publish(msg.Twist(linear=msg.Vector3(0.4, 0.0, 0.0)))
            return vetoed(live)

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
            return vetoed(live)

        wait_until(stream, 60.0)
        verdict = wait_until(lambda: [v for v in live.heard[topics.VERDICT] if v.status == 2])[-1]
        assert verdict.control_mode == ControlMode.JOINT_VELOCITY.byte
        assert verdict.reason in SEEN, verdict.detail
    finally:
        live.close()
