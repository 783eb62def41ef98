"""Parameters of the kernel node: given when it starts, fixed from then on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from openral.errors import ConfigError
from openral.ros.parameters.node_settings import Choices, NodeSettings, Ranges


@dataclass(frozen=True)
class KernelParameters(NodeSettings):
    """Only `warn_only` lets unproven motion pass, and only a simulation may set it."""

    RANGES: ClassVar[Ranges] = {
        "heartbeat_hz": (20.0, 500.0),
        "start_within_s": (0.005, 1.0),
        "candidate_max_age_s": (0.01, 10.0),
        "max_candidates_hz": (1.0, 2000.0),
        "clock_stall_s": (0.05, 10.0),
        "stop_answer_s": (0.05, 10.0),
        "lease_s": (0.01, 1.0),
    }
    CHOICES: ClassVar[Choices] = {"hal_mode": ("sim", "real")}

    hal_mode: str = "sim"
    """Whether the robot is simulated or real."""
    requires_world: bool = False
    """Refuse motion without known obstacles, even if the manifest does not require them."""
    requires_voxels: bool = False
    """Refuse motion without a voxel map, even if the manifest does not require one."""
    external_map: bool = False
    """Take the voxel map, unsealed, from one publisher outside this run."""
    unknown_blocks: bool = False
    """Treat voxels that no sensor has observed as occupied."""
    warn_only: bool = False
    """Report findings and let the motion pass: simulation only."""
    heartbeat_hz: float = 50.0
    """Rate at which the safety state is published, in wall time."""
    start_within_s: float = 0.1
    """Time within which the HAL must start an approved action."""
    candidate_max_age_s: float = 0.5
    """Largest age of a candidate that is judged at all."""
    max_candidates_hz: float = 400.0
    """Candidates beyond this rate are dropped unread; several proposers share it equally."""
    clock_stall_s: float = 0.5
    """Wall time without a new /clock after which time counts as stalled, with `real_time`."""
    real_time: bool = False
    """Wall-clock deadlines although simulated time could wait for this node."""
    lease_s: float = 0.065
    """How far past this node's own time a simulation may advance, in graph time."""
    lockstep: bool = False
    """Ignore wall time, as the simulation waits for this node: simulation only."""
    stop_answer_s: float = 0.5
    """How long the e-stop service waits for the HAL to acknowledge."""

    def check(self) -> None:
        """Raises ConfigError for values that must not be combined."""
        super().check()
        if self.warn_only and self.hal_mode != "sim":
            raise ConfigError(
                f"warn_only lets refused motions pass and hal_mode is '{self.hal_mode}'; "
                "valid: only with hal_mode 'sim'"
            )
        if self.lockstep and self.hal_mode != "sim":
            raise ConfigError("lockstep cannot see time stall: valid only with hal_mode 'sim'")
