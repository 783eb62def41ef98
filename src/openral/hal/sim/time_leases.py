"""TimeLeases: keeps simulated time from advancing past the leases of the nodes that need it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from openral.graph.deadlines import SILENT_S
from openral.graph.ports import Ports
from openral.graph.time_lease import TOPIC, TYPE
from openral.ros.clock import NS
from openral.ros.qos import STATE
from openral.ros.stamps import time_ns

_SAY_AFTER_S = 2.0
ASTRAY_NS = NS // 2
MOST_HOLDERS = 64


@dataclass(frozen=True, slots=True)
class _Lease:
    until_ns: int
    waits_for: str
    received_s: float


class TimeLeases:
    """Leases arrive on the executor's thread; the simulation's thread calls `may_reach`."""

    def __init__(
        self, wake: Callable[[], None], steady: Callable[[], float] = time.monotonic
    ) -> None:
        """`wake` is called when a lease has changed; `steady` returns wall time in s."""
        self._wake, self._steady = wake, steady
        self._leases: dict[str, _Lease] = {}
        self._sealed: set[str] = set()
        self._log: Any = None
        self._blocked_s: float | None = None
        self._said = False
        self.waits_for = ""
        """The holder that simulated time waits for, and its input; empty: none."""

    def open(self, ports: Ports) -> None:
        """Subscribes; earlier leases do not count."""
        self._log = ports.node.log
        self._leases.clear()
        self._sealed.clear()
        ports.subscribe(TYPE, TOPIC, self.received, STATE)
        ports.subscribe_sealed(TYPE, TOPIC, self._received_sealed, STATE)
        ports.at_end(self._leases.clear)

    def __len__(self) -> int:
        """Number of lease holders."""
        return len(self._leases)

    def _received_sealed(self, lease: Any) -> None:
        self._sealed.add(str(lease.holder)[:80])
        self.received(lease, sealed=True)

    def received(self, lease: Any, sealed: bool = False) -> None:
        """Takes a TimeLease; from a holder that seals its leases, only sealed ones count."""
        until_ns = time_ns(lease.until)
        holder = str(lease.holder)[:80]
        if holder in self._sealed and not sealed:
            return
        if until_ns <= 0:
            self._leases.pop(holder, None)
        elif holder in self._leases or len(self._leases) < MOST_HOLDERS:
            waits_for = str(lease.waits_for)[:80]
            self._leases[holder] = _Lease(until_ns, waits_for, self._steady())
        self._wake()

    def may_reach(self, graph_ns: int) -> bool:
        """Whether simulated time may advance to `graph_ns`, in ns of graph time."""
        if not self._leases:
            return self._free()
        now = self._steady()
        for holder, lease in list(self._leases.items()):
            if graph_ns <= lease.until_ns:
                continue
            if lease.until_ns < graph_ns - ASTRAY_NS and holder not in self._sealed:
                continue  # time cannot have passed it: its holder uses another clock
            if now - lease.received_s > SILENT_S:
                self._leases.pop(holder, None)
                self._log.warning("simulated time waits no longer: silent", holder=holder)
                continue
            self._wait(holder, lease, now)
            return False
        return self._free()

    def _free(self) -> bool:
        self._blocked_s, self._said, self.waits_for = None, False, ""
        return True

    def _wait(self, holder: str, lease: _Lease, now: float) -> None:
        self.waits_for = f"{holder}: {lease.waits_for}" if lease.waits_for else holder
        if self._blocked_s is None:
            self._blocked_s = now
        if now - self._blocked_s > _SAY_AFTER_S and not self._said:
            self._said = True
            self._log.info("simulated time waits", waits_for=self.waits_for)
