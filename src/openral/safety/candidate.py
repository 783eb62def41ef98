"""What can be told from a candidate's bytes without decoding them."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from openral.ros.clock import NS

_STAMP = struct.Struct("<iII")
_ID = struct.Struct("<Q16s")
_BODY = 4
_LONGEST_FRAME = 256


@dataclass(frozen=True, slots=True)
class CandidateHead:
    """The first fields of an ActionChunk."""

    stamp_ns: int
    sequence: int
    trace_id: bytes


NO_HEAD = CandidateHead(0, 0, bytes(16))


def candidate_head(payload: bytes) -> CandidateHead:
    """The head of an ActionChunk's CDR; NO_HEAD where it is not one."""
    if len(payload) < _BODY + _STAMP.size or payload[:2] != b"\x00\x01":
        return NO_HEAD
    sec, nanosec, length = _STAMP.unpack_from(payload, _BODY)
    at = _BODY + (_STAMP.size + length + 7) // 8 * 8
    if length > _LONGEST_FRAME or len(payload) < at + _ID.size:
        return NO_HEAD
    return CandidateHead(sec * NS + nanosec, *_ID.unpack_from(payload, at))


class RateLimit:
    """Lets a burst pass and then so many a second; counts the rest."""

    def __init__(self, per_s: float, burst: int) -> None:
        self._per_s = per_s
        self._burst = float(burst)
        self._left = self._burst
        self._at = 0.0
        self.refused = 0

    def allow(self, now_s: float) -> bool:
        """Whether one more may pass at this (steady) time."""
        self._left = min(self._burst, self._left + (now_s - self._at) * self._per_s)
        self._at = now_s
        if self._left < 1.0:
            self.refused += 1
            return False
        self._left -= 1.0
        return True
