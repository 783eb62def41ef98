"""Message classes by short name: `from openral.ros.msg import JointState`.

`JointState(name=["elbow"], position=[0.5])` creates one; omitted fields have ROS's defaults.
"""

from __future__ import annotations

from typing import Any

from openral.ros.codec.short_names import full_name, names_of_kind
from openral.ros.codec.types import message_class


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    found = message_class(full_name("msg", name))
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(names_of_kind("msg"))
