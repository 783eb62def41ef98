"""Renderer: colour, depth and segmentation of one MuJoCo model, on one thread."""

from __future__ import annotations

import threading

import mujoco
import numpy as np
from numpy.typing import NDArray

from openral.errors import ConfigError, OpenralError
from openral.sim.rollout import Depth, Image
from openral.sim.twin.twin import COLLISION_GROUP

Segments = NDArray[np.int32]

_SLOW_EFFECTS = (
    mujoco.mjtRndFlag.mjRND_SHADOW,
    mujoco.mjtRndFlag.mjRND_REFLECTION,
)
_MAX_SIDE = 4096


class WrongThread(OpenralError):  # noqa: N818
    """A renderer was used on a thread other than the one that owns it."""


class Renderer:
    """Renders a model from its cameras; the GL context is created with the first image.

    The fast default omits shadows, reflections and antialiasing. The thread that renders first
    owns the context: GL forbids any other. Sizes are (width, height) in pixels.
    """

    def __init__(self, model: mujoco.MjModel, quality: bool = False) -> None:
        self.model = model
        self.quality = quality
        self._by_size: dict[tuple[int, int], mujoco.Renderer] = {}
        self._thread: int | None = None
        self._option = mujoco.MjvOption()
        self._option.geomgroup[COLLISION_GROUP] = 0

    def colour(
        self, data: mujoco.MjData, camera: int | mujoco.MjvCamera, size: tuple[int, int]
    ) -> Image:
        """An RGB image, uint8 (height, width, 3)."""
        renderer = self._ready(data, camera, size)
        return np.asarray(renderer.render())

    def depth(self, data: mujoco.MjData, camera: int, size: tuple[int, int]) -> Depth:
        """Depth (height, width) along the optical axis in m, infinite where nothing is hit."""
        renderer = self._ready(data, camera, size)
        renderer.enable_depth_rendering()
        try:
            depth: Depth = np.asarray(renderer.render())
        finally:
            renderer.disable_depth_rendering()
        far = float(self.model.vis.map.zfar * self.model.stat.extent)
        depth[depth >= 0.999 * far] = np.inf
        return depth

    def depth_and_segments(
        self, data: mujoco.MjData, camera: int, size: tuple[int, int]
    ) -> tuple[Depth, Segments]:
        """Depth, and the geom id of each pixel, -1 where there is none: rendered once for both.

        MuJoCo renders depth in the colours of its segments, which can still be read afterwards.
        """
        depth = self.depth(data, camera, size)
        renderer = self._by_size[size]
        colours = np.empty((*depth.shape, 3), np.uint8)
        mujoco.mjr_readPixels(colours, None, renderer._rect, renderer._mjr_context)
        segment = colours[..., 0].astype(np.int32)
        segment += colours[..., 1].astype(np.int32) << 8
        segment += colours[..., 2].astype(np.int32) << 16
        geoms = renderer.scene.geoms[: renderer.scene.ngeom]
        kind = int(mujoco.mjtObj.mjOBJ_GEOM)
        behind = np.full(len(geoms) + 1, -1, np.int32)  # segment 0 is the background
        for geom in geoms:
            if geom.segid != -1 and int(geom.objtype) == kind:
                behind[geom.segid + 1] = geom.objid
        return depth, np.flipud(behind[segment])

    def segments(self, data: mujoco.MjData, camera: int, size: tuple[int, int]) -> Segments:
        """The geom id of each pixel, (height, width), -1 where there is none."""
        return self.depth_and_segments(data, camera, size)[1]

    def close(self) -> None:
        """Releases the GL contexts; rendering again creates new ones."""
        for renderer in self._by_size.values():
            renderer.close()
        self._by_size.clear()
        self._thread = None

    def _ready(
        self, data: mujoco.MjData, camera: int | mujoco.MjvCamera, size: tuple[int, int]
    ) -> mujoco.Renderer:
        if self._thread not in {None, threading.get_ident()}:
            raise WrongThread(
                "the renderer belongs to the thread that drew first; "
                "close() it there, or draw on that thread"
            )
        self._thread = threading.get_ident()
        if size not in self._by_size:
            self._by_size[size] = self._make(size)
        renderer = self._by_size[size]
        renderer.update_scene(data, camera, scene_option=self._option)
        if not self.quality:
            for flag in _SLOW_EFFECTS:
                renderer.scene.flags[flag] = 0
        return renderer

    def _make(self, size: tuple[int, int]) -> mujoco.Renderer:
        width, height = size
        if not (1 <= width <= _MAX_SIDE and 1 <= height <= _MAX_SIDE):
            raise ConfigError(f"picture size {width}x{height} is not within 1 to {_MAX_SIDE}")
        visual = self.model.vis
        visual.global_.offwidth = max(int(visual.global_.offwidth), width)
        visual.global_.offheight = max(int(visual.global_.offheight), height)
        visual.quality.offsamples = 4 if self.quality else 0
        try:
            return mujoco.Renderer(self.model, height, width)
        except Exception as error:  # MuJoCo raises whatever its GL loader does
            raise ConfigError(
                f"cannot render: {error}; headless rendering needs Debian's libegl1, libopengl0 "
                "and libgl1-mesa-dri (apt-get install), and openral imported before mujoco"
            ) from None
