"""Import: published models become manifests that pass the check unedited."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from openral.errors import ConfigError
from openral.manifest import load_robot
from openral.sim.importing.hull import outside
from openral.sim.importing.importer import import_model
from openral.sim.importing.link_points import body_points
from openral.sim.robot_check import check_description
from openral.sim.twin.twin import make_twin

SMALL = (
    "<inertial><mass value='%g'/><inertia ixx='1e-3' iyy='1e-3' izz='1e-3' "
    "ixy='0' ixz='0' iyz='0'/></inertial>"
)
FINGER_LIMIT = "<limit lower='0' upper='0.04' velocity='0.2' effort='20'/>"

URDF = f"""\
<robot name="elbow">
  <link name="stand">{SMALL % 2}
    <collision><origin xyz="0 0 0.1"/>
      <geometry><cylinder radius="0.05" length="0.2"/></geometry></collision>
  </link>
  <link name="upper">{SMALL % 1}
    <collision><origin xyz="0 0 0.15"/><geometry><box size="0.06 0.06 0.24"/></geometry></collision>
  </link>
  <link name="tool">{SMALL % 0.2}
    <collision><origin xyz="0 0 0.05"/><geometry><sphere radius="0.03"/></geometry></collision>
  </link>
  <link name="finger_left">{SMALL % 0.05}</link>
  <link name="finger_right">{SMALL % 0.05}</link>
  <joint name="shoulder" type="revolute"><parent link="stand"/><child link="upper"/>
    <origin xyz="0 0 0.22" rpy="0 0 0.3"/><axis xyz="0 1 0"/>
    <limit lower="-1.5" upper="1.5" velocity="2.5" effort="40"/></joint>
  <joint name="mount" type="fixed"><parent link="upper"/><child link="tool"/>
    <origin xyz="0 0 0.3"/></joint>
  <joint name="finger_joint" type="prismatic"><parent link="tool"/><child link="finger_left"/>
    <origin xyz="0 0 0.1"/><axis xyz="0 1 0"/>{FINGER_LIMIT}</joint>
  <joint name="finger_mirror" type="prismatic"><parent link="tool"/><child link="finger_right"/>
    <origin xyz="0 0 0.1"/><axis xyz="0 -1 0"/>{FINGER_LIMIT}
    <mimic joint="finger_joint" multiplier="1"/></joint>
</robot>
"""


@pytest.mark.parametrize(
    "model",
    ["franka_emika_panda/panda", "flexiv_rizon4/flexiv_rizon4", "trs_so_arm100/so_arm100"],
)
def test_a_menagerie_model_passes_the_check_unedited(shared: Path, model: str) -> None:
    path = shared / "menagerie" / f"{model}.xml"
    robot = import_model(path).robot
    report = check_description(robot)
    assert report.ok, [finding for finding in report.findings if not finding.ok]
    compiled = mujoco.MjSpec.from_file(str(path)).compile()
    for body in range(1, compiled.nbody):
        points = body_points(compiled, body)
        name = compiled.body(body).name
        link = next(link for link in robot.links if (link.sim_body_name or link.name) == name)
        if len(points):
            from openral.sim.importing.capsule_fit import FittedCapsule

            shapes = [
                FittedCapsule(np.array(c.p0), np.array(c.p1), c.radius) for c in link.capsules
            ]
            assert outside(points, shapes).max() <= 1e-3, name


def test_a_urdf_keeps_what_mujoco_drops(tmp_path: Path) -> None:
    path = tmp_path / "elbow.urdf"
    path.write_text(URDF)
    imported = import_model(path)
    robot = imported.robot
    assert robot.id == "elbow"
    assert robot.root == "stand"
    assert robot.joint_names == ["shoulder", "finger_joint"]
    shoulder = robot.joint("shoulder").limits
    assert shoulder is not None
    assert (shoulder.velocity, shoulder.effort) == (2.5, 40)
    mirror = robot.joint("finger_mirror").mimic
    assert mirror is not None
    assert mirror.joint == "finger_joint"
    assert robot.end_effectors[0].gripper == "finger_joint"
    assert robot.joint("shoulder").origin.xyz == (0, 0, 0.22)
    assert check_description(robot).ok


def test_joints_off_the_bodys_origin_and_with_a_reference_are_kept(tmp_path: Path) -> None:
    """A joint's anchor moves the link's frame; a reference position turns the joint's frame."""
    path = tmp_path / "odd.xml"
    path.write_text("""
    <mujoco><compiler angle="radian"/><worldbody><body name="base"><geom size=".05" mass="1"/>
      <body name="arm" pos=".1 0 .2">
        <joint name="a" axis="0 1 0" pos="0 0 -.1" ref=".4" range="-1 1"/>
        <geom type="capsule" fromto="0 0 0 0 0 .2" size=".03" mass="1"/>
        <body name="hand" pos="0 0 .3"><joint name="b" axis="1 0 0" range="-1 1"/>
          <geom size=".04" mass=".5"/></body></body></body></worldbody></mujoco>""")
    robot = import_model(path).robot
    report = check_description(
        robot.model_copy(
            update={"sim": robot.sim.model_copy(update={"reference_uri": f"file:{path}"})}
        )
    )
    assert report.ok, report.findings
    assert report.numbers["fk_error_model_m"] < 1e-6


def test_two_joints_in_one_body_become_a_frame(tmp_path: Path) -> None:
    path = tmp_path / "cart.xml"
    path.write_text("""
    <mujoco><compiler angle="radian"/><worldbody><body name="cart" pos="0 0 .1">
      <joint name="x" type="slide" axis="1 0 0" range="-2 2"/>
      <joint name="yaw" axis="0 0 1" range="-3 3"/><geom size=".1" mass="3"/></body>
    </worldbody></mujoco>""")
    robot = import_model(path).robot
    assert robot.joint_names == ["x", "yaw"]
    assert make_twin(robot).compile().nv == 2
    assert check_description(robot).numbers["fk_error_m"] < 1e-9


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<mujoco><worldbody/></mujoco>", "has no bodies"),
        ("not xml", "not valid XML"),
        ("<mujoco><nonsense/></mujoco>", "not a model that MuJoCo can read"),
        (
            "<mujoco><worldbody><body name='a'><joint name='j' type='ball'/>"
            "<geom size='.1'/></body></worldbody></mujoco>",
            "'j' is a ball joint",
        ),
    ],
)
def test_what_cannot_be_imported_is_refused_with_the_reason(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "model.xml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        import_model(path)


def test_shipped_capsules_enclose_the_published_hulls(shared: Path) -> None:
    """All vertices of every published hull, not only those that a manifest keeps for drawing."""
    from openral.sim.importing.capsule_fit import FittedCapsule

    for path in sorted((shared / "robots").glob("*_hulls.npz")):
        robot = load_robot(path.name.removesuffix("_hulls.npz"))
        hulls = np.load(path)
        for link in robot.links:
            name = link.sim_body_name or link.name
            if name in hulls and link.capsules:
                shapes = [
                    FittedCapsule(np.array(c.p0), np.array(c.p1), c.radius) for c in link.capsules
                ]
                worst = outside(np.asarray(hulls[name], float), shapes).max()
                assert worst <= 1e-3, (robot.id, link.name, worst)
