"""Write a skill and run it in a scene.

    python examples/04_write_a_skill.py

A skill turns observations into rows of joint positions; it never touches a robot or a simulator, so
the same class runs here, in `openral sim run` and in the live graph. To use it there by name:

    [project.entry-points."openral.skills"]
    point-at-cube = "my_package.point_at_cube:PointAtCube"
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from openral import (
    Observation,
    SkillContext,
    load_robot,
    load_scene,
    make_rollout,
    run_episode,
    skill_context,
)

SPEED = 0.5  # rad/s


class PointAtCube:
    """Turns the first joint until the arm faces the cube."""

    cameras: tuple[str, ...] = ()  # keys of the images that it needs

    def __init__(self, context: SkillContext, parameters: Mapping[str, Any]) -> None:
        self._step = parameters.get("speed", SPEED) / context.rate_hz

    def reset(self, seed: int) -> None:
        """Nothing is remembered between episodes."""

    def act(self, observation: Observation) -> np.ndarray:
        """One row, shape (1, joints): a step of the first joint towards the cube."""
        row = observation.joint_positions.copy()
        x, y = observation.objects["cube"][:2]  # in the robot's root frame
        row[0] += np.clip(np.arctan2(y, x) - row[0], -self._step, self._step)
        return row[None]


if __name__ == "__main__":
    rollout = make_rollout(load_scene("tabletop_push"), load_robot("franka_panda"))
    skill = PointAtCube(skill_context(rollout), {"speed": 0.5})
    result = run_episode(rollout, skill, episode=0, seed=3)
    x, y = rollout.reset(3).objects["cube"][:2]
    print(f"{result.steps} steps, {result.sim_s:g} s; the cube is at {np.arctan2(y, x):+.3f} rad")
    rollout.close()
