"""The tracing span of a kernel check: verdict, reason and clearance."""

from __future__ import annotations

import time

from openral import tracing
from openral.safety.node.verdict_message import ACCEPTED, REJECTED, Decision

_WORDS = {0: "accepted", 1: "slowed", 2: "rejected", 3: "dropped"}


def trace_check(decision: Decision, trace_id: bytes, spent_ns: int, clearance_m: float) -> None:
    """Records a span that ends now, for a check that took `spent_ns`.

    `clearance_m`: at the measured pose.
    """
    attributes: dict[str, tracing.Attribute] = {
        "verdict": _WORDS[decision.status],
        "reason": decision.reason,
        "severity": _severity(decision),
        "clearance": clearance_m,
        "check_s": decision.check_s,
    }
    if (verdict := decision.verdict) is not None:
        attributes["mode"] = verdict.mode
        if decision.status == REJECTED:
            attributes |= {"value": float(verdict.value), "limit": float(verdict.limit)}
    with tracing.span("safety.check", trace_id, time.time_ns() - spent_ns, **attributes):
        pass


def _severity(decision: Decision) -> str:
    if decision.status == REJECTED:
        return "stop"
    return "info" if decision.status == ACCEPTED and not decision.detail else "warning"
