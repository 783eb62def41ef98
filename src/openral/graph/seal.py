"""Sealed SafeActions: the kernel signs what it approved, the HAL accepts nothing else.

The MAC comes first, and with an empty frame_id the chunk starts at a multiple of 8 bytes, so that
its CDR is used as received, without being decoded and encoded again.
"""

from __future__ import annotations

import hmac
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from openral.errors import ConfigError, CorruptMessage
from openral.graph.run_key import RunKey
from openral.ros import msg
from openral.ros.clock import NS
from openral.ros.codec import types
from openral.ros.codec.encoder import ENCAPSULATION
from openral.ros.stamps import stamp_ns, time_message, time_ns

SAFE_ACTION = "openral_msgs/msg/SafeAction"
MAC_BYTES = 32
_SIGNED = len(ENCAPSULATION) + MAC_BYTES
"""Offset of the signed bytes."""
# header (stamp, empty frame_id), epoch, sequence, expires, speed_factor
_PREFIX = struct.Struct("<iIIB3xQQiId")
CHUNK_AT = _SIGNED + _PREFIX.size
_FUTURE_NS = 100_000_000


class Seal:
    """Signs SafeActions, numbered from 1 within an epoch."""

    def __init__(self, key: RunKey, epoch: int) -> None:
        self._key = key.reveal()
        self.epoch = epoch
        self.sequence = 0

    def seal(self, chunk: bytes, now_ns: int, expires_ns: int, speed_factor: float = 1.0) -> bytes:
        """The CDR of a SafeAction around the CDR of an ActionChunk; times in ns of graph time."""
        if chunk[:2] != ENCAPSULATION[:2]:
            raise ConfigError(
                f"a chunk in encoding {chunk[:2].hex()} cannot be sealed; valid: 0001"
            )
        self.sequence += 1
        prefix = _PREFIX.pack(
            *divmod(now_ns, NS),
            1,
            0,
            self.epoch,
            self.sequence,
            *divmod(expires_ns, NS),
            speed_factor,
        )
        padding = bytes(-len(chunk) & 3)  # the transport would add it, and it must be signed too
        signed = b"".join((prefix, chunk[len(ENCAPSULATION) :], padding))
        return b"".join((ENCAPSULATION, hmac.digest(self._key, signed, "sha256"), signed))

    def seal_hold(self, now_ns: int, expires_ns: int, trace_id: bytes) -> bytes:
        """A SafeAction without rows: the HAL ends the running chunk and holds position."""
        header = msg.Header(stamp=time_message(now_ns))
        chunk = msg.ActionChunk(header=header, trace_id=trace_id)
        return self.seal(types.encode(chunk), now_ns, expires_ns)


@dataclass
class Refusals:
    """Counts refused actions by cause."""

    bad_mac: int = 0
    """Not signed with the run's key, or altered afterwards."""
    replayed: int = 0
    """Received before, or older than one that was."""
    expired: int = 0
    """Past its expiry, or stamped later than the clock."""
    corrupt: int = 0
    """Not a SafeAction at all."""

    @property
    def total(self) -> int:
        """All of them."""
        return self.bad_mac + self.replayed + self.expired + self.corrupt


class Gatekeeper:
    """The HAL's side: accepts each SafeAction of the run's kernel once, in order and in time."""

    def __init__(self, key: RunKey, clock: Callable[[], int]) -> None:
        """`clock` returns graph time in ns."""
        self._key = key.reveal()
        self._clock = clock
        self._last = (0, 0)
        self.refused = Refusals()
        self.last_refusal = ""
        """Why the last one was refused: a field of `Refusals`."""

    def check(self, payload: bytes | bytearray | memoryview) -> Any | None:
        """The SafeAction, or None if it must not be executed. Never raises on bad bytes."""
        data = bytes(payload)
        if len(data) < CHUNK_AT or data[: len(ENCAPSULATION)] != ENCAPSULATION:
            return self._refuse("corrupt")
        mac = hmac.digest(self._key, data[_SIGNED:], "sha256")
        if not hmac.compare_digest(mac, data[len(ENCAPSULATION) : _SIGNED]):
            return self._refuse("bad_mac")
        try:
            action = types.decode(SAFE_ACTION, data)
        except CorruptMessage:
            return self._refuse("corrupt")
        place = (action.epoch, action.sequence)
        if place <= self._last:
            return self._refuse("replayed")
        self._last = place
        now = self._clock()
        # An action stamped in the future was approved before the clock jumped back.
        if now > time_ns(action.expires) or stamp_ns(action) - now > _FUTURE_NS:
            return self._refuse("expired")
        return action

    def _refuse(self, cause: str) -> Any | None:
        setattr(self.refused, cause, getattr(self.refused, cause) + 1)
        self.last_refusal = cause
        return None
