"""Resolves a type by its short name alone: `JointState` → `sensor_msgs/msg/JointState`."""

from __future__ import annotations

from openral.errors import choices
from openral.ros.codec.types import registry

# Where two packages define the same short name, these packages are hardly ever meant.
_SECONDARY = ("actionlib_msgs", "type_description_interfaces")


def names_of_kind(kind: str) -> dict[str, list[str]]:
    """Maps short names to full names; services and actions without their derived messages."""
    found: dict[str, list[str]] = {}
    for name in registry.names(kind):
        short = name.rsplit("/", 1)[1]
        if kind == "msg" or "_" not in short:
            found.setdefault(short, []).append(name)
    return found


def full_name(kind: str, short: str) -> str:
    """The full name of a short name; AttributeError otherwise, as module `__getattr__` needs."""
    known = names_of_kind(kind)
    if short not in known:
        raise AttributeError(f"no {kind} type '{short}'; {choices(short, sorted(known))}")
    candidates = [n for n in known[short] if not n.startswith(_SECONDARY)] or known[short]
    if len(candidates) > 1:
        raise AttributeError(f"'{short}' is ambiguous; ask message_class() for one of {candidates}")
    return candidates[0]
