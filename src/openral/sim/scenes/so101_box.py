"""The scene so101_box: insert the tube into the slotted block in the box; for the SO-101 alone."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from openral.manifest.base import Model, Positive, Transform
from openral.sim.building.furniture import (
    BLUE,
    WHITE,
    YELLOW,
    add_box,
    add_camera,
    add_floor,
    add_lights,
    add_table,
)
from openral.sim.building.scene_task import Verdict
from openral.sim.building.scene_type import SceneType, Setup
from openral.sim.building.stage import Stage
from openral.sim.mujoco_rollout import MujocoRollout

_TOP = 0.7
_BOX = (0.30, 0.0)  # the middle of the box on the table
_BOX_HALF = (0.085, 0.15)
_WALL_HEIGHT = 0.035
_BLOCK_HALF = (0.03, 0.03, 0.02)
_BLOCK_AT = (0.30, 0.08)
_SLOT_HALF = 0.0125
_SLOT_FLOOR = 0.006  # height of the slot's floor above the block's underside


class BoxOptions(Model):
    """Options of so101_box."""

    tube_radius_m: Positive = 0.008
    """Radius of the tube; the slot is 25 mm wide."""
    tube_length_m: Positive = 0.07
    """Its length."""
    spawn_half_m: tuple[Positive, Positive] = (0.03, 0.04)
    """Half the size of the area that the tube is drawn from."""


class Inserted(Model):
    """The tube stands in the slot, touching nothing but the block."""

    depth_m: Positive = 0.008
    """How far below the block's upper face the tube's lower end must be."""
    tilt_deg: Positive = 25.0
    """Largest angle between tube and vertical."""


class InsertTask:
    """Judges by the poses of tube and block."""

    objects = ("tube", "block")

    def __init__(self, options: BoxOptions, criterion: Inserted) -> None:
        self._options, self._criterion = options, criterion
        self._tube = self._block = self._qpos = 0

    def bind(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Finds tube and block."""
        self._tube, self._block = int(model.body("tube").id), int(model.body("block").id)
        self._qpos = int(model.joint("tube_free").qposadr[0])

    def place(self, data: mujoco.MjData, rng: np.random.Generator) -> None:
        """Lays the tube in the other half of the box, at a random angle."""
        dx, dy = self._options.spawn_half_m
        x = _BOX[0] + rng.uniform(-dx, dx)
        y = -0.06 + rng.uniform(-dy, dy)
        z = _TOP + self._options.tube_radius_m + 0.001
        yaw = rng.uniform(-math.pi / 2, math.pi / 2)
        # Lying: its own z axis rotated into the horizontal plane, then about the vertical.
        half = math.sqrt(0.5)
        quat = np.zeros(4)
        turn = np.array([math.cos(yaw / 2), 0, 0, math.sin(yaw / 2)])
        mujoco.mju_mulQuat(quat, turn, np.array([half, 0, half, 0]))
        data.qpos[self._qpos : self._qpos + 7] = [x, y, z, *quat]

    def judge(self, data: mujoco.MjData) -> Verdict:
        """Success: the tube is upright, over the slot and deep enough in it."""
        to_block = data.xmat[self._block].reshape(3, 3).T
        axis = to_block @ data.xmat[self._tube].reshape(3, 3)[:, 2]
        axis = axis if axis[2] > 0 else -axis
        half = self._options.tube_length_m / 2
        end = to_block @ (data.xpos[self._tube] - data.xpos[self._block]) - half * axis
        upper = _BLOCK_HALF[2]
        upright = axis[2] > math.cos(math.radians(self._criterion.tilt_deg))
        inside = abs(end[0]) < _SLOT_HALF and abs(end[1]) < _SLOT_HALF
        success = bool(upright and inside and end[2] < upper - self._criterion.depth_m)
        distance = float(np.linalg.norm(end - [0, 0, upper]))
        lost = float(data.xpos[self._tube][2]) < _TOP - 0.05
        return Verdict(success, -distance, "the tube left the table" if lost else None)


def _build(setup: Setup) -> MujocoRollout:
    options, criterion = setup.options, setup.parameters
    assert isinstance(options, BoxOptions)
    assert isinstance(criterion, Inserted)
    stage = Stage(setup.robot, Transform(xyz=(0.0, 0.0, _TOP)))
    spec = stage.spec
    add_lights(spec)
    add_floor(spec)
    add_table(spec, "table", (-0.12, -0.3), (0.48, 0.3), _TOP)
    _add_walls(spec)
    _add_block(spec)
    _add_tube(spec, options)
    x, y = _BOX
    add_camera(spec, "top", (x + 0.1, y, _TOP + 0.75), (x - 0.06, y, _TOP))
    add_camera(spec, "front", (x + 0.55, y - 0.25, _TOP + 0.4), (x - 0.12, y, _TOP + 0.06))
    return MujocoRollout(setup, stage, InsertTask(options, criterion))


def _add_walls(spec: mujoco.MjSpec) -> None:
    (x, y), (dx, dy), t = _BOX, _BOX_HALF, 0.004
    low, high = _TOP, _TOP + _WALL_HEIGHT
    sides = {
        "near": ((x - dx - t, y - dy - t), (x - dx, y + dy + t)),
        "far": ((x + dx, y - dy - t), (x + dx + t, y + dy + t)),
        "right": ((x - dx, y - dy - t), (x + dx, y - dy)),
        "left": ((x - dx, y + dy), (x + dx, y + dy + t)),
    }
    for name, (a, b) in sides.items():
        add_box(spec.worldbody, f"box_{name}", (*a, low), (*b, high), WHITE)


def _add_block(spec: mujoco.MjSpec) -> None:
    """Adds a block with a square slot in its upper face, fixed in the box."""
    body = spec.worldbody.add_body(name="block", pos=[*_BLOCK_AT, _TOP + _BLOCK_HALF[2]])
    (hx, hy, hz), s = _BLOCK_HALF, _SLOT_HALF
    floor = -hz + _SLOT_FLOOR
    add_box(body, "block_floor", (-s, -s, -hz), (s, s, floor), BLUE)
    add_box(body, "block_near", (-hx, -hy, -hz), (-s, hy, hz), BLUE)
    add_box(body, "block_far", (s, -hy, -hz), (hx, hy, hz), BLUE)
    add_box(body, "block_right", (-s, -hy, -hz), (s, -s, hz), BLUE)
    add_box(body, "block_left", (-s, s, -hz), (s, hy, hz), BLUE)


def _add_tube(spec: mujoco.MjSpec, options: BoxOptions) -> None:
    body = spec.worldbody.add_body(name="tube", pos=[*_BOX, _TOP + 0.05])
    body.add_freejoint(name="tube_free")
    body.add_geom(
        name="tube",
        type=mujoco.mjtGeom.mjGEOM_CYLINDER,
        size=[options.tube_radius_m, options.tube_length_m / 2, 0],
        mass=0.02,
        rgba=YELLOW,
        friction=[1.0, 0.01, 0.001],
        condim=4,
    )


SCENE = SceneType(
    name="so101_box",
    summary="Insert the tube into the slotted block inside the box; so101_follower alone.",
    options=BoxOptions,
    criteria={"tube_inserted": Inserted},
    build=_build,
    fixed_robot="so101_follower",
)
