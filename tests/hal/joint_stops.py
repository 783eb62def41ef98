"""How a simulated robot stops: a joint at its full speed, then an e-stop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from openral.hal.build import build_hal
from openral.hal.sim.attached import SimAttachedHAL
from openral.manifest import RobotDescription
from openral.manifest.joint import Joint, JointRole
from tests.hal.chunks import joint_chunk

STILL = 0.05
"""rad/s or m/s below which a joint counts as standing."""
_DT_S = 0.02


@dataclass(frozen=True)
class JointStop:
    joint: str
    wanted: float
    """Speed that was commanded."""
    reached: float
    """Speed when the stop came."""
    after: float
    """Largest speed of any joint 150 ms later."""
    jump: float
    """How far any joint then moves in half a second after the stop is taken back."""


def stoppable(robot: RobotDescription) -> list[Joint]:
    return [j for j in robot.driven if j.role not in (JointRole.GRIPPER, JointRole.HAND)]


def top_speed(robot: RobotDescription, joint: Joint) -> float:
    assert joint.limits is not None
    speed, safety = joint.limits.velocity, robot.safety
    if joint.name in robot.base_joints:
        cap = safety.base_linear_m_s if joint.linear else safety.base_angular_rad_s
        speed = min(speed, cap or speed)
    return speed


def measure_stop(robot: RobotDescription, joint: Joint) -> JointStop:
    """The faster of both directions: in one of them the robot may be in its own way."""
    return max(
        (_measure(robot, joint, sign) for sign in (1.0, -1.0)),
        key=lambda stop: stop.reached,
    )


def _measure(robot: RobotDescription, joint: Joint, sign: float) -> JointStop:
    speed = top_speed(robot, joint)
    hal = build_hal(robot, "sim")
    assert isinstance(hal, SimAttachedHAL)
    hal.connect()
    try:
        column, home = robot.joint_names.index(joint.name), np.array(robot.home_position)
        low, high = joint.position_range
        room = 0.9 * (high - home[column] if sign > 0 else home[column] - low)
        rows = int(np.clip(room / speed / _DT_S, 2, 25))
        path = np.repeat(home[None], rows, axis=0)
        ease = np.minimum(np.arange(1, rows + 1) / max(1.0, 0.6 * rows), 1.0)
        path[:, column] = np.clip(home[column] + sign * speed * _DT_S * np.cumsum(ease), low, high)
        hal.send_action(joint_chunk(path, dt=_DT_S))
        _run(hal, 0.9 * rows * _DT_S)
        reached = abs(float(hal.read_state().velocities[column]))
        hal.estop("test")
        _run(hal, 0.15)
        after = hal.read_state().fastest_joint
        _run(hal, 0.3)
        place = hal.read_state().positions
        hal.clear_estop()
        _run(hal, 0.5)
        jump = float(np.abs(hal.read_state().positions - place).max())
        return JointStop(joint.name, speed, reached, after, jump)
    finally:
        hal.close()


def _run(hal: SimAttachedHAL, seconds: float) -> None:
    for _ in range(round(seconds * 1e9 / hal.tick_ns)):
        hal.step()
