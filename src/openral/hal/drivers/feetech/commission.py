"""Checks before torque is switched on: the calibrated arm, without faults, within its range."""

from __future__ import annotations

from openral.errors import CapabilityMismatch, ConfigError, ServoFault
from openral.hal.drivers.feetech.bus import Bus
from openral.hal.drivers.feetech.calibration import RADIANS_PER_TICK, Calibration, JointCalibration
from openral.hal.drivers.feetech.protocol import fault_names
from openral.hal.drivers.feetech.registers import (
    ACCELERATION,
    GOAL_POSITION,
    GOAL_SPEED,
    HOMING_OFFSET,
    MAX_POSITION,
    MAX_TORQUE,
    MIN_POSITION,
    MODEL,
    MODEL_STS3215,
    OPERATING_MODE,
    POSITION_MODE,
    PRESENT_POSITION,
    TORQUE_LIMIT,
    Register,
)
from openral.manifest import RobotDescription
from openral.manifest.joint import Joint

# A joint at its stop may read slightly beyond the extreme recorded in calibration.
STOP_SLACK_TICKS = 40
_FASTEST = 254
_TICKS_PER_ACCELERATION = 100


def require_servos(bus: Bus, robot: RobotDescription, calibration: Calibration) -> None:
    """Raises unless every joint's own servo responds and is set up as calibrated."""
    for joint in robot.driven:
        servo = calibration.joints[joint.name]
        who = f"{bus.port.name}: servo {servo.id} of joint '{joint.name}'"
        if error := bus.ping(servo.id).error:
            raise ServoFault(f"{who} reports {', '.join(fault_names(error))}")
        if bus.is_shared(servo.id):
            raise ConfigError(f"{who}: more than one servo answers to id {servo.id}")
        _require(bus, servo.id, who, MODEL, MODEL_STS3215, "it is not an STS3215")
        _require(bus, servo.id, who, OPERATING_MODE, POSITION_MODE, "calibrate the arm again")
        other = "the calibration is of another arm or out of date; calibrate again"
        _require(bus, servo.id, who, HOMING_OFFSET, servo.homing_offset, other)
        _require(bus, servo.id, who, MIN_POSITION, servo.range[0], other)
        _require(bus, servo.id, who, MAX_POSITION, servo.range[1], other)


def hold_ticks(joint: Joint, servo: JointCalibration, present: int) -> int:
    """The goal tick that holds a joint's position; refuses one far outside its range."""
    low, high = servo.range
    if not low - STOP_SLACK_TICKS <= present <= high + STOP_SLACK_TICKS:
        raise CapabilityMismatch(
            f"joint '{joint.name}' stands at tick {present} ({servo.to_radians(present):.3f} rad), "
            f"outside its calibrated range [{low}, {high}]; move it back by hand or calibrate again"
        )
    return min(max(present, low), high)


def prepare_motion(bus: Bus, robot: RobotDescription, calibration: Calibration) -> dict[int, int]:
    """Sets speed, acceleration and torque limits and makes every goal the present position.

    Everything is read back; returns the goal ticks by servo. Torque may then be switched on without
    a jump.
    """
    goals = {}
    for joint in robot.driven:
        servo = calibration.joints[joint.name]
        bus.put(servo.id, GOAL_SPEED, speed_ticks(joint))
        bus.put(servo.id, ACCELERATION, _acceleration(joint))
        bus.put(servo.id, TORQUE_LIMIT, bus.get(servo.id, MAX_TORQUE))
        present = bus.get(servo.id, PRESENT_POSITION)
        goals[servo.id] = hold_ticks(joint, servo, present)
        bus.put(servo.id, GOAL_POSITION, goals[servo.id])
    return goals


def speed_ticks(joint: Joint, radians_per_second: float | None = None) -> int:
    """Speed for the servo's profile in ticks/s, by default the manifest's limit.

    Never 0, which means no limit.
    """
    assert joint.limits is not None
    limit = joint.limits.velocity
    speed = min(limit, radians_per_second) if radians_per_second else limit
    return max(1, min(int(speed / RADIANS_PER_TICK), GOAL_SPEED.limits[1]))


def _acceleration(joint: Joint) -> int:
    assert joint.limits is not None
    if joint.limits.acceleration is None:
        return _FASTEST
    ticks = joint.limits.acceleration / RADIANS_PER_TICK
    return max(1, min(int(ticks / _TICKS_PER_ACCELERATION), _FASTEST))


def _require(bus: Bus, servo: int, who: str, register: Register, value: int, why: str) -> None:
    found = bus.get(servo, register)
    if found != value:
        raise CapabilityMismatch(f"{who}: {register.name} is {found}, not {value}: {why}")
