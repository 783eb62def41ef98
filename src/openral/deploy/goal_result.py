"""GoalResult: how one goal of a run ended, as reported in the summary."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class GoalResult:
    """Fields of ExecuteSkill's result; `duration` in s."""

    success: bool
    reason: str
    message: str
    chunks: int = 0
    refused: int = 0
    duration: float = 0.0

    @classmethod
    def of(cls, result: Any) -> GoalResult:
        """From the action's result message."""
        return cls(
            bool(result.success),
            result.reason,
            result.message,
            int(result.chunks),
            int(result.refused),
            float(result.duration),
        )

    @property
    def failure(self) -> str:
        """Why it failed; empty if it succeeded."""
        return "" if self.success else f"{self.reason}: {self.message}".rstrip(": ")

    def as_dict(self) -> dict[str, Any]:
        """The fields as a dictionary, for JSON."""
        return asdict(self)
