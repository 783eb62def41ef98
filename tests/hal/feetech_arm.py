"""A calibrated SO-101 for the tests: a simulator and the calibration file that fits it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from openral.hal.drivers.feetech.calibration import Calibration, JointCalibration
from openral.manifest import RobotDescription, dump_yaml, load_robot

from .feetech_simulator import FeetechSimulator

SO101 = load_robot("so101_follower")
PER_RADIAN = 4096 / (2 * math.pi)


def calibration_of(robot: RobotDescription) -> Calibration:
    """Every joint's travel centred on tick 2048; the second joint turns the other way."""
    joints = {}
    for index, joint in enumerate(robot.driven):
        low, high = joint.position_range
        half = (high - low) / 2 * PER_RADIAN + 20
        direction: Literal[1, -1] = -1 if index == 1 else 1
        joints[joint.name] = JointCalibration(
            id=index + 1,
            homing_offset=0,
            zero=round(2048 - direction * (low + high) / 2 * PER_RADIAN),
            range=(round(2048 - half), round(2048 + half)),
            direction=direction,
        )
    return Calibration(robot=robot.id, joints=joints)


def calibrate(simulator: FeetechSimulator, folder: Path) -> Path:
    """Sets the simulated servos up as calibrated and writes the file."""
    calibration = calibration_of(SO101)
    for joint in calibration.joints.values():
        simulator.put(joint.id, "min_position", joint.range[0])
        simulator.put(joint.id, "max_position", joint.range[1])
    path = folder / "calibration.yaml"
    path.write_text(dump_yaml(calibration))
    return path


def eventually(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.01)


def require_soft_release(simulator: FeetechSimulator) -> None:
    """Torque is off, after a ramp of falling torque limits that ends near nothing."""
    registers = simulator.registers()
    assert [servo["torque_enable"] for servo in registers.values()] == [0] * 6
    assert [servo["torque_limit"] for servo in registers.values()] == [1000] * 6
    for entries in simulator.history().values():
        off = max(at for at, entry in enumerate(entries) if entry == (40, [0]))
        limits = [d[0] + 256 * d[1] for address, d in entries[:off] if address == 48]
        ramp = limits[limits.index(950) :]
        assert ramp == sorted(ramp, reverse=True)
        assert ramp[-1] <= 50
