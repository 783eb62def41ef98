"""FailureReports: publishes failures of the HAL node, each reason at most once a second."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from openral.graph.ports import Ports
from openral.graph.states import Severity
from openral.hal import topics
from openral.ros import msg
from openral.ros.qos import STATE
from openral.ros.stamps import time_message

NO_TRACE = bytes(16)
_EVERY_S = 1.0


class FailureReports:
    """Publishes on /openral/failure/hal, and logs."""

    def __init__(self, ports: Ports, now: Callable[[], int]) -> None:
        self._log, self._now = ports.node.log, now
        self._out = ports.publisher("openral_msgs/msg/FailureTrigger", topics.FAILURE, STATE)
        self._told: dict[str, float] = {}
        self.last = ""
        """The last failure, for diagnostics."""
        self.count = 0

    def report(
        self,
        severity: Severity,
        reason: str,
        detail: str,
        trace_id: bytes = NO_TRACE,
        evidence: Mapping[str, Any] | None = None,
    ) -> None:
        """Publishes and logs a failure, unless the same reason was within the last second."""
        self.count += 1
        self.last = f"{reason}: {detail}"
        steady = time.monotonic()
        if steady - self._told.get(reason, -_EVERY_S) < _EVERY_S:
            return
        self._told[reason] = steady
        tell = self._log.warning if severity is Severity.WARNING else self._log.error
        tell("failure", reason=reason, detail=detail)
        self._out.publish(
            lambda: msg.FailureTrigger(
                header=msg.Header(stamp=time_message(self._now())),
                source="hal",
                severity=int(severity),
                reason=reason,
                detail=detail,
                evidence=json.dumps(evidence or {}),
                trace_id=np.frombuffer(trace_id, np.uint8),
            )
        )
