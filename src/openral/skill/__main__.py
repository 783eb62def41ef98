"""Runs the skill runner: `python -m openral.skill --autostart robot_yaml=ur5e skill=home`.

Without `--autostart` the node waits to be configured and activated from outside.
"""

from __future__ import annotations

import sys

from openral.ros.lifecycle.program import run_program
from openral.skill.runner.node import SkillRunnerNode
from openral.skill.runner.parameters import RunnerParameters

if __name__ == "__main__":
    names = ["use_sim_time", *RunnerParameters.names()]
    make = lambda given: SkillRunnerNode(parameters=given)  # noqa: E731
    sys.exit(run_program("openral.skill", __doc__, names, make))
