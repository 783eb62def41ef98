"""The buffer answers where frames were, and says precisely why when it cannot."""

from __future__ import annotations

import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from openral.errors import (
    ExtrapolationError,
    FramesNotConnected,
    TransformError,
    UnknownFrame,
)
from openral.ros import msg
from openral.ros.tf import (
    Buffer,
    Rigid,
    StaticTransformBroadcaster,
    TransformBroadcaster,
    stamped,
    to_nanoseconds,
)
from openral.ros.tf.history import MOST_POSES, History
from tests.ros.tf.strategies import close, rigids

SECOND = 1_000_000_000


def at(x: float, yaw: float = 0.0) -> Rigid:
    return Rigid(np.array([x, 0.0, 0.0]), Rotation.from_euler("z", yaw))


def moving(buffer: Buffer, parent: str, child: str, stamp: int, pose: Rigid) -> None:
    buffer.set_transform(stamped(parent, child, stamp, pose))


def fixed(buffer: Buffer, parent: str, child: str, pose: Rigid) -> None:
    buffer.set_transform(stamped(parent, child, 0, pose), static=True)


@pytest.fixture
def robot() -> Buffer:
    """map → odom → base → {camera, arm → tool}, base moving from 0 to 1 s."""
    buffer = Buffer()
    fixed(buffer, "map", "odom", at(10))
    moving(buffer, "odom", "base", 0, at(0))
    moving(buffer, "odom", "base", SECOND, at(2, np.pi / 2))
    fixed(buffer, "base", "camera", at(0.5))
    moving(buffer, "base", "arm", 0, at(1))
    moving(buffer, "base", "arm", 2 * SECOND, at(1))
    fixed(buffer, "arm", "tool", at(0.1))
    return buffer


def test_lookups_interpolate_between_neighbours(robot: Buffer) -> None:
    pose = robot.lookup("odom", "base", SECOND // 2)
    assert np.allclose(pose.translation, [1, 0, 0])
    assert np.isclose(pose.rotation.magnitude(), np.pi / 4)


def test_lookups_cross_branches_and_static_links(robot: Buffer) -> None:
    assert np.allclose(robot.lookup("camera", "tool", 0).translation, [0.6, 0, 0])
    assert np.allclose(robot.lookup("map", "camera", 0).translation, [10.5, 0, 0])
    assert close(robot.lookup("tool", "tool"), Rigid.identity())


def test_no_time_means_the_latest_that_the_chain_knows(robot: Buffer) -> None:
    message = robot.lookup_transform("map", "tool")
    assert to_nanoseconds(message.header.stamp) == SECOND
    assert (message.header.frame_id, message.child_frame_id) == ("map", "tool")
    assert to_nanoseconds(robot.lookup_transform("base", "tool").header.stamp) == 2 * SECOND
    assert to_nanoseconds(robot.lookup_transform("base", "camera").header.stamp) == 0


def test_stamps_may_be_messages_and_frames_may_have_a_slash(robot: Buffer) -> None:
    assert close(robot.lookup("/odom", "/base", msg.Time(1, 0)), at(2, np.pi / 2))


def test_an_unknown_frame_is_named_with_its_nearest(robot: Buffer) -> None:
    with pytest.raises(UnknownFrame, match=r"no frame 'camra'; did you mean 'camera'.*frames: arm"):
        robot.lookup("base", "camra")


def test_frames_of_two_trees_name_their_roots(robot: Buffer) -> None:
    fixed(robot, "world", "table", at(0))
    with pytest.raises(
        FramesNotConnected, match=r"'table' \(under 'world'\) and 'base' \(under 'map'"
    ):
        robot.lookup("base", "table")


def test_times_outside_say_what_is_known(robot: Buffer) -> None:
    with pytest.raises(
        ExtrapolationError,
        match=r"'base' in 'odom' at 1.500 s .* future; known from 0.000 s to 1.000 s",
    ):
        robot.lookup("map", "base", SECOND * 3 // 2)
    with pytest.raises(ExtrapolationError, match="past"):
        robot.lookup("map", "base", -1)
    assert not robot.can_transform("map", "base", -1) and robot.can_transform("map", "base", 1)


def test_only_the_last_seconds_are_kept() -> None:
    buffer = Buffer(cache_time=10)
    for second in range(60):
        moving(buffer, "a", "b", second * SECOND, at(second))
    with pytest.raises(ExtrapolationError, match=r"known from 49.000 s to 59.000 s"):
        buffer.lookup("a", "b", 48 * SECOND)


def test_a_flood_of_stamps_is_bounded() -> None:
    history = History("a", False, 10 * SECOND)
    for stamp in range(MOST_POSES + 500):
        history.insert(stamp, at(0))
    assert history.interval == (500, MOST_POSES + 499)


def test_time_set_back_forgets_what_moved(robot: Buffer) -> None:
    moving(robot, "base", "arm", 5 * SECOND, at(1))
    moving(robot, "base", "arm", 3 * SECOND, at(7))
    assert np.allclose(robot.lookup("base", "tool").translation, [7.1, 0, 0])
    assert "odom" in robot.frames()
    with pytest.raises(TransformError):
        robot.lookup("odom", "base")
    robot.clear()
    assert robot.can_transform("map", "odom") and not robot.can_transform("base", "arm")


def test_messages_a_little_late_are_sorted_in() -> None:
    buffer = Buffer()
    for tenth in (0, 4, 2, 6):
        moving(buffer, "a", "b", tenth * SECOND // 10, at(tenth))
    assert np.allclose(buffer.lookup("a", "b", 3 * SECOND // 10).translation, [3, 0, 0])


def test_a_frame_can_move_to_another_parent(robot: Buffer) -> None:
    fixed(robot, "camera", "tool", at(5))
    assert np.allclose(robot.lookup("base", "tool").translation, [5.5, 0, 0])


def test_circles_are_refused(robot: Buffer) -> None:
    with pytest.raises(TransformError, match="'map' in 'tool' would close a circle"):
        fixed(robot, "tool", "map", at(0))
    with pytest.raises(TransformError, match="two names are needed"):
        fixed(robot, "tool", "tool", at(0))


def test_nonsense_on_the_topic_is_counted_and_the_rest_taken() -> None:
    buffer = Buffer()
    bad = stamped("a", "c", 0, at(0))
    bad.transform.rotation.w = float("nan")
    buffer.receive(msg.TFMessage([bad, stamped("a", "b", 0, at(1))]))
    assert buffer.rejected == 1 and buffer.frames() == ["a", "b"]


def test_a_lookup_can_wait_for_another_thread() -> None:
    buffer = Buffer()
    sender = threading.Timer(0.05, lambda: fixed(buffer, "a", "b", at(1)))
    sender.start()
    assert close(buffer.lookup("a", "b", timeout=30), at(1))
    sender.join()
    with pytest.raises(UnknownFrame):
        buffer.lookup("a", "z", timeout=0.01)


def test_many_threads_may_use_it_at_once(robot: Buffer) -> None:
    failures: list[Exception] = []

    def write() -> None:
        for step in range(300):
            moving(robot, "base", "arm", 2 * SECOND + step, at(1))

    def read() -> None:
        try:
            for _ in range(300):
                assert np.allclose(robot.lookup("base", "tool").translation, [1.1, 0, 0])
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=job) for job in (write, read, read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@settings(deadline=None)
@given(st.lists(rigids, min_size=1, max_size=6), st.data())
def test_a_lookup_is_the_product_of_its_links(links: list[Rigid], data: st.DataObject) -> None:
    buffer = Buffer()
    names = [f"f{i}" for i in range(len(links) + 1)]
    for (parent, child), pose in zip(pairwise(names), links, strict=True):
        fixed(buffer, parent, child, pose)
    expected = np.linalg.multi_dot([np.eye(4), np.eye(4), *(pose.matrix() for pose in links)])
    assert np.allclose(buffer.lookup(names[0], names[-1]).matrix(), expected)
    middle, a, b = (data.draw(st.sampled_from(names)) for _ in range(3))
    direct = buffer.lookup(a, b)
    assert close(direct, buffer.lookup(a, middle) @ buffer.lookup(middle, b), 1e-6)
    assert close(direct, buffer.lookup(b, a).inverse(), 1e-6)


def test_broadcasters_send_what_listeners_need() -> None:
    sent: list[msg.TFMessage] = []
    TransformBroadcaster(sent.append).send_transform(stamped("a", "b", 1, at(1)))
    assert [t.child_frame_id for t in sent[-1].transforms] == ["b"]
    static = StaticTransformBroadcaster(sent.append)
    static.send_transform([stamped("a", "b", 0, at(1)), stamped("a", "c", 0, at(2))])
    static.send_transform(stamped("a", "b", 0, at(3)))
    assert [t.child_frame_id for t in sent[-1].transforms] == ["b", "c"]
    buffer = Buffer()
    buffer.receive(sent[-1], static=True)
    assert np.allclose(buffer.lookup("a", "b").translation, [3, 0, 0])
