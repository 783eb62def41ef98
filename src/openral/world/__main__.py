"""Runs the world's node: `python -m openral.world --autostart robot_yaml=panda_mobile`.

Without `--autostart` the node waits to be configured and activated from outside.
"""

from __future__ import annotations

import sys

from openral.ros.node_program import run_program
from openral.world.node import WorldNode
from openral.world.world_parameters import WorldParameters

if __name__ == "__main__":
    names = ["use_sim_time", *WorldParameters.names()]
    make = lambda given: WorldNode(parameters=given)  # noqa: E731
    sys.exit(run_program("openral.world", __doc__, names, make))
