"""The scene openarm_tabletop: put the cube into the drawer; for the bimanual OpenArm."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from openral.manifest.base import Model, NonNegative, Positive, Transform
from openral.sim.building.furniture import (
    RED,
    STEEL,
    WHITE,
    WOOD,
    add_box,
    add_camera,
    add_floor,
    add_lights,
    add_loose_box,
    add_pedestal,
    add_table,
)
from openral.sim.building.scene_task import Verdict
from openral.sim.building.scene_type import SceneType, Setup
from openral.sim.building.stage import Stage
from openral.sim.mujoco_rollout import MujocoRollout

_TOP = 0.3
_CHEST = (0.44, -0.18)  # middle of the chest's front edge on the table
_INSIDE = (0.06, 0.07, 0.035)  # half of the drawer's inner length and width, and its depth
_WALL = 0.006
_TRAVEL = 0.1
_POST_M = 0.04


class DrawerOptions(Model):
    """Options of openarm_tabletop."""

    cube_half_m: Positive = 0.02
    """Half the cube's edge."""
    spawn_half_m: tuple[Positive, Positive] = (0.05, 0.08)
    """Half the size of the area that the cube is drawn from."""
    drawer_open_m: NonNegative = _TRAVEL
    """How far the drawer is open at the start, at most 0.1 m."""


class InDrawer(Model):
    """The cube rests inside the drawer."""

    closed: bool = False
    """Whether the drawer must be pushed shut as well."""
    shut_within_m: Positive = 0.02
    """What counts as shut."""


class DrawerTask:
    """Judges by the cube's pose in the drawer's frame."""

    objects = ("cube", "drawer")

    def __init__(self, options: DrawerOptions, criterion: InDrawer) -> None:
        self._options, self._criterion = options, criterion
        self._cube = self._drawer = self._qpos = self._slide = 0

    def bind(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Finds cube and drawer."""
        self._cube, self._drawer = int(model.body("cube").id), int(model.body("drawer").id)
        self._qpos = int(model.joint("cube_free").qposadr[0])
        self._slide = int(model.joint("drawer_slide").qposadr[0])

    def place(self, data: mujoco.MjData, rng: np.random.Generator) -> None:
        """Puts the cube on the left half of the table at a random yaw."""
        dx, dy = self._options.spawn_half_m
        yaw = rng.uniform(-math.pi / 4, math.pi / 4)
        x, y = 0.26 + rng.uniform(-dx, dx), 0.2 + rng.uniform(-dy, dy)
        z = _TOP + self._options.cube_half_m
        turn = [math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2)]
        data.qpos[self._qpos : self._qpos + 7] = [x, y, z, *turn]
        data.qpos[self._slide] = min(self._options.drawer_open_m, _TRAVEL)

    def judge(self, data: mujoco.MjData) -> Verdict:
        """Success: the cube is below the rim and between the walls, the drawer shut if required."""
        turn = data.xmat[self._drawer].reshape(3, 3)
        x, y, z = turn.T @ (data.xpos[self._cube] - data.xpos[self._drawer])
        half = self._options.cube_half_m
        inside = abs(x) < _INSIDE[0] and abs(y) < _INSIDE[1] and -half < z < _INSIDE[2]
        shut = float(data.qpos[self._slide]) <= self._criterion.shut_within_m
        distance = math.sqrt(x * x + y * y + (z - half) ** 2)
        lost = float(data.xpos[self._cube][2]) < _TOP - 0.05
        done = bool(inside and (shut or not self._criterion.closed))
        return Verdict(done, -distance, "the cube left the table" if lost else None)


def _build(setup: Setup) -> MujocoRollout:
    options, criterion = setup.options, setup.parameters
    assert isinstance(options, DrawerOptions)
    assert isinstance(criterion, InDrawer)
    stage = Stage(setup.robot, Transform())
    spec = stage.spec
    add_lights(spec)
    add_floor(spec)
    add_table(spec, "table", (0.14, -0.4), (0.64, 0.4), _TOP)
    x, y, z = setup.robot.sim.base_pose.xyz
    add_pedestal(spec, "post", (x - 2 * _POST_M, y), _POST_M, z)
    _add_chest(spec)
    half = options.cube_half_m
    add_loose_box(spec, "cube", (half, half, half), (0.26, 0.2, _TOP + half), 0.05, RED)
    add_camera(spec, "top_view", (0.75, 0.0, 1.4), (0.34, 0.0, _TOP))
    add_camera(spec, "front", (1.35, 0.45, 0.95), (0.2, 0.0, _TOP + 0.12))
    return MujocoRollout(setup, stage, DrawerTask(options, criterion))


def _add_chest(spec: mujoco.MjSpec) -> None:
    """Adds a chest that opens towards the robot, and the drawer in it."""
    (x, y), (dx, dy, depth) = _CHEST, _INSIDE
    outer_y, top = dy + 3 * _WALL, depth + 5 * _WALL
    low, length = _TOP, 2 * (dx + 2 * _WALL)
    world = spec.worldbody
    right = ((x, y - outer_y, low), (x + length, y - outer_y + _WALL, low + top))
    left = ((x, y + outer_y - _WALL, low), (x + length, y + outer_y, low + top))
    add_box(world, "chest_right", *right, WOOD)
    add_box(world, "chest_left", *left, WOOD)
    add_box(
        world,
        "chest_top",
        (x, y - outer_y, low + top),
        (x + length, y + outer_y, low + top + _WALL),
        WOOD,
    )
    drawer = world.add_body(name="drawer", pos=[x + dx + _WALL, y, low + 2 * _WALL])
    drawer.add_joint(
        name="drawer_slide",
        type=mujoco.mjtJoint.mjJNT_SLIDE,
        axis=[-1, 0, 0],
        range=[0, _TRAVEL],
        damping=np.resize(2.0, 3),
        frictionloss=0.4,
    )
    w = _WALL
    add_box(drawer, "drawer_floor", (-dx - w, -dy - w, -w), (dx + w, dy + w, 0), WHITE)
    add_box(drawer, "drawer_front", (-dx - w, -dy - w, 0), (-dx, dy + w, depth), WHITE)
    add_box(drawer, "drawer_back", (dx, -dy - w, 0), (dx + w, dy + w, depth), WHITE)
    add_box(drawer, "drawer_right", (-dx, -dy - w, 0), (dx, -dy, depth), WHITE)
    add_box(drawer, "drawer_left", (-dx, dy, 0), (dx, dy + w, depth), WHITE)
    add_box(
        drawer,
        "drawer_handle",
        (-dx - 5 * w, -0.02, 0.4 * depth),
        (-dx - w, 0.02, 0.6 * depth),
        STEEL,
    )


SCENE = SceneType(
    name="openarm_tabletop",
    summary="Put the cube into the drawer; openarm alone.",
    options=DrawerOptions,
    criteria={"cube_in_drawer": InDrawer},
    build=_build,
    fixed_robot="openarm",
)
