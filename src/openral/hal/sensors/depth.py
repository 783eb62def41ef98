"""Depth cameras: publishes depth images (REP 118) and the pinhole model."""

from __future__ import annotations

import numpy as np

from openral.graph.ports import Ports
from openral.hal import topics
from openral.hal.graph_time import GraphTime
from openral.hal.protocols import DepthSource
from openral.hal.sensors.camera_info import camera_info
from openral.manifest.sensor import DepthCamera
from openral.ros import msg
from openral.ros.qos import SENSOR
from openral.ros.stamps import time_message
from openral.sim.rollout import Depth


class DepthStream:
    """`depth` (32FC1, in m) and `camera_info` of one camera."""

    def __init__(
        self, ports: Ports, hal: DepthSource, time: GraphTime, sensor: DepthCamera
    ) -> None:
        self.name, self.rate_hz = sensor.name, sensor.rate_hz
        self._hal, self._time, self._sensor = hal, time, sensor
        depth, about = topics.camera(self.name, "depth"), topics.camera(self.name, "camera_info")
        self._depth = ports.publisher("sensor_msgs/msg/Image", depth, SENSOR)
        self._about = ports.publisher("sensor_msgs/msg/CameraInfo", about, SENSOR)

    @property
    def heard(self) -> bool:
        """See SensorStream."""
        return self._depth.has_subscribers or self._about.has_subscribers

    def take(self) -> None:
        """See SensorStream; with subscribers of camera_info only, no depth image is rendered."""
        if not self._depth.has_subscribers:
            self._tell(self._time.now())
            return
        frame = self._hal.read_depth(self.name)
        stamp = self._time.of(frame.stamp_ns)
        self._tell(stamp)
        within = in_range(frame.depth, self._sensor.range_m)
        self._depth.publish(depth_message(self._header(stamp), within))

    def _tell(self, stamp_ns: int) -> None:
        size, lens = self._sensor.resolution, self._sensor.lens
        self._about.publish(lambda: camera_info(self._header(stamp_ns), size, lens))

    def _header(self, stamp_ns: int) -> msg.Header:
        return msg.Header(stamp=time_message(stamp_ns), frame_id=self._sensor.frame_id)


def in_range(depth: Depth, range_m: tuple[float, float]) -> Depth:
    """Replaces depths below the range by minus infinity, and those above it by infinity."""
    near, far = range_m
    out = np.where(depth > far, np.float32(np.inf), depth)
    return np.where(depth < near, np.float32(-np.inf), out).astype(np.float32, copy=False)


def depth_message(header: msg.Header, depth: Depth) -> msg.Image:
    """A depth image of shape (height, width) as 32FC1; its bytes are not copied."""
    height, width = depth.shape
    return msg.Image(
        header=header,
        height=height,
        width=width,
        encoding="32FC1",
        is_bigendian=0,
        step=4 * width,
        data=np.ascontiguousarray(depth).view(np.uint8).reshape(-1),
    )
