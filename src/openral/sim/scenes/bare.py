"""The scene bare: the robot alone on a floor, for deploying a twin without surroundings."""

from __future__ import annotations

from openral.manifest.base import Model, Transform
from openral.sim.building.furniture import add_floor, add_lights
from openral.sim.building.scene_task import NoTask
from openral.sim.building.scene_type import NoParameters, SceneType, Setup
from openral.sim.building.stage import Stage
from openral.sim.mujoco_rollout import MujocoRollout


class BareOptions(Model):
    """Options of the bare scene."""

    floor: bool = True
    """Whether there is a floor to see; the robot never touches it."""


def _build(setup: Setup) -> MujocoRollout:
    assert isinstance(setup.options, BareOptions)
    stage = Stage(setup.robot, setup.scene.base_pose or Transform())
    add_lights(stage.spec)
    if setup.options.floor:
        floor = add_floor(stage.spec)
        floor.contype = floor.conaffinity = 0
    return MujocoRollout(setup, stage, NoTask())


SCENE = SceneType(
    name="bare",
    summary="The robot alone on a floor; no task.",
    options=BareOptions,
    criteria={"never": NoParameters},
    build=_build,
)
