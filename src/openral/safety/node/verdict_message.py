"""Verdicts and failures as they go over the wire, and the span of a check."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from openral import tracing
from openral.errors import CorruptMessage
from openral.graph.states import Severity, VerdictStatus
from openral.manifest.control import ControlMode
from openral.ros import msg
from openral.ros.codec import types
from openral.ros.stamps import time_message
from openral.safety.kernel import Verdict
from openral.safety.node.candidate import CandidateHead

_VOXEL = "voxel_collision"
_MODES = {mode.value: mode.byte for mode in ControlMode}


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome of a candidate; `verdict` is None where the kernel was not called."""

    status: VerdictStatus
    reason: str
    detail: str
    verdict: Verdict | None
    check_s: float


class Place(NamedTuple):
    """A point in a frame, in m."""

    frame: str
    x: float
    y: float
    z: float


def verdict_message(
    decision: Decision,
    head: CandidateHead,
    payload: bytes,
    now_ns: int,
    warn_only: bool,
    place_of: Callable[[Sequence[int]], Place | None],
) -> msg.Verdict:
    """An openral_msgs/msg/Verdict; `place_of` returns the position of a voxel by its indices."""
    message = msg.Verdict(
        header=_header(now_ns),
        sequence=head.sequence,
        trace_id=np.frombuffer(head.trace_id, np.uint8),
        status=int(decision.status),
        reason=decision.reason,
        detail=decision.detail,
        warn_only=warn_only,
        check_time=decision.check_s,
    )
    if (verdict := decision.verdict) is not None:
        message.control_mode = _MODES.get(verdict.mode, 255)
        message.speed_factor = verdict.speed_factor
        message.row = verdict.row
        message.link = verdict.link or verdict.joint
        message.hit = _hit(verdict)
        if verdict.status == _VOXEL and (place := place_of(verdict.cell)) is not None:
            message.header.frame_id = place.frame
            point = {"x": place.x, "y": place.y, "z": place.z}
            message.hit_point = msg.Point(**point)
        message.distance, message.margin = verdict.value, verdict.limit
        if verdict.slot >= 0:
            message.slot = _slot_name(payload, verdict.slot)
    return message


def failure_message(
    severity: Severity, reason: str, detail: str, evidence: str, trace_id: bytes, now_ns: int
) -> msg.FailureTrigger:
    """An openral_msgs/msg/FailureTrigger of the kernel."""
    return msg.FailureTrigger(
        header=_header(now_ns),
        source="safety",
        severity=int(severity),
        reason=reason,
        detail=detail,
        evidence=evidence,
        trace_id=np.frombuffer(trace_id, np.uint8),
    )


def estop_event(source: str, reason: str, now_ns: int) -> msg.EStopEvent:
    """An openral_msgs/msg/EStopEvent."""
    return msg.EStopEvent(header=_header(now_ns), source=source, reason=reason)


def _header(now_ns: int) -> msg.Header:
    return msg.Header(stamp=time_message(now_ns))


def _hit(verdict: Verdict) -> str:
    if verdict.status == _VOXEL:
        return "voxel " + " ".join(map(str, verdict.cell))
    return verdict.other_link or verdict.object


def _slot_name(payload: bytes, slot: int) -> str:
    try:
        chunk = types.decode("openral_msgs/msg/ActionChunk", payload)
    except CorruptMessage:
        return str(slot)
    return chunk.slots[slot].name or str(slot) if slot < len(chunk.slots) else str(slot)


def trace_check(decision: Decision, trace_id: bytes, spent_ns: int, clearance_m: float) -> None:
    """Records a span that ends now, for a check that took `spent_ns`.

    `clearance_m`: at the measured pose.
    """
    attributes: dict[str, tracing.Attribute] = {
        "verdict": decision.status.name.lower(),
        "reason": decision.reason,
        "severity": _severity(decision),
        "clearance": clearance_m,
        "check_s": decision.check_s,
    }
    if (verdict := decision.verdict) is not None:
        attributes["mode"] = verdict.mode
        if decision.status == VerdictStatus.REJECTED:
            attributes |= {"value": float(verdict.value), "limit": float(verdict.limit)}
    with tracing.span("safety.check", trace_id, time.time_ns() - spent_ns, **attributes):
        pass


def _severity(decision: Decision) -> str:
    if decision.status == VerdictStatus.REJECTED:
        return "stop"
    return (
        "info" if decision.status == VerdictStatus.ACCEPTED and not decision.detail else "warning"
    )
