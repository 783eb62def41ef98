"""Colour cameras: publishes image and pinhole model."""

from __future__ import annotations

from openral.graph.ports import Ports
from openral.hal import topics
from openral.hal.graph_time import GraphTime
from openral.hal.protocols import CameraSource
from openral.hal.sensors.camera_info import camera_info
from openral.ros import msg
from openral.ros.qos import SENSOR
from openral.ros.stamps import time_message
from openral.sim.rollout import CameraInfo, Image


class CameraStream:
    """`image` (rgb8) and `camera_info` of one camera, with the stamp of the image."""

    def __init__(
        self,
        ports: Ports,
        hal: CameraSource,
        time: GraphTime,
        info: CameraInfo,
        rate_hz: float,
        frame_id: str,
    ) -> None:
        self.name, self.rate_hz = info.name, rate_hz
        self._hal, self._time, self._info, self._frame = hal, time, info, frame_id
        image, about = topics.camera(info.name, "image"), topics.camera(info.name, "camera_info")
        self._image = ports.publisher("sensor_msgs/msg/Image", image, SENSOR)
        self._about = ports.publisher("sensor_msgs/msg/CameraInfo", about, SENSOR)

    @property
    def heard(self) -> bool:
        """See SensorStream."""
        return self._image.has_subscribers or self._about.has_subscribers

    def take(self) -> None:
        """See SensorStream; with subscribers of camera_info only, no image is rendered."""
        if not self._image.has_subscribers:
            self._tell(self._time.now())
            return
        frame = self._hal.read_image(self.name)
        stamp = self._time.of(frame.stamp_ns)
        self._tell(stamp)
        self._image.publish(image_message(self._header(stamp), frame.pixels))

    def _tell(self, stamp_ns: int) -> None:
        size, lens = self._info.resolution, self._info.lens
        self._about.publish(lambda: camera_info(self._header(stamp_ns), size, lens))

    def _header(self, stamp_ns: int) -> msg.Header:
        return msg.Header(stamp=time_message(stamp_ns), frame_id=self._frame)


def image_message(header: msg.Header, pixels: Image) -> msg.Image:
    """An image of shape (height, width, 3) as rgb8; its bytes are not copied."""
    height, width, _ = pixels.shape
    return msg.Image(
        header=header,
        height=height,
        width=width,
        encoding="rgb8",
        is_bigendian=0,
        step=3 * width,
        data=pixels.reshape(-1),
    )
