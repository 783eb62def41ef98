"""Parameters of the HAL node: given when it starts, fixed from then on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from openral.errors import ConfigError
from openral.ros.parameters.node_settings import Choices, NodeSettings, Ranges


@dataclass(frozen=True)
class HalParameters(NodeSettings):
    """The robot, the scene and the rates of a HAL node."""

    RANGES: ClassVar[Ranges] = {
        "rtf": (0.0, 1000.0),
        "joint_state_hz": (1.0, 250.0),
        "camera_hz": (0.0, 240.0),
        "cloud_stride": (1, 64),
        "heartbeat_s": (0.03, 0.1),
    }
    CHOICES: ClassVar[Choices] = {"hal_mode": ("sim", "real")}

    hal_mode: str = "sim"
    """Whether the robot is simulated or real."""
    sim_env_yaml: str = ""
    """Id or file of the scene; empty: the bare twin, or hardware."""
    transport: str = ""
    """JSON object with the HAL's own options; they override `hal.parameters` of the manifest."""
    seed: int = -1
    """Seed of the first episode; -1: the scene's own."""
    rtf: float = 1.0
    """Real-time factor: simulated seconds per second; 0: as fast as possible."""
    wall_clock: bool = False
    """Put the graph on wall time although the simulation has a clock."""
    real_time: bool = False
    """Wall-clock deadlines although simulated time could wait for other nodes."""
    lockstep: bool = False
    """No threads: a program drives the node with `tick`."""
    view: bool = False
    """Show the simulation in a window, if there is a display."""
    known_obstacles: bool = True
    """Publish the static boxes of a scene as known obstacles, which need no perception."""
    joint_state_hz: float = 50.0
    """Rate of joint states, odometry and transforms, in graph time."""
    camera_hz: float = 0.0
    """Highest rate of colour cameras; 0: that of the manifest."""
    cloud_stride: int = 2
    """Pixels of a depth camera per point of its cloud, along each image axis."""
    heartbeat_s: float = 0.065
    """Wall time without the kernel's heartbeat after which the robot holds position.

    Where simulated time waits for the kernel, a longer limit applies; in lock-step none.
    """

    def options(self) -> dict[str, Any]:
        """The transport options as a mapping; ConfigError if they are no JSON object."""
        if not self.transport:
            return {}
        try:
            found = json.loads(self.transport)
        except json.JSONDecodeError as error:
            raise ConfigError(f"parameter 'transport' is not JSON: {error}") from None
        if not isinstance(found, dict):
            raise ConfigError(f"parameter 'transport' is {self.transport}; it must be an object")
        return found

    def check(self) -> None:
        """Raises ConfigError for values that must not be combined."""
        super().check()
        if self.lockstep and self.hal_mode != "sim":
            raise ConfigError("lockstep stands still between ticks: valid only with hal_mode 'sim'")
