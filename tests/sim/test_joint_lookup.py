"""Joint lookup: exact names first, a prefix left out only where that is unambiguous."""

from __future__ import annotations

import mujoco
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openral.errors import ConfigError
from openral.manifest import load_robot
from openral.sim.twin.binding import Binding, joint_index
from openral.sim.twin.model_source import load_spec


def test_joint_name_unification_strips_robosuite_prefixes_where_unambiguous() -> None:
    found = joint_index(["", "robot0_joint1", "robot0_joint2", "mobilebase0_x"])
    assert found == {
        "robot0_joint1": 1,
        "joint1": 1,
        "robot0_joint2": 2,
        "joint2": 2,
        "mobilebase0_x": 3,
        "x": 3,
    }


def test_two_arms_stay_exact() -> None:
    assert set(joint_index(["robot0_joint1", "robot1_joint1"])) == {
        "robot0_joint1",
        "robot1_joint1",
    }


def test_a_stripped_name_never_shadows_an_exact_one() -> None:
    assert joint_index(["joint1", "robot0_joint1"])["joint1"] == 0


name = st.one_of(
    st.just(""), st.from_regex(r"\A([a-z]{1,2}[0-9]_)?(j|k|left_j)[0-9]?\Z", fullmatch=True)
)


@given(st.lists(name, unique_by=lambda n: n or object()))
def test_exact_names_win_and_short_ones_are_unique(names: list[str]) -> None:
    found = joint_index(names)
    for index, given_name in enumerate(names):
        if given_name:
            assert found[given_name] == index
    for short in set(found) - set(names):
        meant = [n for n in names if n.endswith(f"_{short}")]
        assert names[found[short]] in meant
        assert sum(joint_index([n]).get(short) == 0 for n in meant) == 1


def test_unnamed_joints_of_a_scene_do_not_shift_the_robot() -> None:
    robot = load_robot("so101_follower")
    plain = Binding(robot, load_spec(robot).compile())
    spec = load_spec(robot)
    first = spec.worldbody.bodies[0]
    for key in list(spec.keys):
        spec.delete(key)
    first.add_joint(type=mujoco.mjtJoint.mjJNT_SLIDE)  # an unnamed joint before all others
    shifted = Binding(robot, spec.compile())
    assert list(shifted.qpos) == [address + 1 for address in plain.qpos]


def test_a_prefixed_model_binds_through_the_short_names() -> None:
    robot = load_robot("so101_follower")
    spec = load_spec(robot)
    for key in list(spec.keys):
        spec.delete(key)
    for joint in spec.joints:
        joint.name = f"robot0_{joint.name}"
    for actuator in spec.actuators:
        actuator.target = f"robot0_{actuator.target}"
    assert list(Binding(robot, spec.compile()).qpos) == list(
        Binding(robot, load_spec(robot).compile()).qpos
    )


def test_a_joint_that_cannot_be_found_is_an_error_that_names_the_choices() -> None:
    robot = load_robot("so101_follower")
    other = load_spec(load_robot("franka_panda")).compile()
    with pytest.raises(ConfigError, match=r"joint 'shoulder_pan'.*joints: joint1"):
        Binding(robot, other)
