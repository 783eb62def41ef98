"""ViewQueue: a depth camera's measurements, checked and queued for insertion into the map."""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openral.errors import ConfigError, choices
from openral.graph.states import SensorState
from openral.manifest.sensor import DepthCamera
from openral.ros.clock import NS
from openral.ros.stamps import stamp_ns
from openral.world.depth_reading import depth_of, lens_of, points_of
from openral.world.sensor_watch import AHEAD_NS, SensorWatch
from openral.world.voxel_map import Lens
from openral.world.world_parameters import WorldParameters

Matrix = NDArray[np.float64]
_MOVED_M, _MOVED = 0.02, 0.01


@dataclass
class View:
    """One measurement that waits until its pose is known."""

    stamp_ns: int
    values: NDArray[np.float32] = field(repr=False)
    lens: Lens | None
    """None: the values are points."""
    content_crc: int
    """Checksum of the content."""


class ViewQueue:
    """Receives a camera's messages, refuses invalid measurements, and keeps the newest few."""

    def __init__(
        self,
        sensor: DepthCamera,
        watch: SensorWatch,
        settings: WorldParameters,
        now: Callable[[], int],
    ) -> None:
        self.sensor, self.watch = sensor, watch
        self.waiting: deque[View] = deque(maxlen=4)
        self._least, self._same_s = settings.least_seen, settings.same_picture_s
        self._now = now
        self._info: Any = None
        self._first: tuple[View, Matrix] | None = None
        """The first view with the present content, and the camera's pose at that time."""
        self._newest = 0

    def take_info(self, info: Any) -> None:
        """Receives a CameraInfo."""
        self._info = info

    def take_depth(self, image: Any) -> None:
        """Receives a depth Image."""
        if self._info is None:
            self.watch.failed(SensorState.MISCONFIGURED, "pictures come, but no camera_info")
            return
        self._take(image, lambda: (depth_of(image, self._info), lens_of(self._info)))

    def take_points(self, cloud: Any) -> None:
        """Receives a PointCloud2."""
        self._take(cloud, lambda: (points_of(cloud), None))

    def _take(self, message: Any, read: Any) -> None:
        wanted, frame = self.sensor.frame_id, message.header.frame_id
        try:
            if frame != wanted:
                raise ConfigError(f"frame '{frame}'; {choices(frame, [wanted])}")
            values, lens = read()
        except ConfigError as error:
            self.watch.failed(SensorState.MISCONFIGURED, str(error))
            return
        stamp, now = stamp_ns(message), self._now()
        if stamp > now + AHEAD_NS:  # stored, it would mask all correctly stamped ones
            text = f"stamped {(stamp - now) / NS:.2f} s ahead of the clock (at most 0.05 s)"
            self.watch.failed(SensorState.MISCONFIGURED, text)
            return
        if self._newest > now + AHEAD_NS:  # the clock was set back
            self.forget()
        if stamp <= self._newest:  # a repeated or late message
            return
        self._newest = stamp
        depth = values if lens is not None else values[:, 2]
        near = self.sensor.range_m[0]
        with np.errstate(invalid="ignore"):
            seen = float(np.mean((depth >= near) & (depth < np.inf))) if depth.size else 0.0
        if seen < self._least:
            text = f"only {seen:.1%} of it is a measured distance (least {self._least:.1%})"
            self.watch.failed(SensorState.BLIND, text)
            return
        self.waiting.append(View(stamp, values, lens, zlib.crc32(values.tobytes())))

    def frozen(self, view: View, camera: Matrix) -> str:
        """Why identical content cannot be a new measurement; empty: it can.

        `camera` is the pose of the camera in the map's frame, 4×4.
        """
        if self._first is None or self._first[0].content_crc != view.content_crc:
            self._first = view, camera
            return ""
        first, then = self._first
        moved = float(np.linalg.norm(camera[:3, 3] - then[:3, 3])) > _MOVED_M
        turned = float(np.abs(camera[:3, :3] - then[:3, :3]).max()) > _MOVED
        if moved or turned:
            return "the same content again and again, although the camera moves"
        same_s = (view.stamp_ns - first.stamp_ns) / NS
        if 0 < self._same_s < same_s:
            return f"the same content for {same_s:.2f} s (at most {self._same_s:g} s)"
        return ""

    def forget(self) -> None:
        """Drops all views: time was set back."""
        self.waiting.clear()
        self._first, self._newest = None, 0
        self.watch.forget()
