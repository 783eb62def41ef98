"""Laser scanners: publishes one scan per message (REP 117)."""

from __future__ import annotations

from openral.graph.ports import Ports
from openral.hal import topics
from openral.hal.graph_time import GraphTime
from openral.hal.protocols import LidarSource
from openral.manifest.sensor import Lidar
from openral.ros import msg
from openral.ros.qos import SENSOR
from openral.ros.stamps import time_message
from openral.sim.sensors.lidar import beam_angles


class ScanStream:
    """/scan of a robot's first lidar; if there are several, each also has a topic of its own."""

    def __init__(
        self, ports: Ports, hal: LidarSource, time: GraphTime, sensor: Lidar, topic_names: list[str]
    ) -> None:
        self.name, self.rate_hz = sensor.name, sensor.rate_hz
        self._hal, self._time, self._sensor = hal, time, sensor
        angles = beam_angles(sensor)
        self._first, self._last = float(angles[0]), float(angles[-1])
        self._step = float(angles[1] - angles[0])
        kind = "sensor_msgs/msg/LaserScan"
        self._out = [ports.publisher(kind, topic, SENSOR) for topic in topic_names]

    @property
    def heard(self) -> bool:
        """See SensorStream."""
        return any(out.has_subscribers for out in self._out)

    def take(self) -> None:
        """See SensorStream."""
        scan, sensor = self._hal.read_scan(self.name), self._sensor
        stamp = time_message(self._time.of(scan.stamp_ns))
        near, far = sensor.range_m
        message = msg.LaserScan(
            header=msg.Header(stamp=stamp, frame_id=sensor.frame_id),
            angle_min=self._first,
            angle_max=self._last,
            angle_increment=self._step,
            time_increment=0.0,
            scan_time=1.0 / sensor.rate_hz,
            range_min=near,
            range_max=far,
            ranges=scan.ranges,
        )
        for out in self._out:
            out.publish(message)


def scan_topics(lidars: list[Lidar]) -> list[list[str]]:
    """The topics of each lidar."""
    own = [[topics.lidar(lidar.name)] if len(lidars) > 1 else [] for lidar in lidars]
    return [[topics.SCAN, *names] if i == 0 else names for i, names in enumerate(own)]
