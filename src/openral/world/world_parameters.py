"""Parameters of the world node, fixed once it has started."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from openral.errors import ConfigError, choices
from openral.manifest.robot import RobotDescription
from openral.manifest.sensor import DepthCamera
from openral.ros.parameters.node_settings import Choices, NodeSettings, Ranges
from openral.world.voxel_map import MapOptions

ODOM_FRAME = "odom"
FLOOR_M = 0.05
"""What is lower than this does not stop a mobile robot: it is the floor, measured with noise."""


@dataclass(frozen=True)
class WorldParameters(NodeSettings):
    """How the map is made and how often the state is published."""

    RANGES: ClassVar[Ranges] = {
        "resolution_m": (0.005, 0.5),
        "size_m": (0.5, 20.0),
        "height_m": (0.2, 5.0),
        "low_m": (-1.0, 2.0),
        "padding_m": (0.0, 0.5),
        "decay_s": (0.0, 3600.0),
        "least_seen": (0.0, 1.0),
        "same_picture_s": (0.0, 60.0),
        "state_hz": (1.0, 200.0),
        "health_hz": (0.5, 50.0),
    }
    CHOICES: ClassVar[Choices] = {"input": ("depth", "points"), "unknown": ("free", "occupied")}

    mapper: bool = True
    """Make the voxel map here; false where another program publishes it."""
    sensors: str = ""
    """Depth sensors to map, separated by commas; all of the manifest's where empty."""
    input: str = "depth"
    """What to map: depth images or point clouds."""
    unknown: str = "free"
    """What a cell that was never observed counts as: free or occupied."""
    frame: str = ""
    """The frame in which the map is fixed; odom for mobile robots, else the base frame."""
    resolution_m: float = 0.025
    """Edge length of a cell."""
    size_m: float = 4.0
    """Length and width of the window around the robot."""
    height_m: float = 2.0
    """Height of the window."""
    low_m: float = -1.0
    """Lower end of the window above the base; below −0.5: the floor for mobile robots, else
    0.2 m under the base."""
    padding_m: float = 0.05
    """Padding of the robot's body: measurements within it are attributed to the body."""
    decay_s: float = 0.0
    """Interval at which all evidence fades by one step; 0: never."""
    least_seen: float = 0.02
    """A view with a smaller share of measured values is reported as blind."""
    same_picture_s: float = 0.0
    """Identical content for longer than this is no measurement, and stale; 0: only if the
    camera moves, for simulations without noise."""
    state_hz: float = 30.0
    """How often the world state is published."""
    health_hz: float = 5.0
    """How often an unhealthy map is published."""

    def depth_sensors(self, robot: RobotDescription) -> list[DepthCamera]:
        """The depth cameras to map."""
        known = {s.name: s for s in robot.sensors if isinstance(s, DepthCamera)}
        names = [word.strip() for word in self.sensors.split(",") if word.strip()]
        for name in names:
            if name not in known:
                raise ConfigError(
                    f"'{robot.id}' has no depth sensor '{name}'; {choices(name, known, 'sensors')}"
                )
        return [known[name] for name in names] if names else list(known.values())

    def fixed_frame(self, robot: RobotDescription) -> str:
        """The frame in which the lattice is fixed."""
        return self.frame or (ODOM_FRAME if robot.base_joints else robot.base_frame)

    def map_options(self, robot: RobotDescription) -> MapOptions:
        """The layout of the map."""
        low = self.low_m
        if low < _UNSET_BELOW:
            low = FLOOR_M if robot.base_joints else -0.2
        return MapOptions(
            resolution_m=self.resolution_m,
            size_m=(self.size_m, self.size_m, self.height_m),
            low_m=low,
            padding_m=self.padding_m,
        )


_UNSET_BELOW = -0.5
