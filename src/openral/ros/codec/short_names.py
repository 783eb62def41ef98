"""Finds a type by its last name alone: `JointState` → `sensor_msgs/msg/JointState`."""

from __future__ import annotations

from openral.errors import choices
from openral.ros.codec.types import registry

# Where two packages use a name, these are the ones that are hardly ever meant.
_SECONDARY = ("actionlib_msgs", "type_description_interfaces")


def names_of_kind(kind: str) -> dict[str, list[str]]:
    """Short name → full names. Of services and actions only the whole, not their parts."""
    found: dict[str, list[str]] = {}
    for name in registry.names(kind):
        short = name.rsplit("/", 1)[1]
        if kind == "msg" or "_" not in short:
            found.setdefault(short, []).append(name)
    return found


def full_name(kind: str, short: str) -> str:
    """The type that a short name means; AttributeError, because modules ask on behalf of users."""
    known = names_of_kind(kind)
    if short not in known:
        raise AttributeError(f"no {kind} type '{short}'; {choices(short, sorted(known))}")
    candidates = [n for n in known[short] if not n.startswith(_SECONDARY)] or known[short]
    if len(candidates) > 1:
        raise AttributeError(f"'{short}' is ambiguous; ask message_class() for one of {candidates}")
    return candidates[0]
