"""Several publishers of known objects: the world is the union, as old as its oldest part."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from openral.bench.robot import bench_robot
from openral.errors import ConfigError
from openral.graph.obstacles import moved
from openral.ros.codec import types
from openral.ros.stamps import time_message
from openral.safety import Box, Capsule, Kernel, Obstacle, Sphere
from openral.safety.node.known_objects import KnownObjects
from tests.safety.helpers import NOW, M, chunk, mobile_robot

ARM, MOBILE = bench_robot(), mobile_robot(base_linear_m_s=0.5, base_angular_rad_s=1.0)
SECOND = 1_000_000_000
MSGS = "openral_msgs/msg"


def ball(name: str, x: float, y: float = 0.0, link: str = "") -> Any:
    made = types.new(f"{MSGS}/CollisionPrimitive", id=name, attached_link=link)
    made.size = np.array([0.05, 0.0, 0.0])
    made.pose.position.x, made.pose.position.y, made.pose.position.z = x, y, 0.5
    return made


def told(frame: str, stamp: int, *things: Any) -> Any:
    head = types.new("std_msgs/msg/Header", stamp=time_message(stamp), frame_id=frame)
    return types.new(f"{MSGS}/WorldCollision", header=head, primitives=list(things))


def status(kernel: Kernel, now: int = NOW) -> str:
    kernel.reset()
    stay = [kernel.robot.home[j.name] for j in kernel.robot.driven if j.role == "arm"]
    names = [j.name for j in kernel.robot.driven if j.role == "arm"]
    return kernel.validate(chunk(M.JOINT_POSITION, [stay] * 2, joint_names=names), now).status


def arm() -> tuple[Kernel, KnownObjects]:
    kernel = Kernel(ARM)
    kernel.set_state(ARM.home_position, stamp_ns=NOW)
    return kernel, KnownObjects(kernel)


def ids(world: Any) -> set[str]:
    return {thing.id for thing in [*world.obstacles, *world.held]}


def test_the_world_is_the_union_and_as_old_as_its_oldest_list() -> None:
    kernel, known = arm()
    base = ARM.base_frame
    known.take(
        told(base, NOW - SECOND // 2, ball("mine", 2.0), ball("held", 0, link="hand")), 7, NOW
    )
    for _ in range(3):
        world = known.take(told(base, NOW, ball("theirs", 2.5)), 8, NOW)
        assert ids(world) == {"mine", "held", "theirs"}
    assert world is not None and world.stamp_ns == NOW - SECOND // 2
    assert status(kernel) == "accepted"
    assert ids(known.take(told(base, NOW, ball("mine", 2.1)), 7, NOW)) == {"mine", "theirs"}
    late = NOW + 2 * SECOND
    kernel.set_state(ARM.home_position, stamp_ns=late)
    known.take(told(base, late, ball("theirs", 2.5)), 8, late)
    assert status(kernel, late) == "world_unavailable"
    assert known.forget_old(late) == ["mine"]
    assert ids(known.tell()) == {"theirs"}
    assert status(kernel, late) == "accepted"
    assert known.forget_old(late) is None


@pytest.mark.parametrize(("needed", "after"), [(False, "accepted"), (True, "world_unavailable")])
def test_forgetting_the_last_list_is_never_having_heard_one(needed: bool, after: str) -> None:
    kernel = Kernel(ARM, requires_world=needed)
    known = KnownObjects(kernel)
    kernel.set_state(ARM.home_position, stamp_ns=NOW)
    known.take(
        told(ARM.base_frame, NOW - 2 * SECOND, ball("drum", 0, link="hand")), 1, NOW - 2 * SECOND
    )
    assert status(kernel) == "world_unavailable"
    assert known.forget_old(NOW) == ["drum"] and known.tell() is None
    assert status(kernel) == after


def test_one_id_from_two_publishers_makes_the_world_unusable() -> None:
    kernel, known = arm()
    known.take(told(ARM.base_frame, NOW, ball("cup", 2.0)), 1, NOW)
    with pytest.raises(ConfigError, match="two publishers tell of object 'cup'"):
        known.take(told(ARM.base_frame, NOW, ball("cup", 0, link="hand")), 2, NOW)
    assert status(kernel) == "world_unavailable"
    known.take(told(ARM.base_frame, NOW, ball("mug", 0, link="hand")), 2, NOW)
    assert status(kernel) == "accepted"


def test_the_limit_on_obstacles_counts_all_lists() -> None:
    kernel, known = arm()
    for source in (1, 2):
        things = [ball(f"{source}.{i}", 3.0) for i in range(300)]
        known.take(told(ARM.base_frame, NOW, *things), source, NOW)
    assert status(kernel) == "world_overflow"


poses = st.tuples(st.floats(-50, 50), st.floats(-50, 50), st.floats(-7, 7))


@given(poses, st.floats(-1, 1), st.floats(-1, 1), st.floats(-1.5, 1.5))
@settings(max_examples=40, deadline=None)
def test_lists_of_a_base_that_drives_are_put_together_where_they_were_seen(
    then: tuple[float, float, float], x: float, y: float, yaw: float
) -> None:
    """One list in the base frame of a while ago, one in the present one, one in odometry's."""
    kernel, exact = Kernel(MOBILE), Kernel(MOBILE)
    now = (then[0] + x, then[1] + y, then[2] + yaw)
    for one in (kernel, exact):
        one.set_state(MOBILE.home_position, stamp_ns=NOW)
        one.set_base(then, NOW - SECOND // 2)
        one.set_base(now, NOW)
    known = KnownObjects(kernel)
    known.heard_base("odom", NOW)
    base = MOBILE.base_frame
    known.take(told(base, NOW - SECOND // 2, ball("old", 1.2, 0.2)), 1, NOW)
    known.take(told(base, NOW, ball("new", 0.9, -0.4)), 2, NOW)
    c, s = math.cos(now[2]), math.sin(now[2])
    world = known.take(told("odom", NOW, ball("fixed", now[0] - c, now[1] - s)), 3, NOW)
    assert world is not None and world.fixed and len(world.obstacles) == 3
    places = {o.id: np.array(o.centre[:2]) for o in world.obstacles if isinstance(o, Sphere)}
    for name, pose, (ahead, left) in (("old", then, (1.2, 0.2)), ("new", now, (0.9, -0.4))):
        turn = np.array(
            [[math.cos(pose[2]), -math.sin(pose[2])], [math.sin(pose[2]), math.cos(pose[2])]]
        )
        assert places[name] == pytest.approx(turn @ [ahead, left] + pose[:2], abs=1e-9)
    assert all(isinstance(o, Sphere) and o.radius == 0.05 for o in world.obstacles)
    exact.set_world(world.obstacles, NOW, fixed=True)
    q = MOBILE.home_position
    assert kernel.clearance(q, 3.0) == pytest.approx(exact.clearance(q, 3.0), abs=1e-6)


def test_lists_ahead_of_odometry_grow_until_it_has_come() -> None:
    kernel = Kernel(MOBILE)
    known = KnownObjects(kernel)
    base = MOBILE.base_frame
    known.take(told(base, NOW, ball("a", 2.0)), 1, NOW)
    with pytest.raises(ConfigError, match="odometry does not tell"):
        known.take(told(base, NOW, ball("b", 2.0, 1.0)), 2, NOW)
    kernel.set_base((0.0, 0.0, 0.0), NOW - SECOND // 10)
    assert known.heard_base("odom", NOW - SECOND // 10)
    early = known.tell()
    assert early is not None and isinstance(early.obstacles[0], Sphere)
    assert early.obstacles[0].radius > 0.05 + 0.1 * 0.5
    kernel.set_base((0.05, 0.0, 0.0), NOW)
    assert known.heard_base("odom", NOW)
    late = known.tell()
    assert late is not None and isinstance(late.obstacles[0], Sphere)
    assert late.obstacles[0].radius == 0.05 and late.obstacles[0].centre[0] == 2.05
    assert not known.heard_base("odom", NOW + SECOND)


@given(
    st.integers(0, 2),
    st.integers(0, 2**32 - 1),
    st.tuples(st.floats(-3, 3), st.floats(-3, 3), st.floats(-4, 4)),
    st.floats(0, 0.2),
    st.floats(0, 0.2),
)
@settings(deadline=None)
def test_a_moved_obstacle_covers_wherever_it_may_be(
    kind: int, seed: int, pose: tuple[float, float, float], shift: float, turn: float
) -> None:
    rng = np.random.default_rng(seed)
    a, b, half = (rng.uniform(0.05, 2, 3) for _ in range(3))
    spin, r = Rotation.random(random_state=rng), float(rng.uniform(0.01, 0.3))
    directions = rng.normal(size=(60, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    thing: Obstacle
    if kind == 0:
        thing, points = Sphere("it", tuple(a), r), a + r * directions
    elif kind == 1:
        thing = Capsule("it", tuple(a), tuple(b), r)
        points = a + rng.random((60, 1)) * (b - a) + r * directions
    else:
        thing = Box("it", tuple(a), tuple(half), tuple(spin.as_quat()))
        points = a + spin.apply(half * np.sign(directions))
    angle = float(rng.uniform(-turn, turn))
    off = rng.normal(size=2)
    off *= shift * float(rng.random()) / np.linalg.norm(off)
    real = Rotation.from_euler("z", pose[2] + angle).apply(points)
    real += [pose[0] + off[0], pose[1] + off[1], 0.0]
    seen = moved(thing, pose, shift, turn)
    if isinstance(seen, Box):
        local = Rotation.from_quat(seen.quaternion).inv().apply(real - np.array(seen.centre))
        assert (np.abs(local) <= np.array(seen.half) + 1e-9).all()
        return
    p0 = np.array(seen.p0 if isinstance(seen, Capsule) else seen.centre)
    way = (np.array(seen.p1) if isinstance(seen, Capsule) else p0) - p0
    t = np.clip((real - p0) @ way / max(float(way @ way), 1e-12), 0, 1)
    assert np.linalg.norm(real - p0 - t[:, None] * way, axis=1).max() <= seen.radius + 1e-9


@pytest.mark.parametrize("skew_s", [-3.0, -0.05, 0.05, 3.0])
def test_a_list_whose_publisher_lives_is_kept_whatever_its_clock_says(skew_s: float) -> None:
    """Forgotten by a reset, it would leave its obstacles open until it is told again."""
    kernel, known = arm()
    stamp = NOW + round(skew_s * SECOND)
    known.take(told(ARM.base_frame, stamp, ball("crate", 2.0)), 1, NOW)
    before = status(kernel)
    assert before == ("accepted" if skew_s == -0.05 else "world_unavailable")
    assert known.forget_old(NOW + SECOND // 2) is None and ids(known.tell()) == {"crate"}
    assert status(kernel) == before
    assert known.forget_old(NOW + 2 * SECOND) == ["crate"]  # it was not heard again
