"""Write a scene, with furniture, a task and a success criterion, for any arm.

    python examples/05_write_a_scene.py

Installed under an entry point, it can be named in a scene manifest (`world: {scene: knock_off}`):

    [project.entry-points."openral.scenes"]
    knock_off = "my_package.knock_off:SCENE"
"""

from __future__ import annotations

import mujoco

from openral import SceneDescription, SceneType, load_robot
from openral.manifest.base import Model, Positive, Transform
from openral.manifest.scene import World
from openral.sim.building import furniture
from openral.sim.building.scene_task import NoTask, Verdict
from openral.sim.building.scene_type import NoParameters, Setup
from openral.sim.building.stage import Stage
from openral.sim.mujoco_rollout import MujocoRollout


class Options(Model):
    """Options of the scene; unknown ones are refused."""

    height_m: Positive = 0.3  # of the table


class KnockOff(NoTask):
    """Done when the brick lies on the floor."""

    objects = ("brick",)  # observations carry its pose

    def judge(self, data: mujoco.MjData) -> Verdict:
        height = float(data.body("brick").xpos[2])
        return Verdict(success=height < 0.1, reward=-height)


def build(setup: Setup) -> MujocoRollout:
    stage = Stage(setup.robot, setup.scene.base_pose or Transform())  # the robot comes first
    assert isinstance(setup.options, Options)
    spec, top, half = stage.spec, setup.options.height_m, (0.03, 0.03, 0.05)
    furniture.add_lights(spec)
    furniture.add_floor(spec)
    furniture.add_table(spec, "table", (0.4, -0.3), (0.8, 0.3), top)
    furniture.add_loose_box(spec, "brick", half, (0.6, 0.0, top + half[2]), 0.2, furniture.RED)
    return MujocoRollout(setup, stage, KnockOff())


SCENE = SceneType("knock_off", "Knock it off.", Options, {"fallen": NoParameters}, build)

if __name__ == "__main__":
    scene = SceneDescription(id="knock_off", name="Knock it off", world=World(scene="knock_off"))
    robot = load_robot("franka_panda")
    rollout = SCENE.build(Setup(scene, robot, Options(), "fallen", NoParameters()))
    step = rollout.step(rollout.hold_action())
    print("brick at", step.observation.objects["brick"][:3].round(3), "done:", step.info["success"])
