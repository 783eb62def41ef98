"""Quality of service: delivery policies of endpoints, and a profile for each kind of data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class QoS:
    """Delivery policies of one endpoint; `depth` 0 keeps everything until it is read."""

    reliable: bool = True
    latched: bool = False
    """Late joiners receive the last `depth` messages (transient local)."""
    depth: int = 10

    def accepts(self, offered: QoS) -> bool:
        """Whether a subscription with this profile matches a publisher that offers `offered`."""
        return (offered.reliable or not self.reliable) and (offered.latched or not self.latched)

    def __str__(self) -> str:
        words = ["reliable" if self.reliable else "best-effort"]
        words += ["latched"] if self.latched else []
        return f"{', '.join(words)}, depth {self.depth or 'all'}"


DEFAULT = QoS()
SENSOR = QoS(reliable=False, depth=5)
"""Cameras, clouds, scans: only the newest matters, lost messages are not resent."""
COMMAND = QoS(reliable=True, depth=10)
STATE = QoS(reliable=True, depth=10)
LATCHED = QoS(reliable=True, latched=True, depth=1)
"""robot_description, tf_static, e-stop state: late joiners receive the last message."""
CLOCK = QoS(reliable=False, depth=1)
SERVICE = QoS(reliable=True, depth=0)
"""No request or reply may be dropped, however many are pending."""
PARAMETER_EVENTS = QoS(reliable=True, depth=1000)
ROSOUT = QoS(reliable=True, latched=True, depth=100)
ACTION_STATUS = LATCHED
GRAPH = LATCHED

PROFILES = {
    "default": DEFAULT,
    "sensor": SENSOR,
    "command": COMMAND,
    "state": STATE,
    "latched": LATCHED,
    "clock": CLOCK,
}


def as_qos(qos: QoS | int) -> QoS:
    """A QoS; a plain integer is a queue depth, as in rclpy."""
    return QoS(depth=qos) if isinstance(qos, int) else qos
