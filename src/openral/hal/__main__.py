"""Runs the HAL's node: `python -m openral.hal --autostart robot_yaml=ur5e hal_mode=sim`.

The run key is received over the socket that OPENRAL_RUN_KEY_FD names (see `run_key.RunKey.lent`).
Without `--autostart` the node waits to be configured and activated from outside.
"""

# The key is requested before the slow imports.
from __future__ import annotations

import sys

from openral.graph.run_key import RunKey
from openral.undumpable import make_undumpable

if __name__ == "__main__":
    make_undumpable()
    RunKey.receive_or_exit()

from openral.hal.node import ManifestHALLifecycleNode
from openral.hal.parameters import HalParameters
from openral.ros.lifecycle.program import run_program
from openral.ros.parameters.store import Value
from openral.ros.priority import raise_priority, settle_priority


def make(given: dict[str, Value]) -> ManifestHALLifecycleNode:
    """Makes the node. Its threads request real-time priority, except a simulation's own thread."""
    before = raise_priority()
    node = ManifestHALLifecycleNode(RunKey.inherited(), urgent=True, parameters=given)
    if node.settings.hal_mode == "sim":  # whose thread would use all the CPU time it can get
        settle_priority(before)
    return node


if __name__ == "__main__":
    sys.exit(run_program("openral.hal", __doc__, HalParameters.names(), make))
