"""Runs the HAL's node: `python -m openral.hal --autostart robot_yaml=ur5e hal_mode=sim`.

The run key comes by the descriptor that OPENRAL_RUN_KEY_FD names (see `run_key.RunKey.lent`).
Without `--autostart` the node waits to be configured and activated from outside.
"""

from __future__ import annotations

import argparse
import gc
import sys

from openral import tracing
from openral.errors import OpenralError
from openral.hal.hal_parameters import HalParameters
from openral.hal.node import ManifestHALLifecycleNode
from openral.ros import Outcome
from openral.ros.executor import Executor
from openral.ros.given_parameters import given_parameters
from openral.ros.priority import raise_priority, settle_priority
from openral.safety.run_key import RunKey


def main() -> int:
    """Exit code 1 if an automatic start fails or the simulation ends by itself, 2: wrong usage."""
    parser = argparse.ArgumentParser(prog="python -m openral.hal", description=__doc__)
    parser.add_argument("--autostart", action="store_true", help="configure and activate at once")
    parser.add_argument("parameters", nargs="*", metavar="name=value")
    options = parser.parse_args()
    try:
        given = given_parameters(options.parameters, list(vars(HalParameters())))
        before = raise_priority()
        node = ManifestHALLifecycleNode(RunKey.inherited(), parameters=given)
        if node.settings.hal_mode == "sim":  # which would take all the time that it can get
            settle_priority(before)
    except OpenralError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    tracing.start("openral.hal")
    executor = Executor(node.context)
    broken: list[bool] = []

    def end() -> None:
        broken.append(True)
        executor.stop()

    node.on_broken = end
    try:
        if options.autostart:
            for step in ("configure", "activate"):
                if node.trigger(step) is not Outcome.SUCCESS:
                    print(f"error: cannot {step}: {node.failure_reason}", file=sys.stderr)
                    return 1
        executor.add_node(node)
        gc.collect()
        gc.freeze()  # what lives as long as the process need not be looked at again
        executor.spin()
        gc.unfreeze()
    finally:
        executor.shutdown()
        node.destroy()
        tracing.stop()
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
