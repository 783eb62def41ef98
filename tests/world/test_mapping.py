"""The mapper in its node: several cameras, clouds, what is unknown, what fades, what is held."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openral.graph.states import SensorState
from openral.hal.publishers.robot_tf import fixed_frames
from openral.ros import msg
from openral.ros.clock import NS
from openral.ros.qos import LATCHED
from openral.ros.stamps import stamp_ns
from openral.world import topics
from tests.world.two_cameras import PLACES, Speaker, TwoCameras, at, cells

WALL = {name: (x + 1.0125, y, z) for name, (x, y, z) in PLACES.items()}
"""Where each camera's wall is."""
BEFORE = {name: (x + 0.6, y, z) for name, (x, y, z) in PLACES.items()}
Make = Callable[..., TwoCameras]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[TwoCameras] = []

    def one(**parameters: Any) -> TwoCameras:
        made.append(TwoCameras(tmp_path, **parameters))
        return made[-1]

    yield one
    for rig in made:
        rig.close()


def test_two_cameras_make_one_map(make: Make) -> None:
    rig = make()
    assert rig.see(1.0125, "left").healthy is False, "the other one was never heard"
    assert rig.states() == {"left": SensorState.OK, "right": SensorState.SILENT}
    early = rig.now
    rig.wait(0.1)
    map_ = rig.see(1.0125, "right")
    assert map_.healthy and stamp_ns(map_) == early, "as old as the older of the two"
    assert at(map_, list(WALL.values())).all() and not at(map_, list(BEFORE.values())).any()
    for _ in range(8):
        rig.wait(rig.limit_s / 6)
        map_ = rig.see(1.0125, "left")
    assert not map_.healthy and rig.states() == {"left": SensorState.OK, "right": SensorState.STALE}
    assert stamp_ns(map_) == early + NS // 10
    assert rig.see(1.0125, "right").healthy


def test_clouds_are_mapped_like_pictures(make: Make) -> None:
    rig = make(input="points")
    there = np.array([WALL["left"]])
    map_ = rig.see_points(there, "left")
    assert at(map_, there).all(), "one point is enough: how dense a cloud should be is not known"
    assert int(cells(map_).sum()) == 1
    assert not at(map_, BEFORE["left"], map_.unknown).any() and not at(map_, BEFORE["left"]).any()
    assert rig.states() == {"left": SensorState.OK, "right": SensorState.SILENT}
    rig.speaker.cameras["right"] = rig.speaker.cameras["left"]
    rig.see_points(there, "right")
    rig.wait(0.3)
    assert rig.states()["right"] == SensorState.MISCONFIGURED, "in the frame of the other camera"


def test_unknown_space_blocks_where_that_is_asked_for(make: Make) -> None:
    rig = make(unknown="occupied")
    map_ = rig.see()
    unknown = cells(map_, map_.unknown)
    assert unknown.mean() > 0.5 and (cells(map_) & unknown).sum() == unknown.sum()
    assert at(map_, list(WALL.values())).all() and not at(map_, list(BEFORE.values())).any()
    assert rig.clouds[-1].width == int(cells(map_).sum()), "what is shown is what blocks"


def test_the_centres_of_what_blocks_are_shown(make: Make) -> None:
    rig = make()
    map_ = rig.see()
    cloud = rig.clouds[-1]
    points = np.frombuffer(cloud.data, np.float32).reshape(-1, 3)
    assert len(points) == cloud.width == int(cells(map_).sum()) > 100
    assert at(map_, points).all()
    assert (cloud.header.frame_id, stamp_ns(cloud)) == (map_.header.frame_id, stamp_ns(map_))
    assert np.allclose((points / map_.resolution) % 1, 0.5, atol=1e-3)


@pytest.mark.parametrize("unknown", ["free", "occupied"])
def test_what_is_not_seen_again_fades_and_the_robot_stays_free(make: Make, unknown: str) -> None:
    rig = make(decay_s=0.5, unknown=unknown)
    first = rig.see()
    body, _ = rig.world.mapping.body.parts(rig.speaker.q, np.eye(4))  # type: ignore[union-attr]
    middles = (body[:, :3] + body[:, 3:6]) / 2
    beside = middles + np.outer(body[:, 6] + 0.05, (0.0, 1.0, 0.0))
    assert not at(first, beside).any() and not at(first, beside, first.unknown).any()
    for _ in range(12):
        rig.wait(0.5)
        map_ = rig.see(np.where(np.arange(96) < 4, 1.0125, np.nan))  # all but an edge is hidden
    assert map_.healthy
    assert at(map_, list(WALL.values()), map_.unknown).all(), "faded"
    assert at(map_, list(BEFORE.values()), map_.unknown).all()
    assert at(map_, list(BEFORE.values())).all() == (unknown == "occupied")
    assert not at(map_, beside).any(), "the robot is not locked in"


def test_the_map_can_be_cleared(make: Make) -> None:
    rig = make()
    assert at(rig.see(), list(WALL.values())).all()
    assert rig.call(topics.CLEAR).success
    rig.wait(0.1)
    map_ = rig.see(np.where(np.arange(96) < 4, 1.0125, np.nan))
    assert at(map_, list(WALL.values()), map_.unknown).all()
    assert at(rig.see(), list(WALL.values())).sum() == 0, "the same stamps again are no news"
    rig.wait(0.1)
    assert at(rig.see(), list(WALL.values())).all()


BOX = (0.1, 0.1, 0.2)
UNDER_M = 0.03


def held_box(rig: TwoCameras) -> tuple[Any, Any, Any]:
    """A box in the hand, points on it, and points of a table just under it."""
    effector = rig.speaker.robot.end_effectors[0]
    box = msg.CollisionPrimitive(id="box", shape=1, attached_link=effector.link)
    box.size = np.array(BOX)
    box.pose.position.z = 0.25
    body = rig.world.mapping.body  # type: ignore[union-attr]
    hand = body.link_poses(rig.speaker.q)[effector.link]
    middle = hand[:3, 3] + 0.25 * hand[:3, 2]
    assert abs(hand[2, 2]) > 0.99, "the hand does not point down"
    turn = hand[:3, :3]
    shell = np.random.default_rng(2).uniform(-0.5, 0.5, (4000, 3))
    shell[np.arange(4000), np.arange(4000) % 3] = np.where(np.arange(4000) % 2, 0.5, -0.5)
    across = np.linspace(-0.3, 0.3, 61)
    flat = np.stack(np.meshgrid(across, across, [0.0]), -1).reshape(-1, 3)
    table = middle + flat - (0.0, 0.0, BOX[2] / 2 + UNDER_M)
    return box, middle + (shell * BOX) @ turn.T, table


def test_what_is_under_a_held_box_comes_back_when_it_is_let_go(make: Make) -> None:
    rig = make(input="points")
    box, surface, table = held_box(rig)
    elsewhere = np.array([WALL["left"], WALL["right"]])

    def look(points: Any = elsewhere) -> Any:
        rig.wait(0.1)
        return rig.see_points(points)

    look(np.vstack([surface, table]))
    map_ = look(np.vstack([surface, table]))
    wide = np.abs(table - table.mean(axis=0)).max(axis=1)
    under, beside = table[wide < 0.02], table[wide > 0.25]
    assert at(map_, table).all()
    seen = at(map_, surface).mean()
    assert seen > 0.3, "the box is not in the map"
    rig.attach(box)
    map_ = look()
    assert not at(map_, surface).any(), "the box has left the map"
    assert not at(map_, under).any() and at(map_, beside).all()
    map_ = look(np.vstack([surface, table]))
    assert not at(map_, surface).any(), "it is the robot's"
    rig.attach()
    map_ = look()
    assert at(map_, table).all(), "the table was there all the time"


def test_what_stands_where_a_box_was_taken_from_is_seen_again(make: Make) -> None:
    rig = make(input="points")
    box, surface, table = held_box(rig)
    for _ in range(2):
        rig.wait(0.1)
        rig.see_points(np.vstack([surface, table]))
    rig.attach(box)
    rig.wait(0.1)
    rig.see_points(table)
    rig.speaker.q[3] += 0.8  # the hand goes up and takes the box along
    for _ in range(2):
        rig.wait(0.1)
        map_ = rig.see_points(table)
    assert at(map_, table).all()
    bottom = surface[surface[:, 2] < surface[:, 2].min() + 0.02]
    far = bottom[bottom[:, 2] > table[0, 2] + 0.03]
    assert not at(map_, far).any(), "the box is not left behind"


def test_two_publishers_of_one_depth_topic_make_the_camera_unusable(make: Make) -> None:
    """A second simulator in the domain: a map of two worlds is none."""
    rig = make()
    assert rig.see().healthy
    stranger = Speaker(rig.node, str(rig.folder))
    rig.wait(0.1)
    stranger.tell_depth("left", rig.now, 3.0)
    rig.see()
    rig.wait(0.1)
    rig.see(1.0125, "left")
    assert rig.states()["left"] == SensorState.MISCONFIGURED
    assert not rig.maps[-1].healthy


def test_a_lying_tf_does_not_misplace_what_a_camera_sees(make: Make) -> None:
    rig = make()
    frames = fixed_frames(rig.speaker.robot)
    for frame in frames:
        frame.transform.translation.x += 1.0
    lies = rig.node.create_publisher(msg.TFMessage, "/tf_static", LATCHED)
    lies.publish(msg.TFMessage(frames))
    rig.executor.spin_until_idle()
    map_ = rig.see()
    assert map_.healthy and at(map_, list(WALL.values())).all()
