"""The HAL's side of the gate: only actions sealed by the kernel move the robot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from openral import tracing
from openral.errors import CapabilityMismatch, ConfigError, SafetyViolation
from openral.graph import topics
from openral.graph.ports import Ports
from openral.graph.seal import Gatekeeper
from openral.hal.gate.hal_state import GateRecord
from openral.hal.graph_time import GraphTime
from openral.hal.protocols import HAL
from openral.ros.stamps import time_ns

Report = Callable[[str, str, bytes], None]
"""(reason, detail, trace id)"""


class SafeActionGate:
    """Passes sealed, fresh actions to the HAL while the kernel is trusted."""

    def __init__(
        self,
        hal: HAL,
        time: GraphTime,
        gatekeeper: Gatekeeper,
        record: GateRecord,
        may_move: Callable[[], bool],
        report: Report,
    ) -> None:
        """`may_move`: whether the kernel is alive, armed and trusted."""
        self._hal, self._time, self._gatekeeper = hal, time, gatekeeper
        self._record, self._may_move, self._report = record, may_move, report

    def open(self, ports: Ports) -> None:
        """Subscribes to SafeActions."""
        kind = "openral_msgs/msg/SafeAction"
        ports.subscribe(kind, topics.SAFE_ACTION, self.take, topics.COMMAND, raw=True)

    def take(self, payload: bytes) -> None:
        """Handles the CDR of a SafeAction."""
        action = self._gatekeeper.check(payload)
        if action is None:
            cause = self._gatekeeper.last_refusal
            self._report(cause, "an action without the kernel's valid seal was refused", bytes(16))
            return
        trace_id = bytes(bytearray(action.chunk.trace_id))
        if action.chunk.rows == 0:
            self._hal.hold("kernel")
            return
        if not self._may_move():
            self._record.held_back += 1
            self._report("not_armed", "the kernel is not known to be armed", trace_id)
            return
        with tracing.span("hal.send_action", trace_id, sequence=int(action.sequence)) as span:
            span.set(taken=self._execute(action, trace_id))

    def _execute(self, action: Any, trace_id: bytes) -> bool:
        # From here on an action is identified by the sequence number of its approval.
        action.chunk.sequence = action.sequence
        expires = time_ns(action.expires)
        try:
            self._hal.send_action(action.chunk, self._time.to_hal(expires))
        except (CapabilityMismatch, ConfigError) as error:
            self._record.unsupported += 1
            self._report("unsupported", str(error), trace_id)
            return False
        except SafetyViolation as error:
            self._record.held_back += 1
            self._report("stopped", str(error), trace_id)
            return False
        self._record.epoch, self._record.sequence = action.epoch, action.sequence
        return True
