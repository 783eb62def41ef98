"""Load a robot, look at what its manifest says, and check the manifest against its twin.

    python examples/01_load_and_check_a_robot.py ur5e

A robot is one `robot.yaml`. `check_robot` compares it with the MuJoCo model made from it: forward
kinematics, masses, capsules around the links, joint limits and the home pose.
"""

from __future__ import annotations

import sys

from openral import Kinematics, check_robot, load_robot


def main(robot_id: str = "ur5e") -> int:
    robot = load_robot(robot_id)  # an id, a folder or a file
    print(f"{robot.name}: {len(robot.driven)} driven joints, {len(robot.links)} links")
    for joint in robot.driven:
        low, high = joint.position_range
        print(f"  {joint.name:<22} {joint.type:<10} {low:+.2f} to {high:+.2f} rad or m")

    tool = robot.end_effectors[0]
    kinematics = Kinematics(robot)
    pose = kinematics.poses(robot.home_position)[kinematics.links.index(tool.link)]  # 4x4
    print(f"at home '{tool.link}' is at {pose[:3, 3].round(3)} m in the root frame")

    report = check_robot(robot_id)
    for finding in report.findings:
        print(f"  {'ok  ' if finding.ok else 'FAIL'} {finding.check}: {finding.detail}")
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
