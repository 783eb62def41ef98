"""`robot check` passes every shipped robot and catches what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from openral.manifest import RobotDescription, dump_yaml, load_robot, shipped_robots
from openral.sim.robot_check import Report, check_description, check_robot


@pytest.mark.parametrize("robot_id", shipped_robots())
def test_every_shipped_robot_holds(
    robot_id: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    models = Path(__file__).resolve().parents[3] / "shared" / "menagerie"
    if models.is_dir():
        monkeypatch.setenv("MENAGERIE_ROOT", str(models))
    report = check_robot(robot_id)
    assert report.ok, [finding for finding in report.findings if not finding.ok]
    assert report.numbers["fk_error_m"] <= 1e-6
    assert report.numbers["capsule_coverage"] == 1.0
    assert report.numbers["capsule_volume_ratio"] <= 2.5
    if models.is_dir() and robot_id in ("franka_panda", "rizon4", "so100_follower"):
        assert report.numbers["fk_error_menagerie_m"] <= 1e-3


def failed(robot: RobotDescription) -> list[str]:
    report: Report = check_description(robot)
    return [finding.check for finding in report.findings if not finding.ok]


def change(robot: RobotDescription, **values: Any) -> RobotDescription:
    return robot.model_copy(update=values)


def test_a_hand_that_hangs_at_the_base_is_caught() -> None:
    robot = load_robot("franka_panda")
    joints = [
        joint.model_copy(update={"parent": "panda_link0"}) if joint.child == "panda_hand" else joint
        for joint in robot.joints
    ]
    assert "home" in failed(change(robot, joints=tuple(joints)))


def test_a_capsule_that_is_too_small_is_caught() -> None:
    robot = load_robot("ur5e")
    links = []
    for link in robot.links:
        shrunk = [c.model_copy(update={"radius": 0.8 * c.radius}) for c in link.capsules]
        links.append(link.model_copy(update={"capsules": tuple(shrunk)}))
    assert failed(change(robot, links=tuple(links))) == ["capsules"]


def test_a_link_without_capsules_is_caught() -> None:
    robot = load_robot("ur5e")
    links = [
        link.model_copy(update={"capsules": ()}) if link.name == "forearm_link" else link
        for link in robot.links
    ]
    assert "capsules" in failed(change(robot, links=tuple(links)))


def test_impossible_inertia_is_caught() -> None:
    robot = load_robot("ur5e")
    broken = robot.links[1].model_copy(update={"inertia": (1.0, 0.1, 0.1, 0.0, 0.0, 0.0)})
    assert "mass" in failed(change(robot, links=(robot.links[0], broken, *robot.links[2:])))


def test_weak_servos_are_caught() -> None:
    robot = load_robot("rizon4")
    lame = robot.joints[3].model_copy(update={"dynamics": robot.joints[3].dynamics})
    heavy = robot.links[5].model_copy(update={"mass": 900.0, "inertia": None})
    joints = (*robot.joints[:3], lame, *robot.joints[4:])
    assert "mass" in failed(
        change(robot, joints=joints, links=(*robot.links[:5], heavy, *robot.links[6:]))
    )


def test_another_robots_reference_is_caught(tmp_path: Path) -> None:
    """A published model with the same joint names but another shape differs in kinematics."""
    robot = load_robot("ur5e")
    from openral.sim.twin.twin import make_twin

    path = tmp_path / "ur10e.xml"
    path.write_text(make_twin(load_robot("ur10e")).to_xml())
    sim = robot.sim.model_copy(update={"reference_uri": f"file:{path}"})
    assert failed(change(robot, sim=sim)) == ["reference"]


def test_a_broken_file_is_a_finding_not_a_traceback(tmp_path: Path) -> None:
    path = tmp_path / "robot.yaml"
    path.write_text(dump_yaml(load_robot("ur5e")).replace("wrist_1_joint:", "wrist_1_jiont:"))
    report = check_robot(path)
    assert not report.ok
    assert "did you mean 'wrist_1_joint'" in report.findings[0].detail
