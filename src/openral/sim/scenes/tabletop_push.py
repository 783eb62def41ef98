"""The scene tabletop_push: push the cube onto the goal disc, with any arm at the table."""

from __future__ import annotations

import math
from typing import Annotated

import mujoco
import numpy as np
from pydantic import Field

from openral.errors import ConfigError
from openral.manifest import RobotDescription
from openral.manifest.base import Model, Positive, Transform, Vec3
from openral.manifest.robot import RobotKind
from openral.sim.building.furniture import (
    GREEN,
    RED,
    add_camera,
    add_floor,
    add_lights,
    add_loose_box,
    add_pedestal,
    add_table,
    add_wrist_camera,
)
from openral.sim.building.home_shape import HomeShape
from openral.sim.building.reach import Reach, survey
from openral.sim.building.scene_task import Verdict
from openral.sim.building.scene_type import SceneType, Setup
from openral.sim.building.stage import Stage
from openral.sim.mujoco_rollout import MujocoRollout

_MOUNT_HEIGHT_M = 0.7
_BODY_GAP_M = 0.02
_BESIDE_M = 0.05
_POST_M = 0.04
_TRIES = 1000


class TabletopOptions(Model):
    """Options of tabletop_push; what is left out is chosen to suit the arm's reach."""

    arm: str | None = None
    """The end effector that the table is put in front of; the robot's first by default."""
    robot_base_xyz: Vec3 | None = None
    """Where the robot is mounted, upright; the scene's `base_pose` beats it."""
    robot_base_yaw_deg: float = 0.0
    """How the robot is turned about the vertical; the scene's `base_pose` beats it."""
    table_height_m: Positive | None = None
    """Height of the table's top."""
    distance_m: Positive | None = None
    """How far in front of the shoulder the middle of the spawn area is."""
    spawn_half_m: tuple[Positive, Positive] | None = None
    """Half the size of the area that cube and goal are drawn from: forward and sideways."""
    separation_m: Positive | None = None
    """Least distance between cube and goal at the start."""
    cube_half_m: Positive | None = None
    """Half the cube's edge."""
    cube_mass_kg: Positive = 0.1
    """The cube's mass."""
    friction: Annotated[float, Field(gt=0, le=2)] = 0.35
    """Sliding friction of the cube."""


class OnGoal(Model):
    """The cube lies on the goal disc."""

    tolerance_m: Positive | None = None
    """Largest distance between the centres; by default half the cube's edge."""


class PushLayout:
    """Positions and sizes of everything in the scene, in m in the world frame."""

    def __init__(self, robot: RobotDescription, options: TabletopOptions) -> None:
        self.reach: Reach = survey(robot, options.arm)
        span, forward = self.reach.span, self.reach.forward
        standing = self.reach.surface > 0
        self.top = options.table_height_m or (self.reach.surface if standing else _MOUNT_HEIGHT_M)
        self.mount_height = 0.0 if standing else self.top
        self.spawn = options.spawn_half_m or (0.11 * span, 0.18 * span)
        self.separation = options.separation_m or 0.18 * span
        # Fingers reach down beside a cube; an end effector without a gripper needs a taller one.
        share = 0.032 if self.reach.effector.gripper else 0.04
        self.cube = options.cube_half_m or float(np.clip(share * span, 0.0225, 0.04))
        self.goal = 2 * self.cube
        self.table = (self.spawn[0] + 0.22 * span, self.spawn[1] + 0.35 * span)
        x = float(self.reach.shoulder[0]) + forward * (options.distance_m or self.reach.distance)
        y = float(self.reach.shoulder[1])
        if abs(y) > _BESIDE_M:  # an arm on one side of a body works best on that side
            y += math.copysign(0.42 * span, y)
            x = float(self.reach.shoulder[0]) + forward * (options.distance_m or 0.5 * span)
        if standing and options.distance_m is None:  # the body must not overlap the table
            front = HomeShape(robot).front(self.top, forward)
            x = forward * max(forward * x, front + _BODY_GAP_M + self.table[0])
        self.centre = (x, y)
        self.posts = _posts(robot, self)
        arms = {survey(robot, arm.name).forward for arm in robot.end_effectors}
        self.facing = len(arms) > 1
        """Whether two arms work towards each other."""
        if self.separation > 1.5 * max(self.spawn):
            raise ConfigError(
                f"separation_m {self.separation:g} does not fit a spawn area of half size "
                f"{self.spawn[0]:g} x {self.spawn[1]:g}; at most {1.5 * max(self.spawn):.3g}"
            )

    def mount(self, options: TabletopOptions) -> Transform:
        """Pose of the robot's mount unless the scene's `base_pose` overrides it."""
        xyz = options.robot_base_xyz or (0.0, 0.0, self.mount_height)
        return Transform(xyz=xyz, rpy=(0.0, 0.0, math.radians(options.robot_base_yaw_deg)))


def _posts(robot: RobotDescription, layout: PushLayout) -> list[tuple[float, float, float]]:
    """x, y and height of the columns that carry a robot without a stand of its own."""
    if robot.kind is RobotKind.HUMANOID or robot.base_joints:
        return []
    if layout.mount_height == 0:
        x, y, z = robot.sim.base_pose.xyz
        return [(x - layout.reach.forward * 2 * _POST_M, y, z)]
    shoulders = [survey(robot, arm.name).shoulder for arm in robot.end_effectors]
    return [(float(s[0]), float(s[1]), layout.mount_height) for s in shoulders]


class PushTask:
    """Cube and goal are drawn from the spawn area, apart; done when the cube is on the goal."""

    objects = ("cube", "goal")

    def __init__(self, layout: PushLayout, tolerance: float) -> None:
        self._layout, self._tolerance = layout, tolerance
        self._cube = self._goal = 0

    def bind(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Finds the cube's coordinates and the goal's mocap body in a compiled model."""
        self._cube = int(model.joint("cube_free").qposadr[0])
        self._goal = int(model.body("goal").mocapid[0])
        self._cube_at = data.qpos[self._cube : self._cube + 3]
        self._goal_at = data.mocap_pos[self._goal]

    def place(self, data: mujoco.MjData, rng: np.random.Generator) -> None:
        """Draws positions of cube and goal until the two are far enough apart."""
        layout = self._layout
        for _ in range(_TRIES):
            spots = np.array(layout.centre) + rng.uniform(-1, 1, (2, 2)) * np.array(layout.spawn)
            if np.linalg.norm(spots[0] - spots[1]) >= layout.separation:
                break
        else:
            raise ConfigError(f"no two places {layout.separation:g} m apart in the spawn area")
        yaw = rng.uniform(-math.pi / 4, math.pi / 4)
        data.qpos[self._cube : self._cube + 7] = [
            *spots[0],
            layout.top + layout.cube,
            math.cos(yaw / 2),
            0.0,
            0.0,
            math.sin(yaw / 2),
        ]
        data.mocap_pos[self._goal] = [*spots[1], layout.top + 0.0005]

    def judge(self, data: mujoco.MjData) -> Verdict:
        """Judges by the poses of cube and goal alone."""
        layout = self._layout
        x, y, z = self._cube_at.tolist()
        goal_x, goal_y, _ = self._goal_at.tolist()
        distance = math.hypot(x - goal_x, y - goal_y)
        off = (
            z < layout.top
            or abs(x - layout.centre[0]) > layout.table[0]
            or abs(y - layout.centre[1]) > layout.table[1]
        )
        resting = abs(z - layout.top - layout.cube) < 0.5 * layout.cube
        failure = "the cube left the table" if off else None
        return Verdict(distance <= self._tolerance and resting, -distance, failure)


def _build(setup: Setup) -> MujocoRollout:
    options, criterion = setup.options, setup.parameters
    assert isinstance(options, TabletopOptions)
    assert isinstance(criterion, OnGoal)
    layout = PushLayout(setup.robot, options)
    stage = Stage(setup.robot, setup.scene.base_pose or layout.mount(options))
    _furnish(stage.spec, layout, options)
    _add_cameras(stage.spec, layout)
    task = PushTask(layout, criterion.tolerance_m or layout.cube)
    return MujocoRollout(setup, stage, task)


def _furnish(spec: mujoco.MjSpec, layout: PushLayout, options: TabletopOptions) -> None:
    add_lights(spec)
    add_floor(spec)
    (x, y), (dx, dy), top = layout.centre, layout.table, layout.top
    add_table(spec, "table", (x - dx, y - dy), (x + dx, y + dy), top)
    for index, (post_x, post_y, height) in enumerate(layout.posts):
        room = max(0.02, abs(x - post_x) - dx - 0.01)
        radius = min(0.12, 0.3 * layout.reach.span, room) if layout.mount_height else _POST_M
        add_pedestal(spec, f"post{index}", (post_x, post_y), radius, height)
    half = (layout.cube,) * 3
    body = add_loose_box(spec, "cube", half, (x, y, top + half[2]), options.cube_mass_kg, RED)
    geom = body.first_geom()
    geom.friction = [options.friction, 0.005, 0.0001]
    geom.priority = 1  # its own friction applies, whatever it touches
    goal = spec.worldbody.add_body(name="goal", pos=[x, y, top], mocap=True)
    goal.add_geom(
        name="goal",
        type=mujoco.mjtGeom.mjGEOM_CYLINDER,
        size=[layout.goal, 0.0005, 0],
        rgba=GREEN,
        contype=0,
        conaffinity=0,
    )


def _add_cameras(spec: mujoco.MjSpec, layout: PushLayout) -> None:
    (x, y), top, size = layout.centre, layout.top, max(layout.table)
    forward = layout.reach.forward
    add_camera(spec, "top", (x + 0.8 * forward * size, y, top + 3.2 * size), (x, y, top))
    eye = (x + forward * 3.6 * size, y, top + 2.2 * size)
    if layout.facing:
        eye = (x, y - 3.6 * size, top + 2.2 * size)
    shoulder_x = float(layout.reach.shoulder[0])
    add_camera(spec, "front", eye, ((x + shoulder_x) / 2, y, top + 0.45 * size))
    add_wrist_camera(spec, "wrist", layout.reach.effector.name, 0.12 * layout.reach.span)


SCENE = SceneType(
    name="tabletop_push",
    summary="Push the cube onto the goal disc; any robot with an arm.",
    options=TabletopOptions,
    criteria={"cube_on_goal": OnGoal},
    build=_build,
)
