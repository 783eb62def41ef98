"""Counts malformed messages and logs the first one of each peer."""

from __future__ import annotations

from openral.ros.log import NodeLogger
from openral.ros.transport.transport import Reader

_MAX_PEERS = 256


class Faults:
    """Malformed messages received by one endpoint."""

    def __init__(self, log: NodeLogger, where: str) -> None:
        self.count = 0
        self._log = log
        self._where = where
        self._reported: set[int] = set()

    def add(self, reader: Reader | None, source: int, reason: str) -> None:
        """Counts one message; logs it if it is the first of its peer."""
        if source not in self._reported and len(self._reported) < _MAX_PEERS:
            self._reported.add(source)
            self._report(reader, source, reason)
        self.count += 1

    def _report(self, reader: Reader | None, source: int, reason: str) -> None:
        peer = reader.peer(source) if reader is not None else None
        name = peer.guid.hex() if peer is not None else f"unknown ({source})"
        self._log.warning(
            "message ignored", where=self._where, peer=name, reason=reason, reported="once per peer"
        )
