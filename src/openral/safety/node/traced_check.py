"""The span of a kernel's check: what was judged, how it went and how near it was."""

from __future__ import annotations

import time

from openral import tracing
from openral.graph.states import VerdictStatus
from openral.safety.node.verdict_message import Decision


def trace_check(decision: Decision, trace_id: bytes, spent_ns: int, clearance_m: float) -> None:
    """A span that ends now, about a check that took so long, from a pose with so much room."""
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
