"""Eyes that shut: motion that needs the map is dropped in time and resumes by itself."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from openral.graph import topics
from openral.manifest.kinematics import Kinematics, matrix
from openral.ros import msg
from openral.ros.clock import NS
from openral.ros.stamps import stamp_ns
from openral.world import topics as world_topics
from tests.hal.chunks import joint_chunk
from tests.hal.node_rig import ARMED, LiveGraph
from tests.ros.conftest import Graph, wait_until
from tests.world.pretend_robot import FAULTS, ROBOT, PretendRobot

ACCEPTED, DROPPED = 0, 3
STATES = {
    "killed": 2,
    "frozen": 2,
    "the same content": 2,
    "delayed by 2 s": 2,
    "stamped ahead": 4,
    "black": 3,
    "all NaN": 3,
    "no return": 3,
    "wrong frame": 4,
    "wrong intrinsics size": 4,
}
LIMIT_S = ROBOT.safety.voxels_max_age_s
SKEW_S = 0.01
SAME_S = 0.5
OPENRAL = str(Path(sys.executable).parent / "openral")
RED = (214, 39, 40)


@pytest.fixture(scope="module")
def module_graph(domain: int) -> Iterator[Graph]:
    made = Graph(domain)
    yield made
    made.close()


@pytest.fixture(scope="module")
def live(module_graph: Graph) -> Iterator[tuple[LiveGraph, PretendRobot]]:
    robot = PretendRobot(module_graph)
    graph = LiveGraph(module_graph, ROBOT.id, sim_time=False)
    graph.key = robot.key
    graph.hear("openral_msgs/msg/OccupancyVoxels", topics.VOXELS, topics.SENSOR)
    graph.hear("openral_msgs/msg/WorldState", world_topics.WORLD_STATE, topics.STATE)
    graph.start("openral.world", f"same_picture_s={SAME_S}")
    graph.start_kernel("requires_voxels=true", "candidate_max_age_s=10.0")
    wait_until(lambda: graph.heard[topics.SAFETY_STATE], 60.0)
    wait_until(lambda: graph.candidates.has_subscribers)
    wait_until(lambda: any(m.healthy for m in graph.heard[topics.VOXELS]), 60.0)
    wait_until(lambda: graph.trigger(topics.RESET).success)
    yield graph, robot
    graph.close()


def stay() -> Any:
    arm = [name for name in ROBOT.joint_names if name.startswith("panda_joint")]
    return joint_chunk([[ROBOT.home[name] for name in arm]] * 3, dt=0.02, joints=arm)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_camera_drops_motion_until_it_is_mended(
    live: tuple[LiveGraph, PretendRobot], fault: str
) -> None:
    graph, robot = live
    robot.fault = ""
    wait_until(lambda: graph.propose(stay()).status == ACCEPTED)
    heard = len(graph.heard[topics.VERDICT])
    robot.fault = fault
    wait_until(lambda: graph.propose(stay()).reason == "voxel_unavailable")
    # So long it may be a scene that does not change.
    limit_s = LIMIT_S + SKEW_S + (SAME_S if fault == "the same content" else 0.0)
    wait_until(lambda: robot.node.now() > robot.good_ns + limit_s * NS)
    for _ in range(10):  # on a busy machine joint states may come late, too
        assert graph.propose(stay()).status == DROPPED
        time.sleep(0.05)
    passed = [v for v in graph.heard[topics.VERDICT][heard:] if v.status == ACCEPTED]
    assert all(stamp_ns(v) <= robot.good_ns + limit_s * NS for v in passed)
    wait_until(lambda: not graph.heard[topics.VOXELS][-1].healthy)
    health = wait_until(lambda: graph.heard[topics.VOXELS][-1].sensors[0])
    assert health.state == STATES[fault] and health.detail
    assert graph.heard[topics.SAFETY_STATE][-1].state == ARMED
    robot.fault = ""
    wait_until(lambda: graph.propose(stay()).status == ACCEPTED)
    assert graph.heard[topics.SAFETY_STATE][-1].state == ARMED
    assert not graph.heard[topics.ESTOP]


def test_a_picture_that_stands_still_while_the_camera_moves_is_stale(
    live: tuple[LiveGraph, PretendRobot],
) -> None:
    graph, robot = live
    robot.fault = ""
    wait_until(lambda: graph.propose(stay()).status == ACCEPTED)
    robot.fault = "the same content"
    robot.pose = [0.1, 0.0, 0.0]
    wait_until(lambda: graph.propose(stay()).reason == "voxel_unavailable")
    wait_until(
        lambda: "although the camera moves" in graph.heard[topics.VOXELS][-1].sensors[0].detail
    )
    robot.pose, robot.fault = [0.0, 0.0, 0.0], ""
    wait_until(lambda: graph.propose(stay()).status == ACCEPTED)


def test_maps_are_stamped_by_their_measurement(live: tuple[LiveGraph, PretendRobot]) -> None:
    graph, robot = live
    wait_until(lambda: graph.heard[topics.VOXELS][-1].healthy)
    map_ = graph.heard[topics.VOXELS][-1]
    assert stamp_ns(map_) <= robot.good_ns
    assert map_.header.frame_id == "odom"
    assert map_.origin.z == pytest.approx(0.05)
    assert int(np.unpackbits(map_.bits).sum()) > 500


def test_the_world_state_tells_all_that_skills_read(live: tuple[LiveGraph, PretendRobot]) -> None:
    graph, robot = live
    states = graph.heard[world_topics.WORLD_STATE]
    known = graph.node.create_publisher(msg.WorldCollision, topics.WORLD, topics.LATCHED)
    post = msg.CollisionPrimitive(id="post", pose=msg.Pose(msg.Point(3.0, 1.0, 0.5)))
    crate = msg.CollisionPrimitive(id="crate", pose=msg.Pose(msg.Point(2.0, 0.0, 0.5)))
    robot.pose = [0.4, -0.2, 0.3]
    objects = graph.node.create_publisher(msg.WorldCollision, world_topics.OBJECTS, topics.SENSOR)

    def tell() -> None:
        stamp = graph.node.stamp()
        known.publish(msg.WorldCollision(msg.Header(stamp, "odom"), [post]))
        objects.publish(msg.WorldCollision(msg.Header(stamp, ROBOT.base_frame), [crate]))

    timer = graph.node.create_wall_timer(0.1, tell)
    try:
        wait_until(
            lambda: (
                len(states[-1].obstacles) == len(states[-1].objects) == 1
                and abs(states[-1].base.pose.position.x) > 0.3
            )
        )
        before = len(states)
        wait_until(lambda: len(states) > before + 60, 60.0)
    finally:
        graph.node.destroy_timer(timer)
        graph.node.destroy_publisher(known)
        graph.node.destroy_publisher(objects)
        robot.pose = [0.0, 0.0, 0.0]
    told = states[before:]
    state = told[-1]
    # Not by how late they come on a busy machine, but by what they tell of.
    span = (stamp_ns(told[-1]) - stamp_ns(told[0])) / NS
    assert (len(told) - 1) / span >= 20.0
    seen = {thing.id: thing.pose.position for thing in [*state.obstacles, *state.objects]}
    c, s = math.cos(0.3), math.sin(0.3)
    ahead, left = c * 2.6 + s * 1.2, -s * 2.6 + c * 1.2
    assert [seen["post"].x, seen["post"].y, seen["post"].z] == pytest.approx([ahead, left, 0.5])
    assert [seen["crate"].x, seen["crate"].y, seen["crate"].z] == pytest.approx([2.0, 0.0, 0.5])
    base = state.base.pose
    assert [base.position.x, base.position.y] == pytest.approx([0.4, -0.2])
    assert 2 * math.atan2(base.orientation.z, base.orientation.w) == pytest.approx(0.3)
    assert list(state.joints.name) == ROBOT.joint_names
    assert [hand.name for hand in state.end_effectors] == [e.name for e in ROBOT.end_effectors]
    kinematics, effector = Kinematics(ROBOT), ROBOT.end_effectors[0]
    link = kinematics.poses(ROBOT.home_position)[kinematics.links.index(effector.link)]
    tool = link @ matrix(effector.tcp.xyz, effector.tcp.rpy)
    hand = state.end_effectors[0]
    place = [hand.pose.position.x, hand.pose.position.y, hand.pose.position.z]
    assert place == pytest.approx(tool[:3, 3].tolist(), abs=1e-6)
    assert hand.twist.linear.x == pytest.approx(0.0, abs=1e-9)
    assert hand.opening == pytest.approx(1.0)
    assert state.has_base and state.base.header.frame_id == "odom"
    assert state.header.frame_id == ROBOT.base_frame
    feeds = [sensor.name for sensor in state.sensors]
    assert feeds == ["front_depth", topics.WORLD, world_topics.OBJECTS]
    assert state.safety.state == ARMED


def test_the_view_shows_what_the_robot_believes(
    live: tuple[LiveGraph, PretendRobot], tmp_path: Path
) -> None:
    graph, _ = live
    wait_until(lambda: graph.heard[topics.VOXELS][-1].healthy)

    def view(*words: str) -> str:
        command = [OPENRAL, "world", "view", "--timeout", "20", *words]
        environment = {**os.environ, "OPENRAL_DOMAIN": str(graph.graph.domain)}
        return subprocess.run(
            command, env=environment, check=True, capture_output=True, text=True, timeout=60
        ).stdout

    data = json.loads(view("--json"))
    assert data["frame"] == "odom" and data["occupied"] > 500
    assert data["sensors"][0]["name"] == "front_depth"
    picture = tmp_path / "world.png"
    view("--out", str(picture))
    pixels = np.asarray(Image.open(picture).convert("RGB"))
    assert not (pixels == RED).all(axis=2).any(), "nothing was refused"
    assert pixels.shape[:2] == (808, 960) and len(np.unique(pixels.reshape(-1, 3), axis=0)) > 50
