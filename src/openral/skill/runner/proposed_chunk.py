"""Flight: one proposed chunk in execution, from its proposal to its last row."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openral.graph.states import HalStatus, VerdictStatus
from openral.ros.clock import NS
from openral.ros.stamps import stamp_ns
from openral.skill.spaces.action_space import SlotRows

Vector = NDArray[np.float64]


@dataclass
class ProposedChunk:
    """Tracks the progress of a chunk by received verdicts, applied actions and HAL states."""

    trace_id: bytes
    sequence: int
    slots: Sequence[SlotRows]
    dt: float
    """Seconds between rows, as proposed."""
    start: Vector
    """Joint positions (dof,) that the first row starts from."""
    proposed_ns: int
    policy_s: float = 0.0
    steady: Callable[[], float] = time.monotonic
    """Timeout clock for the verdict, in s."""
    verdict: Any = None
    """The kernel's Verdict, once received."""
    safe_sequence: int | None = None
    """Sequence number of the SafeAction, once the HAL has begun it."""
    rows_applied: int = 0
    applied_error: float = 0.0
    """Largest difference between a requested and an applied joint position."""
    tracking_error: float = 0.0
    """Largest difference between an applied and a measured joint position."""
    interrupted: str = ""
    """Why the HAL ended it early; empty: it did not."""
    _started_ns: float = 0.0

    def __post_init__(self) -> None:
        self._sent_s = self.steady()

    @property
    def waited_s(self) -> float:
        """Seconds since it was proposed."""
        return self.steady() - self._sent_s

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.slots[0].data)

    @property
    def accepted(self) -> bool:
        """Whether the kernel has accepted it, at full speed or slowed."""
        return self.verdict is not None and self.verdict.status in (
            VerdictStatus.ACCEPTED,
            VerdictStatus.SLOWED,
        )

    @property
    def row_ns(self) -> float:
        """Duration of a row in ns, stretched by the verdict's speed factor."""
        factor = float(self.verdict.speed_factor) if self.verdict is not None else 1.0
        return self.dt / (factor if factor > 0 else 1.0) * NS

    @property
    def end_ns(self) -> float:
        """When its last row is reached, in ns of graph time; only valid once accepted."""
        return self._started_ns + self.rows * self.row_ns

    def elapsed_s(self, now_ns: int) -> float:
        """Seconds since its execution began."""
        return max(0.0, (now_ns - self._started_ns) / NS)

    def over(self, now_ns: int) -> bool:
        """Whether it was refused, has finished or was interrupted."""
        if self.verdict is None:
            return False
        return not self.accepted or bool(self.interrupted) or now_ns >= self.end_ns

    def on_verdict(self, verdict: Any) -> None:
        """Processes a Verdict if it is for this chunk."""
        if self.verdict is None and bytes(verdict.trace_id) == self.trace_id:
            self._started_ns = float(stamp_ns(verdict))
            self.verdict = verdict

    def on_applied(self, applied: Any) -> None:
        """Processes an AppliedAction if it is for this chunk: it bounds when the HAL began."""
        if bytes(applied.trace_id) != self.trace_id:
            return
        self.safe_sequence = int(applied.sequence)
        self.rows_applied = max(self.rows_applied, int(applied.row) + 1)
        if len(applied.requested) == len(applied.applied):
            self.applied_error = max(
                self.applied_error, _distance(applied.requested, applied.applied)
            )
        if len(applied.measured) == len(applied.applied):
            self.tracking_error = max(
                self.tracking_error, _distance(applied.measured, applied.applied)
            )
        latest = stamp_ns(applied) - applied.row * self.row_ns
        self._started_ns = min(max(self._started_ns, latest - self.row_ns), latest)

    def on_hal_state(self, hal: Any) -> None:
        """Processes a HalState: the HAL may have ended the chunk before its last row."""
        mine = self.safe_sequence is not None and hal.sequence == self.safe_sequence
        if mine and hal.state != HalStatus.EXECUTING and hal.reason not in ("", "finished"):
            self.interrupted = hal.reason

    def record(self, now_ns: int) -> dict[str, Any]:
        """What was requested and what became of it, as a dictionary for JSON."""
        verdict = self.verdict
        return {
            "trace_id": self.trace_id.hex(),
            "sequence": self.sequence,
            "modes": [str(part.mode) for part in self.slots],
            "rows": self.rows,
            "dt": self.dt,
            "proposed_ns": self.proposed_ns,
            "ended_ns": now_ns,
            "policy_s": round(self.policy_s, 6),
            "verdict": "none" if verdict is None else str(verdict.reason),
            "accepted": self.accepted,
            "rows_applied": self.rows_applied,
            "applied_error": round(self.applied_error, 6),
            "tracking_error": round(self.tracking_error, 6),
            "interrupted": self.interrupted,
        }


def _distance(a: Any, b: Any) -> float:
    return float(np.abs(np.asarray(a, float) - np.asarray(b, float)).max(initial=0.0))
