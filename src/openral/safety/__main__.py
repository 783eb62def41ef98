"""Runs the kernel node: `python -m openral.safety --autostart robot_yaml=ur5e hal_mode=sim`.

The run key comes by the descriptor that OPENRAL_RUN_KEY_FD names (see `run_key.RunKey.lent`).
Without `--autostart` the node waits to be configured and activated from outside. It never arms by
itself: that takes a call of /openral/reset.
"""

from __future__ import annotations

import argparse
import gc
import sys

from openral import tracing
from openral.errors import OpenralError
from openral.ros import Outcome, spin
from openral.ros.given_parameters import given_parameters
from openral.ros.priority import raise_priority
from openral.safety.kernel_node import SafetyKernelNode
from openral.safety.kernel_parameters import KernelParameters
from openral.safety.run_key import RunKey

_NAMES = ["use_sim_time", *vars(KernelParameters())]


def main() -> int:
    """Exit code 1 if an automatic start fails, 2 for wrong usage."""
    parser = argparse.ArgumentParser(prog="python -m openral.safety", description=__doc__)
    parser.add_argument("--autostart", action="store_true", help="configure and activate at once")
    parser.add_argument("parameters", nargs="*", metavar="name=value")
    options = parser.parse_args()
    raise_priority()
    try:
        given = given_parameters(options.parameters, _NAMES)
        node = SafetyKernelNode(RunKey.inherited(), parameters=given)
    except OpenralError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    tracing.start("openral.safety")
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
    tracing.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
