"""Adds floor, sky, lights, boxes, tables, cameras and loose objects to a MuJoCo scene."""

from __future__ import annotations

import math
from collections.abc import Sequence

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from openral.manifest.base import Vec3

Rgba = tuple[float, float, float, float]

WOOD: Rgba = (0.78, 0.63, 0.46, 1.0)
STEEL: Rgba = (0.55, 0.58, 0.62, 1.0)
WHITE: Rgba = (0.93, 0.93, 0.92, 1.0)
STONE: Rgba = (0.36, 0.38, 0.41, 1.0)
RED: Rgba = (0.85, 0.16, 0.13, 1.0)
GREEN: Rgba = (0.15, 0.62, 0.29, 1.0)
BLUE: Rgba = (0.16, 0.36, 0.75, 1.0)
YELLOW: Rgba = (0.93, 0.74, 0.15, 1.0)

_FLOOR: Rgba = (0.66, 0.68, 0.71, 1.0)


def add_lights(spec: mujoco.MjSpec) -> None:
    """Adds a bright sky and one sun, the same for every scene."""
    spec.visual.headlight.ambient = [0.42, 0.42, 0.42]
    spec.visual.headlight.diffuse = [0.28, 0.28, 0.28]
    spec.visual.quality.shadowsize = 4096
    spec.visual.headlight.specular = [0.0, 0.0, 0.0]
    sky = spec.add_texture(name="openral_sky", type=mujoco.mjtTexture.mjTEXTURE_SKYBOX)
    sky.builtin, sky.width, sky.height = mujoco.mjtBuiltin.mjBUILTIN_GRADIENT, 32, 32 * 6
    sky.rgb1, sky.rgb2 = [0.96, 0.97, 0.99], [0.80, 0.85, 0.91]
    sun = spec.worldbody.add_light(pos=[1.0, -1.5, 3.0], dir=[-0.3, 0.4, -0.9], castshadow=True)
    sun.type = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL
    sun.diffuse = [0.5, 0.5, 0.5]


def add_floor(spec: mujoco.MjSpec) -> mujoco.MjsGeom:
    """Adds an infinite floor at z = 0."""
    return spec.worldbody.add_geom(
        name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 0.1], rgba=_FLOOR
    )


def add_box(
    body: mujoco.MjsBody, name: str, low: Sequence[float], high: Sequence[float], rgba: Rgba
) -> mujoco.MjsGeom:
    """Adds a box between two corners, in m in the body's frame."""
    a, b = np.asarray(low, float), np.asarray(high, float)
    return body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=(a + b) / 2,
        size=(b - a) / 2,
        rgba=rgba,
    )


def add_camera(
    spec: mujoco.MjSpec,
    name: str,
    eye: Vec3,
    target: Vec3,
    fovy_deg: float = 45.0,
    resolution: tuple[int, int] = (640, 480),
) -> None:
    """Adds an upright camera at `eye` that looks at `target`, in m in the world frame.

    Nothing is added if the robot has a camera of that name. `resolution` is (width, height).
    """
    if spec.camera(name) is not None:
        return
    spec.worldbody.add_camera(
        name=name,
        pos=list(eye),
        quat=look_at(eye, target),
        fovy=fovy_deg,
        resolution=list(resolution),
    )


def look_at(eye: Vec3, target: Vec3) -> list[float]:
    """Quaternion w x y z of a MuJoCo camera; one that looks straight down has +x at the top."""
    back = np.asarray(eye, float) - np.asarray(target, float)
    back /= np.linalg.norm(back)
    up = np.array([1.0, 0.0, 0.0]) if abs(back[2]) > 0.999 else np.array([0.0, 0.0, 1.0])
    right = np.cross(up, back)
    right /= np.linalg.norm(right)
    turn = Rotation.from_matrix(np.stack([right, np.cross(back, right), back], axis=1))
    return [float(v) for v in turn.as_quat(scalar_first=True)]


def add_loose_box(
    spec: mujoco.MjSpec, name: str, half: Vec3, pos: Vec3, mass: float, rgba: Rgba
) -> mujoco.MjsBody:
    """Adds a free box of half extents `half` in m that can be pushed and picked up."""
    body = spec.worldbody.add_body(name=name, pos=list(pos))
    body.add_freejoint(name=f"{name}_free")
    body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=list(half),
        mass=mass,
        rgba=rgba,
        friction=[0.8, 0.005, 0.0001],
        condim=4,
    )
    return body


def add_table(
    spec: mujoco.MjSpec,
    name: str,
    low: tuple[float, float],
    high: tuple[float, float],
    top: float,
    rgba: Rgba = WOOD,
) -> None:
    """Adds a table between two corners (x, y), `top` high, in m: a box as top, another as leg."""
    world, thick = spec.worldbody, 0.03
    add_box(world, name, (*low, top - thick), (*high, top), rgba)
    x, y = (low[0] + high[0]) / 2, (low[1] + high[1]) / 2
    leg = 0.12 * min(high[0] - low[0], high[1] - low[1])
    add_box(world, f"{name}_leg", (x - leg, y - leg, 0.0), (x + leg, y + leg, top - thick), STEEL)


def add_pedestal(
    spec: mujoco.MjSpec, name: str, at: tuple[float, float], radius: float, top: float
) -> None:
    """Adds a column that a robot is mounted on, in m; the robot does not collide with it."""
    spec.worldbody.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_CYLINDER,
        pos=[*at, top / 2],
        size=[radius, top / 2, 0],
        rgba=STEEL,
        contype=0,
        conaffinity=0,
    )


def add_wrist_camera(spec: mujoco.MjSpec, name: str, tool_site: str, behind_m: float) -> None:
    """Adds a camera beside a tool that looks along it, unless the robot has one of that name."""
    if spec.camera(name) is not None:
        return
    site = spec.site(tool_site)
    turn = Rotation.from_quat(np.array(site.quat), scalar_first=True)
    eye = np.array(site.pos) + turn.apply([0.6 * behind_m, 0.0, -behind_m])
    looking = turn * Rotation.from_euler("x", math.pi) * Rotation.from_euler("y", 0.35)
    site.parent.add_camera(
        name=name,
        pos=eye,
        quat=looking.as_quat(scalar_first=True),
        fovy=70.0,
        resolution=[640, 480],
    )
