"""Renders a scene from all its cameras onto one sheet."""

from __future__ import annotations

import math

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from openral.errors import ConfigError
from openral.manifest import RobotDescription, SceneDescription
from openral.sim.registry import make_rollout
from openral.sim.robot_render import Picture

_BAND = 26


def scene_sheet(
    scene: SceneDescription,
    robot: RobotDescription | None,
    cameras: list[str],
    seed: int,
    size: tuple[int, int],
    quality: bool,
) -> tuple[Picture, str]:
    """Labelled images of all cameras at the start of an episode, and the robot's id.

    `size` is (width, height) of each image in pixels; an empty `cameras` means all.
    """
    rollout = make_rollout(scene, robot, quality=quality)
    try:
        rollout.reset(seed)
        names = cameras or list(rollout.cameras)
        if not names:
            raise ConfigError(f"scene '{scene.id}' has no cameras with '{rollout.robot.id}'")
        pictures = [rollout.image(name, size) for name in names]
        return _sheet(names, pictures, size), rollout.robot.id
    finally:
        rollout.close()


def _sheet(names: list[str], pictures: list[Picture], size: tuple[int, int]) -> Picture:
    columns = min(len(names), 2 if len(names) <= 4 else 3)
    rows = math.ceil(len(names) / columns)
    width, height = size
    sheet = Image.new("RGB", (columns * width, rows * (height + _BAND)), "white")
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(16)
    for index, (name, picture) in enumerate(zip(names, pictures, strict=True)):
        x, y = index % columns * width, index // columns * (height + _BAND)
        sheet.paste(Image.fromarray(picture), (x, y + _BAND))
        draw.text((x + width / 2, y + _BAND / 2), name, "black", font, anchor="mm")
    return np.array(sheet)
