"""Parameters of the skill runner: given when it starts, fixed from then on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from openral.ros.parameters.node_settings import Choices, NodeSettings, Ranges


@dataclass(frozen=True)
class RunnerParameters(NodeSettings):
    """What a runner is started with."""

    RANGES: ClassVar[Ranges] = {
        "rate_hz": (0.1, 1000.0),
        "load_timeout_s": (0.1, 3600.0),
        "answer_timeout_s": (0.01, 3600.0),
        "wait_s": (0.1, 600.0),
        "drop_patience_s": (0.0, 60.0),
        "lead_s": (0.0, 0.2),
        "policy_memory_gb": (0.0, 1e6),
        "policy_tasks": (0, 1_000_000),
    }
    CHOICES: ClassVar[Choices] = {"policy": ("process", "inline")}

    sim_env_yaml: str = ""
    """Id or file of the scene, for its task's words and rate; empty: none."""
    skill: str = ""
    """Skill of goals that name none."""
    rate_hz: float = 20.0
    """Rows a second of a skill without a manifest where there is no scene to say it."""
    policy: str = "process"
    """Where policies run: in a process of their own, or inline for lock-step."""
    policy_memory_gb: float = 0.0
    """Memory that a policy's process and all that it starts may use; 0: 75 % of the machine's."""
    policy_tasks: int = 0
    """Processes and threads that a policy may have; 0: 128, or four a core."""
    policy_folders: list[str] = field(default_factory=list)
    """Where a policy may write, besides a temporary folder and the user's cache."""
    control_modes: list[str] = field(default_factory=list)
    """Modes that the HAL can execute; empty: the HAL node is asked."""
    hal_node: str = "/hal"
    """The HAL node."""
    load_timeout_s: float = 120.0
    """Longest time that loading a skill may take, real time."""
    answer_timeout_s: float = 10.0
    """Longest time that an answer may take where the manifest does not say, real time."""
    wait_s: float = 10.0
    """How long a goal waits for observations, for the HAL and for the kernel to be armed."""
    drop_patience_s: float = 3.0
    """How long a motion that the kernel drops is proposed again before the goal is given up."""
    real_time: bool = False
    """Wall-clock deadlines although simulated time could wait for this node."""
    lead_s: float = 0.01
    """How long before the end of a chunk the next one is proposed, on the graph's clock."""
