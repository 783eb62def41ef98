"""Runs the kernel node: `python -m openral.safety --autostart robot_yaml=ur5e hal_mode=sim`.

The run key is received over the socket that OPENRAL_RUN_KEY_FD names (see `run_key.RunKey.lent`).
Without `--autostart` the node waits to be configured and activated from outside. It never arms by
itself: that takes a call of /openral/reset.
"""

# The key is requested before the slow imports.
from __future__ import annotations

import sys

from openral.graph.run_key import RunKey
from openral.undumpable import make_undumpable

if __name__ == "__main__":
    make_undumpable()
    RunKey.receive_or_exit()

from openral.ros.lifecycle.program import run_program
from openral.ros.parameters.store import Value
from openral.ros.priority import urgent
from openral.safety.node.kernel_node import SafetyKernelNode
from openral.safety.node.parameters import KernelParameters


def make(given: dict[str, Value]) -> SafetyKernelNode:
    """Makes the node. Its receiving threads request real-time priority, and so does its own
    thread while the node is active."""
    with urgent():
        return SafetyKernelNode(RunKey.inherited(), urgent=True, parameters=given)


if __name__ == "__main__":
    names = ["use_sim_time", *KernelParameters.names()]
    sys.exit(run_program("openral.safety", __doc__, names, make))
