"""Model sources: what is named is used or its absence explained; tendon grippers map both ways."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from openral.errors import CapabilityMismatch, ConfigError, ModelUnavailable
from openral.manifest import RobotDescription, load_robot
from openral.manifest.parts import SimModel
from openral.sim.robot_check import check_robot
from openral.sim.twin.binding import Binding
from openral.sim.twin.model_source import load_spec, resolve


@pytest.fixture
def menagerie(shared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MENAGERIE_ROOT", str(shared / "menagerie"))
    return shared / "menagerie"


def using(robot: RobotDescription, uri: str) -> RobotDescription:
    return robot.model_copy(update={"sim": SimModel(mjcf_uri=uri)})


def test_the_default_is_the_twin() -> None:
    assert load_spec(load_robot("ur5e")).modelname == "ur5e"


def test_a_menagerie_gripper_on_a_tendon_maps_both_ways(menagerie: Path) -> None:
    robot = using(load_robot("franka_panda"), "menagerie:franka_emika_panda/panda")
    model = load_spec(robot).compile()
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    binding = Binding(robot, model)
    gripper = robot.joint_names.index("panda_gripper")
    for width in (0.04, 0.01, 0.03, 0.0):
        target = np.array(robot.home_position)
        target[gripper] = width
        binding.command(data, target)
        mujoco.mj_step(model, data, nstep=2000)
        assert binding.positions(data)[gripper] == pytest.approx(width, abs=1e-3)
        assert binding.from_ctrl(data.ctrl[binding.ctrl])[gripper] == pytest.approx(width, abs=1e-6)
    assert binding.to_ctrl(robot.home_position)[gripper] == pytest.approx(255, abs=0.2)


@pytest.mark.parametrize("robot_id", ["franka_panda", "rizon4", "so100_follower"])
def test_a_twin_and_a_published_model_are_interchangeable(menagerie: Path, robot_id: str) -> None:
    robot = load_robot(robot_id)
    assert robot.sim.reference_uri is not None
    model = load_spec(robot, robot.sim.reference_uri).compile()
    binding = Binding(robot, model)
    data = mujoco.MjData(model)
    binding.place(data, robot.home_position)
    np.testing.assert_allclose(binding.positions(data), robot.home_position)


def test_a_missing_menagerie_model_says_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MENAGERIE_ROOT", str(tmp_path))
    with pytest.raises(ModelUnavailable, match="set MENAGERIE_ROOT"):
        resolve("menagerie:franka_emika_panda/panda")


def test_a_model_that_is_not_here_is_not_downloaded_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MENAGERIE_ROOT", raising=False)
    monkeypatch.setenv("MENAGERIE_CACHE_DIR", str(tmp_path))
    with pytest.raises(ModelUnavailable, match="not on this machine"):
        resolve("menagerie:unitree_g1/g1", download=False)


def test_an_unknown_menagerie_model_suggests_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'franka_emika_panda'"):
        resolve("menagerie:franka_emika_pnda/panda")


def test_an_unknown_entry_lists_those_present(menagerie: Path) -> None:
    with pytest.raises(ModelUnavailable, match="models: hand, panda, panda_nohand, scene"):
        resolve("menagerie:franka_emika_panda/arm")


def test_openarms_package_agrees_with_the_manifest() -> None:
    pytest.importorskip("openarm_mujoco", reason="needs the model: pip install 'openral[openarm]'")
    report = check_robot("openarm")
    assert report.ok, report.findings
    assert report.numbers["fk_error_model_m"] <= 1e-3


def test_a_packages_models_may_lie_among_the_shared_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lib" / "some_robot").mkdir(parents=True)
    model = tmp_path / "share" / "some_robot" / "v1" / "arm.xml"
    model.parent.mkdir(parents=True)
    model.write_text("<mujoco/>")
    monkeypatch.syspath_prepend(str(tmp_path / "lib"))
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    assert resolve("package:some_robot/v1/arm.xml") == model
    with pytest.raises(ModelUnavailable, match=r"did you mean 'v1/arm\.xml'"):
        resolve("package:some_robot/v1/amr.xml")


def test_a_missing_package_says_what_to_install() -> None:
    with pytest.raises(ModelUnavailable, match="pip install openarm-nothing"):
        resolve("package:openarm_nothing/openarm.xml")


def test_a_missing_file_in_a_package_lists_its_models() -> None:
    with pytest.raises(ModelUnavailable, match=r"package 'mujoco' has no 'nothing\.xml'"):
        resolve("package:mujoco/nothing.xml")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="is not there"):
        resolve(f"file:{tmp_path}/robot.xml")


def test_an_unknown_scheme_lists_the_schemes() -> None:
    with pytest.raises(ConfigError, match="valid choices: twin, menagerie, package, file"):
        resolve("http:robot.xml")


def test_a_model_without_the_robots_joints_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "robot.xml"
    path.write_text(load_spec(load_robot("rizon4")).to_xml())
    robot = using(load_robot("ur5e"), f"file:{path}")
    with pytest.raises(ConfigError, match="joint 'shoulder_pan_joint' of 'ur5e'"):
        Binding(robot, load_spec(robot).compile())


def test_a_model_with_bare_motors_is_refused_by_name() -> None:
    robot = load_robot("ur5e")
    spec = load_spec(robot)
    for actuator in spec.actuators:
        actuator.set_to_motor()
    with pytest.raises(CapabilityMismatch, match="is a motor"):
        Binding(robot, spec.compile())
