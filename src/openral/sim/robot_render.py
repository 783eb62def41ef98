"""Renders robots: one from a good angle, or all of them on one sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from openral.errors import ConfigError
from openral.manifest import RobotDescription
from openral.sim.twin.model_source import load_spec
from openral.sim.twin.twin import COLLISION_GROUP

Picture = NDArray[np.uint8]

_AZIMUTH, _ELEVATION = 135.0, -18.0


def render_robot(
    robot: RobotDescription, width: int = 640, height: int = 480, capsules: bool = False
) -> Picture:
    """Renders the robot at home on a floor, uint8 (height, width, 3).

    `capsules` also draws the geometry that the safety kernel checks.
    """
    model = _on_stage(load_spec(robot), width, height).compile()
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    camera = _framing(model, data, width / height)
    options = mujoco.MjvOption()
    options.geomgroup[COLLISION_GROUP] = int(capsules)
    try:
        renderer = mujoco.Renderer(model, height, width)
    except Exception as error:  # MuJoCo raises whatever its GL loader does
        raise ConfigError(
            f"cannot render: {error}; headless rendering needs Debian's libegl1, libopengl0 and "
            "libgl1-mesa-dri (apt-get install), and openral imported before mujoco"
        ) from None
    try:
        renderer.update_scene(data, camera, scene_option=options)
        return np.array(renderer.render())
    finally:
        renderer.close()


def contact_sheet(robots: Sequence[RobotDescription], columns: int = 4) -> Picture:
    """All robots in one image, each with its name."""
    width, height, band = 400, 400, 36
    rows = math.ceil(len(robots) / columns)
    sheet = Image.new("RGB", (columns * width, rows * (height + band)), "white")
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(20)
    for index, robot in enumerate(robots):
        x, y = index % columns * width, index // columns * (height + band)
        sheet.paste(Image.fromarray(render_robot(robot, width, height)), (x, y))
        label = f"{robot.id}  ·  {len(robot.driven)} joints"
        draw.text((x + width / 2, y + height + band / 2), label, "black", font, anchor="mm")
    return np.array(sheet)


def save_png(picture: Picture, path: Path) -> Path:
    """Writes an image, creating its folder if necessary."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture).save(path)
    return path


def _on_stage(spec: mujoco.MjSpec, width: int, height: int) -> mujoco.MjSpec:
    spec.visual.global_.offwidth, spec.visual.global_.offheight = width, height
    spec.visual.headlight.ambient = [0.45, 0.45, 0.45]
    spec.visual.headlight.diffuse = [0.35, 0.35, 0.35]
    sky = spec.add_texture(name="openral_sky", type=mujoco.mjtTexture.mjTEXTURE_SKYBOX)
    sky.builtin, sky.width, sky.height = mujoco.mjtBuiltin.mjBUILTIN_GRADIENT, 32, 32 * 6
    sky.rgb1, sky.rgb2 = [0.96, 0.97, 0.99], [0.80, 0.85, 0.91]
    world = spec.worldbody
    sun = world.add_light(pos=[1.0, -1.5, 3.0], dir=[-0.3, 0.4, -0.9], castshadow=True)
    sun.type = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL
    sun.diffuse = [0.5, 0.5, 0.5]
    world.add_geom(
        name="openral_floor",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=[0, 0, 0.1],
        rgba=[0.86, 0.88, 0.9, 1.0],
        contype=0,
        conaffinity=0,
    )
    return spec


def _framing(model: mujoco.MjModel, data: mujoco.MjData, aspect: float) -> mujoco.MjvCamera:
    """A camera with the whole robot in view."""
    solid = [g for g in range(model.ngeom) if model.geom_bodyid[g] > 0]
    if not solid:
        raise ConfigError("the robot has no geometry to draw")
    centres, reach = data.geom_xpos[solid], model.geom_rbound[solid, None]
    low = np.minimum((centres - reach).min(0), (centres + reach).max(0))
    high = (centres + reach).max(0)
    low[2] = max(low[2], 0.0)
    camera = mujoco.MjvCamera()
    camera.lookat = (low + high) / 2
    radius = float(np.linalg.norm(high - low)) / 2
    half_view = math.radians(float(model.vis.global_.fovy)) / 2
    camera.distance = 0.92 * radius / math.sin(math.atan(math.tan(half_view) * min(1.0, aspect)))
    camera.azimuth, camera.elevation = _AZIMUTH, _ELEVATION
    return camera
