"""The other native scenes: nobody starts inside the furniture, and success means success."""

from __future__ import annotations

import math

import numpy as np
import pytest

from openral.errors import CapabilityMismatch
from openral.manifest import load_robot, load_scene
from openral.sim.mujoco_rollout import MujocoRollout
from openral.sim.registry import make_rollout

NATIVE = ["so101_box", "openarm_tabletop", "kitchen_reach", "kitchen_drive"]


def opened(scene: str) -> MujocoRollout:
    rollout = make_rollout(load_scene(scene))
    assert isinstance(rollout, MujocoRollout)
    return rollout


def put(rollout: MujocoRollout, joint: str, xyz: list[float], quat: tuple[float, ...]) -> None:
    address = int(rollout.model.joint(joint).qposadr[0])
    rollout.data.qpos[address : address + 7] = [*xyz, *quat]
    velocity = int(rollout.model.joint(joint).dofadr[0])
    rollout.data.qvel[velocity : velocity + 6] = 0


def after(rollout: MujocoRollout, seconds: float) -> dict[str, object]:
    for _ in range(round(seconds * rollout.scene.control_rate_hz)):
        step = rollout.step(rollout.hold_action())
    return step.info


@pytest.mark.parametrize("scene", NATIVE)
def test_the_robot_starts_clear_and_nothing_is_done_by_waiting(scene: str) -> None:
    rollout = opened(scene)
    own = set(rollout.robot_bodies)
    for seed in range(4):
        rollout.reset(seed)
        assert after(rollout, 1.0) == {"success": False, "failure": None, "steps": 20}
        for contact in rollout.data.contact:
            geoms = (contact.geom1, contact.geom2)
            assert not own & {int(rollout.model.geom_bodyid[g]) for g in geoms}


def test_a_tube_standing_in_the_slot_is_inserted_and_one_beside_it_is_not() -> None:
    rollout = opened("so101_box")
    rollout.reset(0)
    x, y, z = rollout.data.body("block").xpos.tolist()
    upright = (1.0, 0.0, 0.0, 0.0)
    put(rollout, "tube_free", [x, y, z + 0.035], upright)
    assert after(rollout, 1.5)["success"]
    rollout.reset(0)
    put(rollout, "tube_free", [x, y - 0.1, 0.7 + 0.0355], upright)
    assert not after(rollout, 0.6)["success"]


def test_a_cube_in_the_drawer_counts_and_one_on_the_chest_does_not() -> None:
    rollout = opened("openarm_tabletop")
    rollout.reset(0)
    turn = (math.cos(0.2), 0.0, 0.0, math.sin(0.2))
    x, y, z = rollout.data.body("drawer").xpos.tolist()
    put(rollout, "cube_free", [x - 0.02, y, z + 0.05], turn)
    assert after(rollout, 1.5)["success"]
    rollout.reset(0)
    put(rollout, "cube_free", [0.5, y, 0.4], turn)
    assert not after(rollout, 1.0)["success"]


def test_the_drawer_can_be_asked_to_be_shut() -> None:
    scene = load_scene("openarm_tabletop")
    assert scene.task is not None
    success = scene.task.success.model_copy(update={"parameters": {"closed": True}})
    task = scene.task.model_copy(update={"success": success})
    rollout = make_rollout(scene.model_copy(update={"task": task}))
    assert isinstance(rollout, MujocoRollout)
    rollout.reset(0)
    x, y, z = rollout.data.body("drawer").xpos.tolist()
    put(rollout, "cube_free", [x, y, z + 0.03], (1.0, 0.0, 0.0, 0.0))
    assert not after(rollout, 1.0)["success"]
    shut = int(rollout.model.joint("drawer_slide").qposadr[0])
    moved = float(rollout.data.qpos[shut])
    rollout.data.qpos[shut] = 0.0
    cube = int(rollout.model.joint("cube_free").qposadr[0])
    rollout.data.qpos[cube] += moved  # it opens towards the robot
    assert after(rollout, 1.0)["success"]


def test_driving_onto_the_mark_counts_in_position_and_heading() -> None:
    rollout = opened("kitchen_drive")
    observation = rollout.reset(3)
    x, y = observation.objects["mark"][:2].tolist()
    names = rollout.robot.joint_names
    columns = [names.index(joint) for joint in rollout.robot.base_joints]
    q = np.array(rollout.robot.home_position)
    q[columns] = [x, y, 0.0]
    rollout.binding.place(rollout.data, q)
    rollout.binding.command(rollout.data, q)
    assert not after(rollout, 1.0)["success"]  # there, but facing elsewhere
    q[columns[2]] = math.pi / 2
    rollout.binding.place(rollout.data, q)
    rollout.binding.command(rollout.data, q)
    assert after(rollout, 1.0)["success"]


def test_a_cube_pushed_back_counts_and_one_that_falls_ends_the_episode() -> None:
    rollout = opened("kitchen_reach")
    rollout.reset(0)
    flat = (1.0, 0.0, 0.0, 0.0)
    put(rollout, "cube_free", [-0.6, 2.1, 0.89], flat)
    assert after(rollout, 1.0)["success"]
    rollout.reset(0)
    put(rollout, "cube_free", [-0.9, 1.5, 0.5], flat)
    assert after(rollout, 0.3)["failure"] == "the cube fell off the counter"


def test_a_robot_that_does_not_drive_is_refused_by_the_kitchen() -> None:
    with pytest.raises(CapabilityMismatch, match="'ur5e': it does not drive"):
        make_rollout(load_scene("kitchen_drive"), load_robot("ur5e"))
