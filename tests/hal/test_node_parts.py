"""The small parts of the HAL's node: pacing, twists, transforms and the URDF."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openral.hal.commands.cmd_vel import limits, twist_rows, within
from openral.hal.pacer import Pacer
from openral.hal.sensors.depth import in_range
from openral.manifest.kinematics import Kinematics
from openral.manifest.library import load_robot, shipped_robots
from openral.manifest.urdf_writer import urdf_text

MOBILE = load_robot("panda_mobile")
SPEED, CHANGE = limits(MOBILE)
DT_S = 0.02
twists = st.tuples(*[st.floats(-5, 5)] * 3).map(np.array)


@given(
    rate_hz=st.floats(1, 100),
    phase=st.floats(0, 1),
    tick_ms=st.integers(1, 8),
    start_ms=st.integers(0, 10_000),
)
def test_a_pacer_keeps_its_rate_whatever_the_ticks(
    rate_hz: float, phase: float, tick_ms: int, start_ms: int
) -> None:
    pacer, seconds = Pacer(rate_hz, phase), 4.0
    stamps = range(start_ms * 10**6, start_ms * 10**6 + round(seconds * 1e9), tick_ms * 10**6)
    count = sum(pacer.due(stamp) for stamp in stamps)
    possible = min(rate_hz, 1000 / tick_ms)
    assert possible * seconds * 0.75 - 2 <= count <= rate_hz * seconds + 2
    if tick_ms <= 250 / rate_hz:
        assert count == pytest.approx(rate_hz * seconds, abs=2)


def test_a_pacer_does_not_make_up_for_what_was_missed() -> None:
    pacer = Pacer(10.0)
    assert pacer.due(0)
    assert pacer.due(10**9)
    assert not pacer.due(10**9 + 10**6)


@given(twist=twists)
def test_a_twist_is_brought_within_the_envelope_in_its_own_direction(twist: np.ndarray) -> None:
    safe = within(twist, SPEED)
    assert np.hypot(*safe[:2]) <= SPEED[0] + 1e-9
    assert abs(safe[2]) <= SPEED[2] + 1e-9
    np.testing.assert_allclose(np.cross(safe, twist), 0.0, atol=1e-6)


@given(now=twists, wanted=twists)
def test_a_twist_begins_where_the_base_is_and_ends_at_a_standstill(
    now: np.ndarray, wanted: np.ndarray
) -> None:
    first, goal = within(now, SPEED), within(wanted, SPEED)
    rows = twist_rows(first, goal, CHANGE)
    steps = np.abs(np.diff(np.vstack([first, rows]), axis=0))
    assert (steps <= CHANGE * DT_S + 1e-9).all()
    assert np.abs(rows[-1]).max() <= 1e-3
    assert len(rows) <= 256
    assert (np.hypot(rows[:, 0], rows[:, 1]) <= SPEED[0] * np.sqrt(2) + 1e-9).all()


def test_depth_out_of_range_is_infinite() -> None:
    depth = np.array([[0.1, 1.0, 9.0, np.inf]], np.float32)
    out = in_range(depth, (0.3, 5.0))
    assert out.tolist() == [[-np.inf, 1.0, np.inf, np.inf]]
    assert out.dtype == np.float32


@pytest.mark.parametrize("name", shipped_robots())
def test_the_urdf_has_the_manifests_kinematics(name: str) -> None:
    robot = load_robot(name)
    model = mujoco.MjModel.from_xml_string(urdf_text(robot))
    data = mujoco.MjData(model)
    q = np.array(robot.home_position)
    for joint in robot.joints:
        followed = joint.mimic.joint if joint.mimic else joint.name
        if not joint.moves or joint.name in robot.base_joints:
            continue
        value = q[robot.joint_names.index(followed)]
        if joint.mimic:
            value = joint.mimic.multiplier * value + joint.mimic.offset
        data.joint(joint.name).qpos[0] = value
    mujoco.mj_kinematics(model, data)
    kinematics = Kinematics(robot)
    poses = kinematics.poses(q)
    base = np.eye(4)
    if robot.base_joints:
        base = np.linalg.inv(poses[kinematics.links.index(robot.base_frame)])
    for effector in robot.end_effectors:
        link = effector.link
        while mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, link) < 0:
            link = robot.parent_joint[link].parent  # a fixed link is merged into its parent
        expected = base @ poses[kinematics.links.index(link)]
        np.testing.assert_allclose(data.body(link).xpos, expected[:3, 3], atol=1e-5)
