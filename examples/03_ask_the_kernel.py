"""Ask the safety kernel whether a motion is clear.

    python examples/03_ask_the_kernel.py

The kernel proves a whole chunk: the path from the measured state through every row, and the stop
after it. A rejected chunk latches the stop; the verdict names the link, what it hits, and where.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from openral import ControlMode, Kernel, Kinematics, load_robot
from openral.ros import msg
from openral.safety import Sphere


def straight_line(start: Any, goal: Any, seconds: float, stamp_ns: int) -> msg.ActionChunk:
    """A straight line in joint space, 20 rows a second."""
    rows = np.linspace(start, goal, round(20 * seconds) + 1)[1:]
    mode = ControlMode.JOINT_POSITION.byte
    slot = msg.ActionSlot(control_mode=mode, width=rows.shape[1], data=rows.ravel())
    stamp = msg.Time(sec=stamp_ns // 10**9, nanosec=stamp_ns % 10**9)
    header = msg.Header(stamp=stamp)
    return msg.ActionChunk(header=header, control_mode=mode, dt=0.05, rows=len(rows), slots=[slot])


def main() -> None:
    robot = load_robot("ur5e")
    kernel = Kernel(robot)
    now = time.time_ns()
    home = np.array(robot.home_position)
    left, half_way, right = home.copy(), home.copy(), home.copy()
    left[0], half_way[0], right[0] = home[0] + 1.0, home[0] + 0.5, home[0] - 1.0  # rad

    kernel.set_state(home, stamp_ns=now)
    kernel.set_world([], stamp_ns=now)
    print("empty cell:   ", kernel.validate(straight_line(home, left, 3.0, now), now))

    kinematics = Kinematics(robot)
    tool = kinematics.links.index(robot.end_effectors[0].link)
    x, y, z = kinematics.poses(half_way)[tool, :3, 3].tolist()
    kernel.set_world([Sphere("ball", (x, y, z), radius=0.05)], stamp_ns=now)
    print("with a ball:  ", kernel.validate(straight_line(home, left, 3.0, now), now))
    print("gate:         ", kernel.gate.name)

    kernel.reset()  # what an operator does after a look at the robot
    print("the other way:", kernel.validate(straight_line(home, right, 3.0, now), now))


if __name__ == "__main__":
    main()
