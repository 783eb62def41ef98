"""A depth camera's views on their way into the map: checked, then placed in the world."""

from __future__ import annotations

import zlib
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openral.errors import ConfigError, choices
from openral.manifest.sensor import DepthCamera
from openral.safety.surroundings import stamp_ns
from openral.world.depth_reading import depth_of, lens_of, points_of
from openral.world.sensor_watch import Health, SensorWatch
from openral.world.voxel_map import Lens

Matrix = NDArray[np.float64]
_MOVED_M, _MOVED = 0.02, 0.01


@dataclass
class View:
    """One measurement that waits to be placed."""

    stamp_ns: int
    values: NDArray[np.float32] = field(repr=False)
    lens: Lens | None
    """None: the values are points."""
    print: int
    """Checksum of the content."""


class ViewQueue:
    """Takes a camera's messages, refuses what is no measurement, and keeps the newest few."""

    def __init__(self, sensor: DepthCamera, watch: SensorWatch, least_seen: float) -> None:
        self.sensor, self.watch = sensor, watch
        self.waiting: deque[View] = deque(maxlen=4)
        self._least = least_seen
        self._info: Any = None
        self._last: tuple[int, Matrix] | None = None
        self._newest = 0

    def take_info(self, info: Any) -> None:
        """Hears the lens."""
        self._info = info

    def take_depth(self, image: Any) -> None:
        """Hears a picture."""
        if self._info is None:
            self.watch.failed(Health.MISCONFIGURED, "pictures come, but no camera_info")
            return
        self._take(image, lambda: (depth_of(image, self._info), lens_of(self._info)))

    def take_points(self, cloud: Any) -> None:
        """Hears a cloud."""
        self._take(cloud, lambda: (points_of(cloud), None))

    def _take(self, message: Any, read: Any) -> None:
        wanted, frame = self.sensor.frame_id, message.header.frame_id
        try:
            if frame != wanted:
                raise ConfigError(f"frame '{frame}'; {choices(frame, [wanted])}")
            values, lens = read()
        except ConfigError as error:
            self.watch.failed(Health.MISCONFIGURED, str(error))
            return
        stamp = stamp_ns(message)
        if stamp <= self._newest:  # sent again, or late
            return
        self._newest = stamp
        depth = values if lens is not None else values[:, 2]
        near = self.sensor.range_m[0]
        with np.errstate(invalid="ignore"):
            seen = float(np.mean((depth >= near) & (depth < np.inf))) if depth.size else 0.0
        if seen < self._least:
            text = f"only {seen:.1%} of it is a measured distance (least {self._least:.1%})"
            self.watch.failed(Health.BLIND, text)
            return
        self.waiting.append(View(stamp, values, lens, zlib.crc32(values.tobytes())))

    def frozen(self, view: View, camera: Matrix) -> bool:
        """Whether the very same content came from a camera that has moved in between."""
        if self._last is None or self._last[0] != view.print:
            self._last = view.print, camera
            return False
        first = self._last[1]  # where the camera was when this content came first
        moved = float(np.linalg.norm(camera[:3, 3] - first[:3, 3])) > _MOVED_M
        turned = float(np.abs(camera[:3, :3] - first[:3, :3]).max()) > _MOVED
        return moved or turned

    def forget(self) -> None:
        """Time was set back."""
        self.waiting.clear()
        self._last, self._newest = None, 0
        self.watch.forget()
