"""The safety kernel's Python API: every motion is validated here before it is executed.

Names are imported on first use, so that importing a submodule alone does not load the kernel.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openral.graph.obstacles import Box as Box
    from openral.graph.obstacles import Capsule as Capsule
    from openral.graph.obstacles import Obstacle as Obstacle
    from openral.graph.obstacles import Sphere as Sphere
    from openral.graph.obstacles import VoxelGrid as VoxelGrid
    from openral.safety.kernel import Gate as Gate
    from openral.safety.kernel import Kernel as Kernel
    from openral.safety.kernel import Verdict as Verdict

_HOMES = {
    "Box": "openral.graph.obstacles",
    "Capsule": "openral.graph.obstacles",
    "Gate": "openral.safety.kernel",
    "Kernel": "openral.safety.kernel",
    "Obstacle": "openral.graph.obstacles",
    "Sphere": "openral.graph.obstacles",
    "Verdict": "openral.safety.kernel",
    "VoxelGrid": "openral.graph.obstacles",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'openral.safety' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)
