"""How a run and its goals end."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


class RunEnded(Exception):  # noqa: N818 - an end is not always an error
    """Raised wherever the supervisor detects that the run is over."""

    def __init__(self, reason: str, code: int, is_fault: bool = False) -> None:
        """`code` is the command's exit code: 0 for a normal end, 1 for a fault or failed skill."""
        super().__init__(reason)
        self.reason, self.code, self.is_fault = reason, code, is_fault

    @classmethod
    def fault(cls, reason: str) -> RunEnded:
        """An end by a fault: the graph cannot continue and the robot is stopped."""
        return cls(reason, 1, True)


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
