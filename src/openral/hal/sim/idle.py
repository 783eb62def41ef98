"""Decides when a simulation may be stepped without an action."""

from __future__ import annotations

HOLD_WINDOW_NS = 200_000_000


def should_idle_step(
    now_ns: int, last_action_ns: int | None, hold_ns: int = HOLD_WINDOW_NS
) -> bool:
    """Whether no action arrived within the window `hold_ns`; True if none ever arrived."""
    return last_action_ns is None or now_ns - last_action_ns >= hold_ns
