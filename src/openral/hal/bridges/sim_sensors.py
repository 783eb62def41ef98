"""SimSensorBridge: cameras, depth, clouds and scans of a HAL, each at its own rate.

One sensor is measured at a time, so that a simulation goes on between two pictures, and nothing is
measured that nobody hears.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from openral.errors import OpenralError
from openral.hal.bridges.camera import CameraStream
from openral.hal.bridges.depth import DepthStream
from openral.hal.bridges.points import PointsStream
from openral.hal.bridges.scan import ScanStream, scan_topics
from openral.hal.bridges.stream import SensorStream
from openral.hal.graph_time import GraphTime
from openral.hal.hal_parameters import HalParameters
from openral.hal.pacer import Pacer
from openral.hal.ports import Ports
from openral.hal.protocols import HAL, CameraSource, CloudMeasuring, DepthSource, LidarSource
from openral.manifest.sensor import DepthCamera

_SCENE_CAMERA_HZ = 10.0


def sensor_streams(
    ports: Ports, hal: HAL, time: GraphTime, settings: HalParameters
) -> list[SensorStream]:
    """What the manifest says the robot has, and this HAL can measure; then the scene's cameras."""
    found: list[SensorStream] = []
    robot = hal.robot
    for sensor in robot.cameras:
        if isinstance(sensor, DepthCamera):
            if isinstance(hal, DepthSource):
                found.append(DepthStream(ports, hal, time, sensor))
            if isinstance(hal, CloudMeasuring):
                found.append(PointsStream(ports, hal, time, sensor, settings.cloud_stride))
        elif isinstance(hal, CameraSource):
            rate = min(sensor.rate_hz, settings.camera_hz or sensor.rate_hz)
            info = hal.cameras[sensor.name]
            found.append(CameraStream(ports, hal, time, info, rate, sensor.frame_id))
    if isinstance(hal, CameraSource):
        known = [sensor.name for sensor in robot.cameras]
        for name, info in hal.cameras.items():
            if name not in known:
                rate, frame = settings.camera_hz or _SCENE_CAMERA_HZ, f"{name}_optical_frame"
                found.append(CameraStream(ports, hal, time, info, rate, frame))
    if isinstance(hal, LidarSource):
        for lidar, names in zip(robot.lidars, scan_topics(robot.lidars), strict=True):
            found.append(ScanStream(ports, hal, time, lidar, names))
    return found


class SimSensorBridge:
    """Takes each stream when it is due: on a thread of its own, in lock-step on the caller's."""

    def __init__(
        self,
        streams: Sequence[SensorStream],
        threaded: bool,
        report: Callable[[str, str], None],
    ) -> None:
        """`report` takes the name of a sensor that cannot be measured, and why."""
        count = len(streams)
        self._paced = [
            (stream, Pacer(stream.rate_hz, index / count)) for index, stream in enumerate(streams)
        ]
        self._report = report
        self._now_ns = 0
        self._next_ns = 0
        self._due, self._ended = threading.Event(), False
        self._thread: threading.Thread | None = None
        if threaded and streams:
            self._thread = threading.Thread(
                target=self._run, name="openral-hal-sensors", daemon=True
            )
            self._thread.start()

    def due(self, now_ns: int) -> bool:
        """Whether something is to be measured; quick, for every tick."""
        return bool(self._paced) and now_ns >= self._next_ns

    def tick(self, now_ns: int) -> None:
        """Has taken what is due."""
        self._now_ns = now_ns
        if self._thread is None:
            self._take_due()
        else:
            self._due.set()

    def close(self) -> None:
        """Ends the thread after the measurement that it is at; somebody must still serve it."""
        self._ended = True
        self._due.set()
        if self._thread is not None and threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        while not self._ended:
            self._due.wait()
            self._due.clear()
            self._take_due()

    def _take_due(self) -> None:
        for stream, pacer in self._paced:
            if self._ended:
                return
            if pacer.due(self._now_ns) and stream.heard:
                try:
                    stream.take()
                except OpenralError as error:
                    if not self._ended:  # else the HAL is gone already, as it should be
                        self._report(stream.name, str(error))
        self._next_ns = min(pacer.next_ns for _, pacer in self._paced)
