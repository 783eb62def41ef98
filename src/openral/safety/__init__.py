"""The safety kernel's Python face: every motion passes here before it is applied.

Its names are imported when they are first asked for: whoever needs a topic's name needs no kernel.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openral.safety.kernel import Gate as Gate
    from openral.safety.kernel import Kernel as Kernel
    from openral.safety.kernel import Verdict as Verdict
    from openral.safety.obstacles import Box as Box
    from openral.safety.obstacles import Capsule as Capsule
    from openral.safety.obstacles import Obstacle as Obstacle
    from openral.safety.obstacles import Sphere as Sphere
    from openral.safety.obstacles import VoxelGrid as VoxelGrid

_HOMES = {
    "Box": "obstacles",
    "Capsule": "obstacles",
    "Gate": "kernel",
    "Kernel": "kernel",
    "Obstacle": "obstacles",
    "Sphere": "obstacles",
    "Verdict": "kernel",
    "VoxelGrid": "obstacles",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'openral.safety' has no attribute '{name}'")
    return getattr(importlib.import_module(f"openral.safety.{_HOMES[name]}"), name)
