"""Runs a supervisor over small nodes: `supervise.py '[["a", "fault"], ...]' SECONDS`."""

from __future__ import annotations

import json
import sys

from openral.deploy.options import DeployOptions
from openral.deploy.plan import LaunchPlan, NodeSpec, Pulse
from openral.deploy.supervisor import Supervisor
from openral.ros.qos import DEFAULT
from openral.ros.transport.dds_config import Network

MODULE = "tests.deploy.programs.small_node"


def spec(name: str, fault: str) -> NodeSpec:
    pulse = Pulse(f"/{name}/pulse", "std_msgs/msg/String", DEFAULT, 1.0)
    return NodeSpec(
        name,
        MODULE,
        {"name": name, "fault": fault.removesuffix("?").removesuffix("!")},
        critical=not fault.endswith("?"),
        pulse=None if fault.endswith("!") else pulse,
    )


def main() -> int:
    nodes = tuple(spec(*pair) for pair in json.loads(sys.argv[1]))
    options = DeployOptions(robot_ref="ur5e", duration_s=float(sys.argv[2]))
    summary = Supervisor(LaunchPlan(options, nodes), Network.from_environment()).run()
    print(json.dumps(summary.as_dict()))
    return summary.exit_code


if __name__ == "__main__":
    sys.exit(main())
