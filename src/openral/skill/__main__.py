"""Runs the skill runner: `python -m openral.skill --autostart robot_yaml=ur5e skill=home`.

Without `--autostart` the node waits to be configured and activated from outside.
"""

from __future__ import annotations

import argparse
import sys

from openral import tracing
from openral.errors import OpenralError
from openral.ros import Outcome, spin
from openral.ros.given_parameters import given_parameters
from openral.skill.runner_node import SkillRunnerNode
from openral.skill.runner_parameters import RunnerParameters

_NAMES = ["use_sim_time", *vars(RunnerParameters())]


def main() -> int:
    """Exit code 1 if an automatic start fails, 2 for wrong usage."""
    parser = argparse.ArgumentParser(prog="python -m openral.skill", description=__doc__)
    parser.add_argument("--autostart", action="store_true", help="configure and activate at once")
    parser.add_argument("parameters", nargs="*", metavar="name=value")
    options = parser.parse_args()
    try:
        given = given_parameters(options.parameters, _NAMES)
        node = SkillRunnerNode(parameters=given)
    except OpenralError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    tracing.start("openral.skill")
    if options.autostart:
        for step in ("configure", "activate"):
            if node.trigger(step) is not Outcome.SUCCESS:
                print(f"error: cannot {step}: {node.failure_reason}", file=sys.stderr)
                node.destroy()
                return 1
    spin(node)
    tracing.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
