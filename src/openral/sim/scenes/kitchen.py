"""The scene kitchen: counters, table, island, doorway and loose objects; for mobile robots."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from openral.manifest import RobotDescription
from openral.manifest.base import Model, NonNegative, Positive, Transform, Vec3
from openral.sim.building.furniture import (
    BLUE,
    GREEN,
    RED,
    STONE,
    WHITE,
    WOOD,
    YELLOW,
    Rgba,
    add_box,
    add_camera,
    add_floor,
    add_lights,
    add_loose_box,
    add_table,
)
from openral.sim.building.scene_task import Verdict
from openral.sim.building.scene_type import SceneType, Setup
from openral.sim.building.stage import Stage
from openral.sim.mujoco_rollout import MujocoRollout

# Name, low corner, high corner, colour: the room is 6 m by 5 m around the origin.
_FURNITURE: tuple[tuple[str, Vec3, Vec3, Rgba], ...] = (
    ("wall_north", (-3.0, 2.5, 0.0), (3.0, 2.6, 2.4), WHITE),
    ("wall_south", (-3.0, -2.6, 0.0), (3.0, -2.5, 1.0), WHITE),
    ("wall_east", (3.0, -2.6, 0.0), (3.1, 2.6, 2.4), WHITE),
    ("wall_west_left", (-3.1, 0.55, 0.0), (-3.0, 2.6, 2.4), WHITE),
    ("wall_west_right", (-3.1, -2.6, 0.0), (-3.0, -0.55, 2.4), WHITE),
    ("lintel", (-3.1, -0.55, 2.1), (-3.0, 0.55, 2.4), WHITE),
    ("counter_north", (-2.0, 1.9, 0.0), (2.4, 2.5, 0.82), WOOD),
    ("counter_north_top", (-2.0, 1.86, 0.82), (2.4, 2.5, 0.86), STONE),
    ("counter_east", (2.4, -1.2, 0.0), (3.0, 2.5, 0.82), WOOD),
    ("counter_east_top", (2.36, -1.2, 0.82), (3.0, 2.5, 0.86), STONE),
    ("island", (0.2, 0.1, 0.0), (1.4, 0.8, 0.82), WOOD),
    ("island_top", (0.16, 0.06, 0.82), (1.44, 0.84, 0.86), STONE),
    ("fridge", (-2.9, 1.7, 0.0), (-2.1, 2.5, 1.9), WHITE),
)
_LOOSE: tuple[tuple[str, Vec3, Vec3, float, Rgba], ...] = (
    ("mug", (0.035, 0.035, 0.045), (0.5, 2.15, 0.905), 0.25, BLUE),
    ("carton", (0.04, 0.04, 0.1), (1.0, 2.2, 0.96), 0.5, WHITE),
    ("fruit", (0.03, 0.03, 0.03), (0.7, 0.3, 0.89), 0.12, YELLOW),
    ("stool", (0.15, 0.15, 0.22), (-0.6, -0.9, 0.221), 4.0, WOOD),
)
_COUNTER_TOP = 0.86


class KitchenOptions(Model):
    """Options of the kitchen."""

    start: tuple[float, float, float] = (-1.6, -0.2, 0.0)
    """Where the robot's base starts: x, y and yaw; `base_pose` of the scene beats it."""
    start_spread_m: NonNegative = 0.1
    """How far goals and things to reach for may be from their usual places."""


class Reached(Model):
    """The cube on the counter has been pushed back from the edge."""

    distance_m: Positive = 0.05
    """How far it must have moved."""


class Driven(Model):
    """The base stands on the goal mark."""

    distance_m: Positive = 0.1
    """Largest distance from the mark."""
    yaw_deg: Positive = 15.0
    """Largest angle from its heading."""


class KitchenTask:
    """Either a cube to push on the counter, or a mark to drive onto."""

    objects = ("cube", "mark")

    def __init__(self, robot: RobotDescription, options: KitchenOptions, criterion: Model) -> None:
        self._options, self._criterion = options, criterion
        self._base_link = robot.link(robot.base_frame)
        self._robot = robot
        self._cube = self._base = self._qpos = self._mark = 0

    def bind(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Finds the cube, the mark and the robot's base."""
        self._cube = int(model.body("cube").id)
        self._qpos = int(model.joint("cube_free").qposadr[0])
        self._mark = int(model.body("mark").mocapid[0])
        name = self._base_link.sim_body_name or self._base_link.name
        self._base = int(model.body(name).id)

    def place(self, data: mujoco.MjData, rng: np.random.Generator) -> None:
        """Puts the cube at the counter's edge and the mark in front of it."""
        spread = self._options.start_spread_m
        x = -0.6 + rng.uniform(-spread, spread)
        data.qpos[self._qpos : self._qpos + 3] = [x, 1.98, _COUNTER_TOP + 0.03]
        mark = np.array([-0.6, 1.2]) + rng.uniform(-spread, spread, 2)
        yaw = math.pi / 2
        data.mocap_pos[self._mark] = [*mark, 0.001]
        data.mocap_quat[self._mark] = [math.cos(yaw / 2), 0, 0, math.sin(yaw / 2)]

    def judge(self, data: mujoco.MjData) -> Verdict:
        """Judges by the cube's position or by the base's pose."""
        if isinstance(self._criterion, Reached):
            return self._reached(data, self._criterion.distance_m)
        assert isinstance(self._criterion, Driven)
        return self._driven(data, self._criterion)

    def _reached(self, data: mujoco.MjData, wanted: float) -> Verdict:
        _, y, z = data.xpos[self._cube].tolist()
        if z < _COUNTER_TOP - 0.05:
            return Verdict(False, -1.0, "the cube fell off the counter")
        moved = y - 1.98
        return Verdict(moved >= wanted, min(moved, wanted) - wanted)

    def _driven(self, data: mujoco.MjData, criterion: Driven) -> Verdict:
        x, y = data.xpos[self._base][:2].tolist()
        goal_x, goal_y, _ = data.mocap_pos[self._mark].tolist()
        heading = math.atan2(data.xmat[self._base][3], data.xmat[self._base][0])
        w, _, _, z = data.mocap_quat[self._mark].tolist()
        turn = math.remainder(heading - 2 * math.atan2(z, w), 2 * math.pi)
        distance = math.hypot(x - goal_x, y - goal_y)
        near = distance <= criterion.distance_m
        return Verdict(near and abs(turn) <= math.radians(criterion.yaw_deg), -distance)


def _refuses(robot: RobotDescription) -> str | None:
    return None if robot.base_joints else "it does not drive (it has no base_joints)"


def _build(setup: Setup) -> MujocoRollout:
    options = setup.options
    assert isinstance(options, KitchenOptions)
    x, y, yaw = options.start
    mount = setup.scene.base_pose or Transform(xyz=(x, y, 0.0), rpy=(0.0, 0.0, yaw))
    stage = Stage(setup.robot, mount)
    spec = stage.spec
    add_lights(spec)
    add_floor(spec)
    for name, low, high, colour in _FURNITURE:
        add_box(spec.worldbody, name, low, high, colour)
    add_table(spec, "table", (0.6, -1.9), (1.8, -1.1), 0.74)
    for name, half, at, mass, colour in _LOOSE:
        add_loose_box(spec, name, half, at, mass, colour)
    add_loose_box(spec, "cube", (0.03, 0.03, 0.03), (-0.6, 1.98, 0.89), 0.1, RED)
    mark = spec.worldbody.add_body(name="mark", mocap=True)
    _add_mark(mark)
    add_camera(spec, "room", (2.4, -3.6, 3.6), (0.0, 0.3, 0.3), 55.0)
    add_camera(spec, "counter", (-1.9, 0.9, 1.7), (-0.5, 2.0, 0.9), 60.0)
    return MujocoRollout(setup, stage, KitchenTask(setup.robot, options, setup.parameters))


def _add_mark(mark: mujoco.MjsBody) -> None:
    """Adds a disc on the floor with a bar that shows the heading, both without collisions."""
    disc = mark.add_geom(name="mark", type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=[0.2, 0.001, 0])
    bar = add_box(mark, "mark_heading", (0.0, -0.02, 0.0), (0.3, 0.02, 0.003), GREEN)
    disc.rgba = GREEN
    for geom in (disc, bar):
        geom.contype = geom.conaffinity = 0


SCENE = SceneType(
    name="kitchen",
    summary="Counters, a table, an island, a doorway and loose things; any robot that drives.",
    options=KitchenOptions,
    criteria={"cube_pushed_back": Reached, "base_on_mark": Driven},
    build=_build,
    refuses=_refuses,
)
