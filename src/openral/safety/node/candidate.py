"""Reads a candidate's first fields without decoding it, and limits the rate of candidates."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from openral.ros.clock import NS

_STAMP = struct.Struct("<iII")
_ID = struct.Struct("<Q16s")
_BODY = 4
_LONGEST_FRAME = 256
_TIDY_S = 1.0


@dataclass(frozen=True, slots=True)
class CandidateHead:
    """The first fields of an ActionChunk; the stamp in ns."""

    stamp_ns: int
    sequence: int
    trace_id: bytes


NO_HEAD = CandidateHead(0, 0, bytes(16))


def candidate_head(payload: bytes) -> CandidateHead:
    """The head of an ActionChunk's CDR; NO_HEAD for bytes that are none."""
    if len(payload) < _BODY + _STAMP.size or payload[:2] != b"\x00\x01":
        return NO_HEAD
    sec, nanosec, length = _STAMP.unpack_from(payload, _BODY)
    at = _BODY + (_STAMP.size + length + 7) // 8 * 8
    if length > _LONGEST_FRAME or len(payload) < at + _ID.size:
        return NO_HEAD
    return CandidateHead(sec * NS + nanosec, *_ID.unpack_from(payload, at))


class RateLimit:
    """Token bucket: allows a burst, then `per_s` messages per second."""

    def __init__(self, per_s: float, burst: int) -> None:
        self.per_s = per_s
        self._burst = float(burst)
        self._left = self._burst
        self._at = 0.0

    def allow(self, now_s: float) -> bool:
        """Whether one more may pass at this time, in s of a steady clock."""
        self._left, self._at = self._at_time(now_s), now_s
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True

    def rested(self, now_s: float) -> bool:
        """Whether a whole burst may pass again at this time."""
        return self._at_time(now_s) >= self._burst

    def _at_time(self, now_s: float) -> float:
        return min(self._burst, self._left + (now_s - self._at) * self.per_s)


class FairLimit:
    """A rate that all sources share equally: one that floods takes nothing from the others.

    New sources find room: the known ones share the rate, while all together may use twice as much.
    """

    def __init__(self, per_s: float, burst: int) -> None:
        self._per_s, self._burst = per_s, burst
        self._all = RateLimit(2 * per_s, 2 * burst)
        self._sources: dict[int, RateLimit] = {}
        self._tidied_s = 0.0
        self.refused = 0

    def allow(self, now_s: float, source: int) -> bool:
        """Whether one more of this source may pass at this time, in s of a steady clock."""
        if now_s - self._tidied_s > _TIDY_S:
            self._tidied_s = now_s
            known = self._sources.items()
            self._share({s: limit for s, limit in known if not limit.rested(now_s)})
        own = self._sources.get(source)
        if own is None:
            own = RateLimit(self._per_s, self._burst)
            self._share({**self._sources, source: own})
        allowed = own.allow(now_s) and self._all.allow(now_s)
        self.refused += not allowed
        return allowed

    def _share(self, sources: dict[int, RateLimit]) -> None:
        self._sources = sources
        for limit in sources.values():
            limit.per_s = self._per_s / len(sources)
