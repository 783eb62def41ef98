"""GoalOrder and Ending: a checked ExecuteSkill goal and its outcome."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from openral.errors import ConfigError


@dataclass(frozen=True)
class GoalOrder:
    """What a client requests."""

    skill: str
    """Name of a skill or path of its manifest."""
    instruction: str = ""
    """The task in words; empty: the scene's."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Override those of the manifest."""
    seed: int = 0
    timeout_s: float = 0.0
    """In graph time; 0: no limit."""

    @classmethod
    def read(cls, goal: Any, default_skill: str) -> GoalOrder:
        """Reads a goal message; ConfigError for invalid fields."""
        skill = goal.skill or default_skill
        if not skill:
            raise ConfigError("the goal names no skill, and the runner has none by default")
        try:
            parameters = json.loads(goal.parameters or "{}")
        except json.JSONDecodeError as error:
            raise ConfigError(f"parameters of the goal are not JSON: {error}") from None
        if not isinstance(parameters, dict):
            raise ConfigError(f"parameters of the goal are {parameters!r}; valid: a JSON object")
        if not (math.isfinite(goal.timeout) and goal.timeout >= 0):
            raise ConfigError(f"timeout {goal.timeout} s of the goal is not valid; 0 or more")
        return cls(skill, goal.instruction, parameters, int(goal.seed), float(goal.timeout))


@dataclass(frozen=True)
class Ending:
    """How a goal ended."""

    success: bool
    reason: str
    """A code: done, failed, timeout, cancelled, refused, estopped, mismatch, policy_failed, ..."""
    message: str
    """One sentence."""
