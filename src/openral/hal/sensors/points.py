"""Depth cameras: publishes organised point clouds without the robot itself."""

from __future__ import annotations

import numpy as np

from openral.graph.ports import Ports
from openral.hal import topics
from openral.hal.graph_time import GraphTime
from openral.hal.protocols import CloudMeasuring
from openral.manifest.sensor import DepthCamera
from openral.ros import msg
from openral.ros.qos import SENSOR
from openral.ros.stamps import time_message
from openral.sim.rollout import Depth

_FLOAT32 = 7
_POINT_BYTES = 12


class PointsStream:
    """`points` of one depth camera, one point per `stride` × `stride` pixels."""

    def __init__(
        self,
        ports: Ports,
        hal: CloudMeasuring,
        time: GraphTime,
        sensor: DepthCamera,
        stride: int,
    ) -> None:
        self.name, self.rate_hz = sensor.name, sensor.rate_hz
        self._hal, self._time, self._frame = hal, time, sensor.frame_id
        width, height = sensor.resolution
        self._size = (max(1, width // stride), max(1, height // stride))
        topic = topics.camera(sensor.name, "points")
        self._out = ports.publisher("sensor_msgs/msg/PointCloud2", topic, SENSOR)

    @property
    def heard(self) -> bool:
        """See SensorStream."""
        return self._out.has_subscribers

    def take(self) -> None:
        """See SensorStream."""
        frame = self._hal.read_cloud(self.name, self._size)
        stamp = time_message(self._time.of(frame.stamp_ns))
        header = msg.Header(stamp=stamp, frame_id=self._frame)
        self._out.publish(cloud_message(header, frame.cloud.points))


def cloud_message(header: msg.Header, points: Depth) -> msg.PointCloud2:
    """Points of shape (height, width, 3) in m; their bytes are not copied."""
    height, width, _ = points.shape
    return msg.PointCloud2(
        header=header,
        height=height,
        width=width,
        fields=[
            msg.PointField(name=axis, offset=4 * i, datatype=_FLOAT32, count=1)
            for i, axis in enumerate("xyz")
        ],
        is_bigendian=False,
        point_step=_POINT_BYTES,
        row_step=_POINT_BYTES * width,
        data=np.ascontiguousarray(points, np.float32).view(np.uint8).reshape(-1),
        is_dense=False,
    )
