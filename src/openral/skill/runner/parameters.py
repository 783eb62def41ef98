"""Parameters of the skill runner, fixed once it has started."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from openral.ros.parameters.node_settings import Choices, NodeSettings, Ranges


@dataclass(frozen=True)
class RunnerParameters(NodeSettings):
    """Parameters of a skill runner."""

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
    """Id or file of the scene, for its task's instruction and rate; empty: none."""
    skill: str = ""
    """Skill of goals that name none."""
    rate_hz: float = 20.0
    """Rows per second of a skill without a manifest, where there is no scene to define it."""
    policy: str = "process"
    """Where policies run: in their own process, or inline for lock-step, which waits for them."""
    policy_memory_gb: float = 0.0
    """Memory limit of a policy's process and its descendants; 0: 75 % of the machine's."""
    policy_tasks: int = 0
    """Limit of a policy's processes and threads; 0: 128, or four per core."""
    policy_folders: list[str] = field(default_factory=list)
    """Folders that a policy may write to, besides a temporary one and the user's cache."""
    control_modes: list[str] = field(default_factory=list)
    """Control modes that the HAL can execute; empty: the HAL node is queried."""
    hal_node: str = "/hal"
    """The HAL node."""
    load_timeout_s: float = 120.0
    """Time limit for loading a skill, wall clock."""
    answer_timeout_s: float = 10.0
    """Time limit for an answer, wall clock, where the manifest has none."""
    wait_s: float = 10.0
    """How long a goal waits for observations, for the HAL and for the kernel to be armed."""
    drop_patience_s: float = 3.0
    """How long a motion that the kernel drops is proposed again before the goal is aborted."""
    real_time: bool = False
    """Wall-clock deadlines although simulated time could wait for this node."""
    lead_s: float = 0.01
    """How long before the end of a chunk the next one is proposed, in graph time."""
