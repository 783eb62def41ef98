"""The kernel node's state, as published in SafetyState."""

from __future__ import annotations

from openral.graph.states import SafetyMode
from openral.ros import msg
from openral.ros.stamps import time_message


class SafetyStatus:
    """Starts IDLE; nothing in here arms by itself."""

    def __init__(self, epoch: int, now_ns: int, warn_only: bool) -> None:
        self.epoch = epoch
        self.beat = 0
        self.mode = SafetyMode.IDLE
        self.source, self.reason = "kernel", "started"
        self.detail = "never armed: call /openral/reset"
        self.accepted = self.rejected = self.dropped = 0
        self._since_ns = now_ns
        self._warn_only = warn_only

    def enter(self, mode: SafetyMode, now_ns: int, source: str, reason: str, detail: str) -> None:
        """Changes the state."""
        self.mode = mode
        self._since_ns = now_ns
        self.source, self.reason, self.detail = source, reason, detail

    def message(self, now_ns: int, sequence: int) -> msg.SafetyState:
        """The next heartbeat as a message; `sequence`: of the last sealed action."""
        self.beat += 1
        return msg.SafetyState(
            header=msg.Header(stamp=time_message(now_ns)),
            epoch=self.epoch,
            beat=self.beat,
            state=int(self.mode),
            since=time_message(self._since_ns),
            source=self.source,
            reason=self.reason,
            detail=self.detail,
            warn_only=self._warn_only,
            sequence=sequence,
            accepted=self.accepted,
            rejected=self.rejected,
            dropped=self.dropped,
        )
