"""/diagnostics: publishes the health of the HAL node once a second."""

from __future__ import annotations

from collections.abc import Callable

from openral.graph.ports import Ports
from openral.hal import topics
from openral.hal.graph_time import GraphTime
from openral.ros import msg
from openral.ros.qos import STATE
from openral.ros.stamps import time_message

_EVERY_S = 1.0
_OK, _WARN, _ERROR = 0, 1, 2


class DiagnosticsBridge:
    """Publishes values that the node gathers; a new failure makes the level ERROR."""

    def __init__(
        self, ports: Ports, name: str, clock: GraphTime, gather: Callable[[], dict[str, str]]
    ) -> None:
        """`gather` returns all values; `failures` is the number of failures, `failure` the last."""
        self._name, self._clock, self._gather = name, clock, gather
        kind = "diagnostic_msgs/msg/DiagnosticArray"
        self._out = ports.publisher(kind, topics.DIAGNOSTICS, STATE)
        self._failures = "0"
        ports.wall_timer(_EVERY_S, self.publish)

    def publish(self) -> None:
        """Publishes the present values."""
        values = self._gather()
        new, self._failures = values["failures"] != self._failures, values["failures"]
        level = _ERROR if new else _OK if values["kernel"] == "armed" else _WARN
        text = values["failure"] if new else f"{values['state']}, kernel {values['kernel']}"
        status = msg.DiagnosticStatus(
            level=level,
            name=f"hal: {self._name}",
            message=text,
            hardware_id=self._name,
            values=[msg.KeyValue(key=key, value=value) for key, value in values.items()],
        )
        header = msg.Header(stamp=time_message(self._clock.now()))
        self._out.publish(msg.DiagnosticArray(header=header, status=[status]))
