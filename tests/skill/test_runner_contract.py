"""A skill's manifest decides how numbers become motion; what does not fit is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openral.errors import CapabilityMismatch, ConfigError, PolicyFailed
from openral.manifest import ControlMode, Kinematics, SkillDescription, load_robot, load_skill
from openral.manifest.kinematics import matrix
from openral.skill.compatibility import require_fit
from openral.skill.library import describe
from openral.skill.spaces.action_space import ActionSpace
from openral.skill.spaces.slot_columns import from_policy, to_policy
from openral.skill.spaces.state_vector import StateVector

PANDA = load_robot("franka_panda")
SO101 = load_robot("so101_follower")
ARM = [name for name in PANDA.joint_names if PANDA.joint(name).role == "arm"]
HOME = np.array(PANDA.home_position)
ALL_MODES = frozenset(PANDA.control_modes)


def slot(name: str, representation: str, dimension: int, mode: str | None, **more: Any) -> Any:
    return {
        "name": name,
        "representation": representation,
        "dimension": dimension,
        "control_mode": mode,
        **more,
    }


def skill(*slots: Any, **more: Any) -> SkillDescription:
    width = sum(s["dimension"] for s in slots)
    return SkillDescription.model_validate(
        {
            "id": "test",
            "name": "test",
            "kind": "policy",
            "entry_point": "wave",
            "rate_hz": 10.0,
            "action": {"dimension": width, "slots": list(slots)},
            **more,
        }
    )


JOINTS = slot("arm", "joint_position", 7, "joint_position")
GRIP = slot("tcp", "gripper", 1, "gripper_position")


def test_slots_become_named_joints_hands_and_the_base() -> None:
    space = ActionSpace(skill(JOINTS, GRIP), PANDA)
    arm, grip = space.decode(np.arange(16.0).reshape(2, 8) / 10, HOME)
    assert arm.columns.joints == tuple(ARM)
    assert arm.mode is ControlMode.JOINT_POSITION
    assert np.allclose(arm.data, np.arange(16.0).reshape(2, 8)[:, :7] / 10)
    assert grip.wire_name == "tcp"
    assert grip.data.tolist() == [[0.7], [1.5]]
    assert ControlMode.COMPOSITE_MODE in space.modes
    drive = skill(slot("base", "base_twist", 3, "body_twist"))
    (base,) = ActionSpace(drive, load_robot("panda_mobile")).decode([[0.1, 0, 0.2]], HOME)
    assert base.mode is ControlMode.BODY_TWIST


def test_degrees_normalised_numbers_and_deltas_become_radians_and_places() -> None:
    degrees = slot("arm", "joint_position", 7, "joint_position", unit="degrees")
    (arm,) = ActionSpace(skill(degrees), PANDA).decode(np.full((1, 7), 90.0), HOME)
    assert np.allclose(arm.data, math.pi / 2)
    share = slot("arm", "joint_position", 7, "joint_position", unit="normalised")
    ranges = np.array([PANDA.joint(name).position_range for name in ARM])
    for value, expected in ((-1.0, ranges[:, 0]), (1.0, ranges[:, 1]), (0.0, ranges.mean(1))):
        (arm,) = ActionSpace(skill(share), PANDA).decode(np.full((1, 7), value), HOME)
        assert np.allclose(arm.data, expected)
    delta = slot("arm", "joint_delta", 7, "joint_position", unit="degrees")
    (arm,) = ActionSpace(skill(delta), PANDA).decode(np.full((3, 7), 1.0), HOME)
    assert np.allclose(arm.data, HOME[:7] + np.radians([[1.0], [2.0], [3.0]]))


def test_the_order_of_a_slots_joints_is_the_order_of_its_columns() -> None:
    order = ARM[::-1]
    mixed = slot("arm", "joint_position", 7, "joint_position", joints=order)
    (arm,) = ActionSpace(skill(mixed), PANDA).decode([np.arange(7.0)], HOME)
    assert list(arm.columns.joints) == order
    assert [PANDA.joint_names[i] for i in arm.columns.indices] == order


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_a_state_read_through_a_manifest_comes_back_as_the_same_action(seed: int) -> None:
    rng = np.random.default_rng(seed)
    unit = str(rng.choice(["radians", "degrees", "normalised"]))
    order = [str(name) for name in rng.permutation(ARM)]
    part = slot("arm", "joint_position", 7, "joint_position", unit=unit, joints=order)
    scaling = {
        "kind": "mean_std",
        "offset": rng.normal(size=7).tolist(),
        "scale": rng.uniform(0.1, 3, 7).tolist(),
    }
    both = skill(
        part,
        state={"dimension": 7, "slots": [part]},
        state_normalisation=scaling,
        action_normalisation=scaling,
    )
    q = HOME + rng.uniform(-0.3, 0.3, HOME.size)
    read = StateVector(both, PANDA).read(q, 0 * q)
    (arm,) = ActionSpace(both, PANDA).decode(read[None], HOME)
    assert np.allclose(arm.data[0], q[list(arm.columns.indices)])
    numbers = rng.normal(size=(4, 7))
    assert np.allclose(
        to_policy(both.state_normalisation, from_policy(both.state_normalisation, numbers)), numbers
    )


def test_a_state_may_hold_speeds_a_gripper_and_the_tools_pose() -> None:
    state = [
        slot("arm", "joint_velocity", 7, None),
        slot("tcp", "gripper", 1, None),
        slot("tcp", "ee_pose", 7, None),
    ]
    reads = skill(JOINTS, state={"dimension": 15, "slots": state})
    seen = StateVector(reads, PANDA).read(HOME, np.arange(HOME.size) * 1.0)
    assert np.allclose(seen[:7], np.arange(7))
    assert seen[7] == HOME[PANDA.joint_names.index(PANDA.end_effectors[0].gripper or "")]
    kinematics, effector = Kinematics(PANDA), PANDA.end_effectors[0]
    hand = kinematics.poses(HOME)[kinematics.links.index(effector.link)]
    tool = hand @ matrix(effector.tcp.xyz, effector.tcp.rpy)
    assert np.allclose(seen[8:11], tool[:3, 3])


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (np.zeros((2, 6)), "shape (2, 6), not (rows, 7)"),
        (np.zeros(7), "shape (7,)"),
        (np.zeros((0, 7)), "1 to 1000 rows"),
        (np.full((1, 7), np.inf), "inf in row 0, column 0"),
        ("up", "answered with str"),
        (None, "not (rows, 7)"),
    ],
)
def test_what_is_no_action_is_named(answer: Any, words: str) -> None:
    with pytest.raises(PolicyFailed, match="skill 'test' answered with") as told:
        ActionSpace(skill(JOINTS), PANDA).decode(answer, HOME)
    assert words in str(told.value)


@pytest.mark.parametrize(
    ("description", "words"),
    [
        (skill(JOINTS, embodiment_tags=["ur5e"]), "made for ur5e"),
        (
            skill(JOINTS, cameras=[{"vla_feature_key": "observation.images.nose"}]),
            "no camera carries 'observation.images.nose'; ",
        ),
        (
            skill(slot("arm", "joint_position", 6, "joint_position")),
            "has 6 columns of joint_position; 'franka_panda' needs 7",
        ),
        (
            skill(slot("legs", "joint_position", 7, "joint_position")),
            "'legs' is no group of joints of 'franka_panda'; groups: arm, gripper, all",
        ),
        (
            skill(slot("arm", "joint_position", 2, "joint_position", joints=[ARM[0], "wrist"])),
            "names a joint 'wrist' that 'franka_panda' does not have",
        ),
        (
            skill(slot("arm", "joint_position", 2, "joint_position", joints=[ARM[0]] * 2)),
            f"names joint '{ARM[0]}' twice",
        ),
        (skill(JOINTS, JOINTS), "is driven by two slots of one action"),
        (
            skill(slot("arm", "joint_velocity", 7, "joint_position")),
            "sends joint_velocity as joint_position; did you mean 'joint_velocity'?",
        ),
        (
            skill(slot("hand", "ee_twist", 6, "cartesian_twist")),
            "'hand' is no end effector of 'franka_panda'; end effectors: tcp",
        ),
        (skill(slot("base", "base_twist", 3, "body_twist")), "drives a base; 'franka_panda' has"),
        (
            skill(slot("tcp", "ee_pose", 7, "cartesian_pose", unit="degrees")),
            "gives ee_pose in degrees; it has no angles",
        ),
        (
            skill(JOINTS, state={"dimension": 6, "slots": [slot("tcp", "ee_twist", 6, None)]}),
            "state slot 'tcp' reads ee_twist; ",
        ),
        (skill(JOINTS, starting_pose={"elbow": 0.0}), "starting pose: no joint 'elbow'"),
    ],
)
def test_a_mismatch_is_refused_with_its_reason(description: SkillDescription, words: str) -> None:
    with pytest.raises(CapabilityMismatch) as told:
        require_fit(description, PANDA, ALL_MODES)
    assert words in str(told.value)
    assert str(told.value).startswith("skill 'test' does not fit robot 'franka_panda'")


def test_a_camera_of_another_size_is_refused() -> None:
    camera = SO101.cameras[0]
    key = camera.vla_feature_key or camera.name
    fits = {"vla_feature_key": key, "resolution": camera.resolution}
    joints = slot("all", "joint_position", len(SO101.driven), "joint_position")
    require_fit(skill(joints, cameras=[fits]), SO101, frozenset(SO101.control_modes))
    wrong = {"vla_feature_key": key, "resolution": (64, 48)}
    with pytest.raises(CapabilityMismatch, match="the policy takes 64×48"):
        require_fit(skill(joints, cameras=[wrong]), SO101, None)


def test_a_mode_that_the_hal_cannot_execute_is_refused_with_those_it_can() -> None:
    torque = skill(slot("arm", "joint_torque", 7, "joint_torque"))
    require_fit(torque, PANDA, ALL_MODES)
    with pytest.raises(CapabilityMismatch, match="the HAL cannot execute joint_torque; ") as told:
        require_fit(torque, PANDA, frozenset({ControlMode.JOINT_POSITION}))
    assert "it can execute: joint_position" in str(told.value)


def test_all_problems_come_at_once() -> None:
    with pytest.raises(CapabilityMismatch) as told:
        require_fit(
            skill(slot("legs", "joint_position", 7, "joint_position"), embodiment_tags=["g1"]),
            PANDA,
            ALL_MODES,
        )
    assert "made for g1" in str(told.value)
    assert "'legs'" in str(told.value)


def test_names_and_files_describe_skills(tmp_path: Any) -> None:
    home = describe("home", PANDA, 20.0)
    assert home.action.dimension == len(PANDA.driven)
    assert home.rate_hz == 20.0
    require_fit(home, PANDA, ALL_MODES)
    with pytest.raises(ConfigError, match="no skill 'hom'; did you mean 'home'"):
        describe("hom", PANDA, 20.0)
    path = tmp_path / "wave.yaml"
    path.write_text(
        "id: wave\nname: Wave\nkind: policy\nentry_point: wave\nrate_hz: 5\n"
        "action: {dimension: 7, slots: [{name: arm, representation: joint_position, "
        "dimension: 7, control_mode: joint_position}]}\n"
    )
    assert describe(str(path), PANDA, 20.0) == load_skill(path)
