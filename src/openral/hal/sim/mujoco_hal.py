"""MujocoHAL: a robot's twin with its cameras, in an empty world."""

from __future__ import annotations

import numpy as np

from openral.errors import ConfigError, choices
from openral.hal.protocols import Scan
from openral.hal.sim.attached import SimAttachedHAL
from openral.manifest import RobotDescription, load_scene
from openral.sim.registry import make_rollout

BARE_SCENE = "bare"


class MujocoHAL(SimAttachedHAL):
    """The twin alone; its lidars detect nothing within their range."""

    def __init__(self, robot: RobotDescription, *, quality: bool = False) -> None:
        """`quality`: render images with shadows, reflections and antialiasing."""
        scene = load_scene(BARE_SCENE)
        super().__init__(robot, lambda: make_rollout(scene, robot, quality=quality))

    def read_scan(self, lidar: str) -> Scan:
        """A scan with every beam at maximum range."""
        for sensor in self.robot.lidars:
            if sensor.name == lidar:
                ranges = np.full(sensor.beams, sensor.range_m[1], np.float32)
                return Scan(ranges, self.read_state().stamp_ns)
        names = [sensor.name for sensor in self.robot.lidars]
        raise ConfigError(f"no lidar '{lidar}'; {choices(lidar, names, 'lidars')}")
