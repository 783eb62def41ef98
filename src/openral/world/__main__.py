"""Runs the world's node: `python -m openral.world --autostart robot_yaml=panda_mobile`.

Without `--autostart` the node waits to be configured and activated from outside.
"""

from __future__ import annotations

import argparse
import gc
import sys

from openral.errors import OpenralError
from openral.ros import Outcome, spin
from openral.ros.given_parameters import given_parameters
from openral.world.node import WorldNode
from openral.world.world_parameters import WorldParameters

_NAMES = ["use_sim_time", *vars(WorldParameters())]


def main() -> int:
    """Exit code 1 if an automatic start fails, 2 for wrong usage."""
    parser = argparse.ArgumentParser(prog="python -m openral.world", description=__doc__)
    parser.add_argument("--autostart", action="store_true", help="configure and activate at once")
    parser.add_argument("parameters", nargs="*", metavar="name=value")
    options = parser.parse_args()
    try:
        node = WorldNode(parameters=given_parameters(options.parameters, _NAMES))
    except OpenralError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.autostart:
        for step in ("configure", "activate"):
            if node.trigger(step) is not Outcome.SUCCESS:
                print(f"error: cannot {step}: {node.failure_reason}", file=sys.stderr)
                node.destroy()
                return 1
    gc.collect()
    gc.freeze()  # what lives as long as the process need not be looked at again
    spin(node)
    gc.unfreeze()
    return 0


if __name__ == "__main__":
    sys.exit(main())
