"""Parameters of the HAL node: given when it starts, fixed from then on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from openral.errors import ConfigError
from openral.ros.node import Node
from openral.ros.parameters import Descriptor


@dataclass(frozen=True)
class HalParameters:
    """What a HAL node is told about its robot, its scene and its rates."""

    robot_yaml: str = ""
    """Id, folder or file of the robot's manifest."""
    hal_mode: str = "sim"
    """Whether the robot is simulated or real."""
    sim_env_yaml: str = ""
    """Id or file of the scene; empty: the bare twin, or hardware."""
    transport: str = ""
    """JSON object with the HAL's own options, over `hal.parameters` of the manifest."""
    seed: int = -1
    """Seed of the first episode; -1: the scene's own."""
    rtf: float = 1.0
    """Simulated seconds a second; 0: as fast as it can."""
    wall_clock: bool = False
    """Put the graph on wall time although the simulation has a clock."""
    lockstep: bool = False
    """No threads: a program drives the node with `tick`."""
    view: bool = False
    """Show the simulation in a window, where there is a display."""
    joint_state_hz: float = 50.0
    """Rate of joint states, odometry and transforms, on the graph's clock."""
    camera_hz: float = 0.0
    """Highest rate of colour cameras; 0: what the manifest says."""
    cloud_stride: int = 2
    """Pixels of a depth camera for one point of its cloud, along either side."""
    heartbeat_s: float = 0.065
    """Real time without the kernel's heartbeat after which the robot holds."""

    @classmethod
    def declared(cls, node: Node) -> HalParameters:
        """Declares all on a node and reads what it was given."""
        values = {}
        for name, default in vars(cls()).items():
            low, high = _RANGES.get(name, (None, None))
            descriptor = Descriptor(
                read_only=True,
                minimum=low,
                maximum=high,
                choices=("sim", "real") if name == "hal_mode" else (),
            )
            values[name] = node.declare_parameter(name, default, descriptor).value
        return cls(**values)  # type: ignore[arg-type]

    def options(self) -> dict[str, Any]:
        """The transport as a mapping; ConfigError if it is none."""
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
        """Raises ConfigError for what must not be combined."""
        if not self.robot_yaml:
            raise ConfigError("parameter 'robot_yaml' is empty: it names the robot's manifest")
        if self.lockstep and self.hal_mode != "sim":
            raise ConfigError("lockstep stands still between ticks: valid only with hal_mode 'sim'")


_RANGES: dict[str, tuple[float, float]] = {
    "rtf": (0.0, 1000.0),
    "joint_state_hz": (1.0, 250.0),
    "camera_hz": (0.0, 240.0),
    "cloud_stride": (1, 64),
    "heartbeat_s": (0.03, 0.1),
}
