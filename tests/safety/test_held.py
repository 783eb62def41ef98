"""What the robot holds is part of it: it moves with the hand and must not hit anything."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from openral.bench.robot import bench_robot
from openral.errors import ConfigError
from openral.graph.attached_object import AttachedObject, held_object
from openral.manifest import load_robot
from openral.manifest.kinematics import Kinematics
from openral.ros.codec import types
from openral.ros.stamps import time_message
from openral.safety import Kernel, Sphere, VoxelGrid
from openral.safety.node.known_objects import KnownObjects
from tests.safety.helpers import HOME_Q, NOW, M, chunk

ROBOT = bench_robot()
STICK = AttachedObject("stick", "hand", (0.0, 0.0, 0.1), (0.0, 0.0, 0.4), 0.02)


def kernel(held: list[AttachedObject], obstacles: Any = (), **options: Any) -> Kernel:
    made = Kernel(ROBOT, **options)
    made.set_state(HOME_Q, stamp_ns=NOW)
    made.set_world(obstacles, NOW, held)
    return made


def primitive(shape: int, size: list[float], link: str = "hand", **pose: Any) -> Any:
    made = types.new("openral_msgs/msg/CollisionPrimitive", id="thing", shape=shape)
    made.size, made.attached_link = np.array(size), link
    made.pose.position.x, made.pose.position.y, made.pose.position.z = pose.get("at", (0, 0, 0))
    turn = pose.get("turn", (0, 0, 0, 1))
    o = made.pose.orientation
    o.x, o.y, o.z, o.w = (float(v) for v in turn)
    return made


@given(
    st.integers(0, 2),
    st.lists(st.floats(0.001, 0.5), min_size=3, max_size=3),
    st.integers(0, 2**32 - 1),
)
@settings(deadline=None)
def test_the_capsule_around_an_object_encloses_it(shape: int, size: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    turn, at = Rotation.random(random_state=rng), rng.uniform(-0.3, 0.3, 3)
    held = held_object(primitive(shape, size, at=at.tolist(), turn=turn.as_quat()))
    points = rng.uniform(-1, 1, (200, 3))
    if shape == 1:
        points = np.sign(points) * np.array(size) / 2
    else:
        points = points / np.linalg.norm(points, axis=1)[:, None] * size[0]
        if shape == 2:
            points[:, 2] += rng.choice([-1, 1], 200) * size[1] / 2
    points = turn.apply(points) + at
    a, b = np.array(held.p0), np.array(held.p1)
    way = b - a
    t = np.clip((points - a) @ way / max(float(way @ way), 1e-12), 0, 1)
    distance = np.linalg.norm(points - a - t[:, None] * way, axis=1)
    assert distance.max() <= held.radius + 1e-9


def tip() -> Any:
    """Where the stick ends at home."""
    kinematics = Kinematics(ROBOT)
    hand = kinematics.poses(HOME_Q)[kinematics.links.index("hand")]
    return hand[:3, :3] @ np.array(STICK.p1) + hand[:3, 3]


def test_a_held_stick_hits_what_the_empty_hand_would_pass() -> None:
    x, y, z = tip().tolist()
    ball = [Sphere("ball", (x, y, z - 0.06), 0.02)]
    assert kernel([STICK], ball).clearance(HOME_Q)[0] == pytest.approx(0.02, abs=1e-4)
    assert kernel([], ball).clearance(HOME_Q)[0] > 0.1
    down = np.tile(HOME_Q, (4, 1))
    down[:, 1] += 0.02 * np.arange(1, 5)
    assert kernel([], ball).validate(chunk(M.JOINT_POSITION, down), NOW).accepted
    verdict = kernel([STICK], ball).validate(chunk(M.JOINT_POSITION, down), NOW)
    assert verdict.status == "world_collision" and verdict.link == "hand"
    assert verdict.object == "ball"
    assert kernel([STICK]).validate(chunk(M.JOINT_POSITION, down), NOW).accepted


def test_a_held_object_is_kept_from_the_robots_own_links_unless_they_may_touch() -> None:
    robot = load_robot("franka_panda")
    hand = robot.end_effectors[0].link
    home = robot.home_position
    long_bar = AttachedObject("bar", hand, (-0.6, 0.0, 0.1), (0.6, 0.0, 0.1), 0.03)
    made = Kernel(robot)
    made.set_state(home, stamp_ns=NOW)
    made.set_world([], NOW, [long_bar])
    free = made.clearance(home)[1]
    links = tuple(link.name for link in robot.links if link.capsules and link.name != hand)
    touching = AttachedObject("bar", hand, long_bar.p0, long_bar.p1, 0.03, links)
    made.set_world([], NOW, [touching])
    assert made.clearance(home)[1] >= free
    fat = AttachedObject("drum", hand, (0.0, 0.0, 0.1), (0.0, 0.0, 0.1), 0.4)
    made.set_world([], NOW, [fat])
    verdict = made.validate(chunk(M.JOINT_POSITION, [home] * 2), NOW)
    assert verdict.status == "self_collision" and verdict.object == "drum"
    assert "drum" in str(verdict)


def test_a_held_object_is_checked_against_voxels() -> None:
    x, y, z = tip().tolist()
    cells = np.ones((2, 2, 2), np.uint8)
    for below, status in ((0.3, "accepted"), (0.07, "voxel_collision")):
        holding = kernel([STICK])
        holding.set_voxels(VoxelGrid(cells, (x - 0.02, y - 0.02, z - below), 0.02), NOW)
        verdict = holding.validate(chunk(M.JOINT_POSITION, [HOME_Q] * 2), NOW)
        assert verdict.status == status
    assert verdict.object == "stick" and "object 'stick' on link 'hand'" in str(verdict)


def test_letting_go_makes_the_robot_smaller_again() -> None:
    made = kernel([AttachedObject("drum", "hand", (0, 0, 0.1), (0, 0, 0.1), 0.6)])
    stay = chunk(M.JOINT_POSITION, [HOME_Q] * 2)
    assert made.validate(stay, NOW).status == "self_collision"
    made.set_world([], NOW)
    made.reset()
    assert made.validate(stay, NOW).accepted


def test_more_objects_than_fit_are_an_overflow_and_no_pass() -> None:
    many = [AttachedObject(f"o{i}", "hand", (0, 0, 0.1), (0, 0, 0.1), 0.001) for i in range(100)]
    verdict = kernel(many).validate(chunk(M.JOINT_POSITION, [HOME_Q] * 2), NOW)
    assert verdict.status == "world_overflow" and not verdict.accepted and not verdict.latched


def test_an_object_on_no_link_makes_the_world_unusable() -> None:
    made = kernel([])
    message = types.new("openral_msgs/msg/WorldCollision")
    message.header.stamp = time_message(NOW)
    message.header.frame_id = ROBOT.base_frame
    message.primitives.append(primitive(0, [0.02, 0, 0], link="no_such_link"))
    with pytest.raises(ConfigError, match="no link 'no_such_link'"):
        KnownObjects(made).take(message, 0, NOW)
    verdict = made.validate(chunk(M.JOINT_POSITION, [HOME_Q] * 2), NOW)
    assert verdict.status == "world_unavailable" and not verdict.latched
