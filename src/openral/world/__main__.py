"""Runs the world node: `python -m openral.world --autostart robot_yaml=panda_mobile`.

The run key is received on the socket that OPENRAL_RUN_KEY_FD names (see `run_key.RunKey.lent`).
Without `--autostart` the node waits to be configured and activated from outside.
"""

# The key is received before the slow imports.
from __future__ import annotations

import sys

from openral.graph.run_key import RunKey
from openral.undumpable import make_undumpable

if __name__ == "__main__":
    make_undumpable()
    RunKey.receive_or_exit()

from openral.ros.lifecycle.program import run_program
from openral.world.node import WorldNode
from openral.world.world_parameters import WorldParameters

if __name__ == "__main__":
    names = ["use_sim_time", *WorldParameters.names()]
    make = lambda given: WorldNode(RunKey.inherited(), parameters=given)  # noqa: E731
    sys.exit(run_program("openral.world", __doc__, names, make))
