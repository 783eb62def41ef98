"""SimSensorBridge: measures and publishes the sensors of a HAL, each at its own rate.

A sensor without subscribers is not measured. The simulation advances between two renderings; while
one image is rendered, the last one is sent.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from openral.errors import OpenralError
from openral.graph.ports import Ports
from openral.hal.graph_time import GraphTime
from openral.hal.pacer import Pacer
from openral.hal.parameters import HalParameters
from openral.hal.protocols import HAL, CameraSource, CloudMeasuring, DepthSource, LidarSource
from openral.hal.sensors.camera import CameraStream
from openral.hal.sensors.depth import DepthStream
from openral.hal.sensors.points import PointsStream
from openral.hal.sensors.scan import ScanStream, scan_topics
from openral.hal.sensors.stream import SensorStream
from openral.manifest.sensor import DepthCamera

_SCENE_CAMERA_HZ = 10.0
_THREADS = 2
"""One thread sends its measurement while an image of the other is rendered."""


def sensor_streams(
    ports: Ports, hal: HAL, time: GraphTime, settings: HalParameters
) -> list[SensorStream]:
    """The manifest's sensors that this HAL can measure, then the scene's own cameras."""
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
    """Measures each stream when it is due: on own threads, or on the caller's in lock-step."""

    def __init__(
        self,
        streams: Sequence[SensorStream],
        threaded: bool,
        report: Callable[[str, str], None],
    ) -> None:
        """`report` is called with the name of a sensor that cannot be measured, and the reason."""
        count = len(streams)
        paced = [
            (stream, Pacer(stream.rate_hz, index / count)) for index, stream in enumerate(streams)
        ]
        shares = [paced[i::_THREADS] for i in range(_THREADS)] if threaded else [paced]
        self._takers = [_Taker(share, threaded, report) for share in shares if share]

    def due(self, now_ns: int) -> bool:
        """Whether a stream may be due; fast enough for every tick."""
        return any(now_ns >= taker.next_ns for taker in self._takers)

    def tick(self, now_ns: int) -> None:
        """Measures the streams that are due; on threads, it returns at once."""
        for taker in self._takers:
            taker.tick(now_ns)

    def close(self) -> None:
        """Ends the threads after their measurement; the simulation must still serve them."""
        for taker in self._takers:
            taker.end()
        for taker in self._takers:
            taker.join()


class _Taker:
    """Measures some of the streams, one after the other."""

    def __init__(
        self,
        paced: list[tuple[SensorStream, Pacer]],
        threaded: bool,
        report: Callable[[str, str], None],
    ) -> None:
        self._paced, self._report = paced, report
        self.next_ns = 0
        """The earliest time at which one of them is due, in ns."""
        self._now_ns = 0
        self._due, self._ended = threading.Event(), False
        self._thread: threading.Thread | None = None
        if threaded:
            self._thread = threading.Thread(
                target=self._run, name="openral-hal-sensors", daemon=True
            )
            self._thread.start()

    def tick(self, now_ns: int) -> None:
        if now_ns < self.next_ns:
            return
        self._now_ns = now_ns
        if self._thread is None:
            self._take_due()
        else:
            self._due.set()

    def end(self) -> None:
        self._ended = True
        self._due.set()

    def join(self) -> None:
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
                    if not self._ended:  # otherwise the HAL is closed already, as intended
                        self._report(stream.name, str(error))
        self.next_ns = min(pacer.next_ns for _, pacer in self._paced)
