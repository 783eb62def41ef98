"""The words of an error are part of the interface."""

from __future__ import annotations

from pathlib import Path

import pytest

from openral.errors import ConfigError, ManifestError
from openral.manifest import (
    RobotDescription,
    SceneDescription,
    SkillDescription,
    load_robot,
    parse_yaml,
    shipped_robots,
)

ROBOT = """\
id: two_link
name: Two links
kind: arm
base_frame: base
links:
- {name: base, mass: 1}
- {name: arm, mass: 1, capsules: [{p0: [0, 0, 0], p1: [0, 0, 0.2], radius: 0.03}]}
joints:
- name: turn
  type: revolute
  parent: bsae
  child: arm
  limits: {position: [-1, 1], velocity: 1, effort: 3}
home: {turn: 0}
control_modes: [joint_position]
"""


def refusal(model: type, text: str) -> str:
    with pytest.raises(ManifestError) as error:
        parse_yaml(model, text, "robot.yaml")
    return str(error.value)


def test_a_misspelt_link_names_the_line_and_the_nearest() -> None:
    assert refusal(RobotDescription, ROBOT) == (
        "robot.yaml:\n"
        "  line 11: joints[turn].parent: joint 'turn' names link 'bsae'; "
        "did you mean 'base'? links: base, arm"
    )


def test_all_problems_are_listed_at_once() -> None:
    text = ROBOT.replace("[-1, 1]", "[90, -90]").replace("velocity", "speed")
    assert refusal(RobotDescription, text) == (
        "robot.yaml:\n"
        "  line 13: joints[turn].limits.velocity: is missing\n"
        "  line 13: joints[turn].limits.speed: unknown key; "
        "keys: position, velocity, effort, acceleration"
    )


def test_a_repeated_key_is_refused() -> None:
    text = refusal(RobotDescription, ROBOT + "id: other\n")
    assert text == "robot.yaml:\n  line 16: key 'id' is given twice"


def test_broken_yaml_names_its_line() -> None:
    assert "line 3: not valid YAML" in refusal(RobotDescription, "id: a\nlinks: [")


def test_an_unknown_modality_lists_the_known_ones() -> None:
    sensor = "sensors: [{name: eye, modality: rbg, mount: {link: base}}]\n"
    text = refusal(RobotDescription, ROBOT.replace("bsae", "base") + sensor)
    assert "'rbg' is not one of 'rgb', 'depth', 'lidar_2d'" in text


def test_a_yaml_bomb_is_refused(tmp_path: Path) -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)
    )
    assert "aliases (*name) are not supported" in refusal(RobotDescription, bomb)


def test_an_unknown_robot_lists_the_robots() -> None:
    with pytest.raises(ConfigError, match="did you mean 'franka_panda'"):
        load_robot("franka_pandda")


def test_a_robot_must_be_called_like_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "other" / "robot.yaml"
    path.parent.mkdir()
    path.write_text(ROBOT.replace("bsae", "base"))
    with pytest.raises(ManifestError, match="differs from the name of its folder, 'other'"):
        load_robot(path)


def test_the_users_own_robots_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "two_link" / "robot.yaml"
    path.parent.mkdir()
    path.write_text(ROBOT.replace("bsae", "base"))
    monkeypatch.setenv("OPENRAL_ROBOTS", str(tmp_path))
    assert load_robot("two_link").id == "two_link"


def test_a_changed_copy_forgets_what_was_computed_before() -> None:
    robot = load_robot("ur5e")
    assert len(robot.driven) == 6
    assert len(robot.model_copy(update={"joints": robot.joints[:3]}).driven) == 3


def test_there_are_eleven_robots() -> None:
    arms = ["franka_panda", "rizon4", "so100_follower", "so101_follower", "ur10e", "ur5e"]
    others = ["aloha_bimanual", "g1", "h1", "openarm", "panda_mobile"]
    assert shipped_robots() == sorted(arms + others)


SKILL = """\
id: push
name: Push
kind: policy
entry_point: push
cameras: [{vla_feature_key: observation.images.camera1, resolution: [640, 480]}]
state: {dimension: 8, slots: [{name: arm, representation: joint_position, dimension: 8}]}
action:
  dimension: 8
  slots:
  - {name: arm, representation: joint_position, dimension: 7, control_mode: joint_position}
  - {name: gripper, representation: gripper, dimension: 1, control_mode: gripper_position}
chunk_size: 50
rate_hz: 30
action_normalisation: {kind: mean_std, offset: [0, 0, 0, 0, 0, 0, 0, 0],
  scale: [1, 1, 1, 1, 1, 1, 1, 1]}
"""


def test_a_skill_manifest_is_read() -> None:
    skill = parse_yaml(SkillDescription, SKILL, "skill.yaml")
    assert [slot.control_mode for slot in skill.action.slots] == [
        "joint_position",
        "gripper_position",
    ]


def test_a_skill_whose_slots_do_not_add_up_is_refused() -> None:
    text = refusal(SkillDescription, SKILL.replace("dimension: 7", "dimension: 6"))
    assert "the slots have 7 columns together, the vector has 8" in text


def test_a_skill_without_a_control_mode_is_refused() -> None:
    text = refusal(SkillDescription, SKILL.replace(", control_mode: gripper_position", ""))
    assert "slot 'gripper' needs a control mode" in text


def test_normalisation_must_fit_its_vector() -> None:
    text = refusal(SkillDescription, SKILL.replace("offset: [0, ", "offset: ["))
    assert "action_normalisation.offset: 7 numbers for 8 columns" in text


SCENE = """\
id: push
name: Push
world: {scene: tabletop_push, options: {table_height: 0.4}}
task:
  instruction: push the cube onto the disc
  success: {criterion: cube_on_goal, parameters: {tolerance_m: 0.05}}
"""


def test_a_task_scene_and_a_deploy_scene_are_read() -> None:
    scene = parse_yaml(SceneDescription, SCENE, "scene.yaml")
    assert scene.task is not None
    assert scene.task.max_steps == 400
    assert parse_yaml(SceneDescription, SCENE.partition("task:")[0], "scene.yaml").task is None


def test_a_scene_with_an_unknown_key_is_refused() -> None:
    text = refusal(SceneDescription, SCENE.replace("instruction", "instructions"))
    assert "did you mean 'instruction'?" in text
