"""Write a HAL: connect a robot of your own to the graph.

    python examples/06_write_a_hal_driver.py

`StreamedHAL` executes chunks on a `JointDriver`, brakes, holds and stops. Installed under an entry
point, a robot's manifest can name it (`hal: {real: my_arm}`):

    [project.entry-points."openral.hal"]
    my_arm = "my_package.hal:MyArmHAL"
"""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np

from openral import ControlMode, RobotDescription, StreamedHAL, load_robot
from openral.ros import msg


class MyDriver:
    """Talks to the motors; this one only remembers where they were sent."""

    def __init__(self, robot: RobotDescription, port: str) -> None:
        self.position, self.port = np.array(robot.home_position), port

    # A real driver opens its port here, stops its motors, and lets them go at the end.
    def connect(self) -> None: ...
    def hold(self, reason: str = "asked") -> None: ...
    def estop(self, reason: str = "asked") -> None: ...
    def clear_estop(self) -> None: ...
    def close(self) -> None: ...

    def send(self, positions: np.ndarray) -> None:
        self.position = np.array(positions)

    def read_state(self) -> SimpleNamespace:
        q = self.position
        return SimpleNamespace(positions=q, velocities=0 * q, stamp_ns=time.time_ns())


class MyArmHAL(StreamedHAL):
    def __init__(self, robot: RobotDescription, *, port: str = "/dev/ttyACM0") -> None:
        super().__init__(robot, MyDriver(robot, port), rate_hz=100.0)


if __name__ == "__main__":
    robot = load_robot("so101_follower")
    hal = MyArmHAL(robot, port="none")
    hal.connect()  # the robot holds from here on
    rows = np.array(robot.home_position) + np.linspace(0.01, 0.1, 10)[:, None]
    mode = ControlMode.JOINT_POSITION.byte
    slot = msg.ActionSlot(control_mode=mode, width=rows.shape[1], data=rows.ravel())
    hal.send_action(msg.ActionChunk(control_mode=mode, dt=0.05, rows=len(rows), slots=[slot]))
    time.sleep(0.8)
    print(hal.read_state().motion.status.name, hal.read_state().positions.round(3))
    hal.close()
