"""Makes a calibration: with torque off, an operator moves the arm; the servos are then set up.

1. The operator puts every joint near the middle of its travel: the servo's homing offset makes that
   tick 2048, so that the whole travel lies clear of the wrap-around between 4095 and 0.
2. The operator moves every joint from stop to stop: the extremes are recorded.
3. The zero of each joint follows from centring its travel on the manifest's limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Literal

from openral.errors import ConfigError, choices
from openral.hal.drivers.feetech.bus import Bus
from openral.hal.drivers.feetech.calibration import (
    RADIANS_PER_TICK,
    RANGE_TOLERANCE,
    Calibration,
    JointCalibration,
    require_fit,
)
from openral.hal.drivers.feetech.registers import (
    CENTRE,
    HOMING_OFFSET,
    LOCK,
    MAX_POSITION,
    MIN_POSITION,
    OPERATING_MODE,
    POSITION_MODE,
    PRESENT_POSITION,
    RETURN_DELAY,
    TICKS,
    TORQUE_ENABLE,
    Register,
)
from openral.manifest import RobotDescription
from openral.manifest.joint import Joint

Ranges = dict[str, tuple[int, int]]


class Calibrator:
    """The calibration in steps, for a command line or a test to guide the operator."""

    def __init__(
        self,
        bus: Bus,
        robot: RobotDescription,
        ids: dict[str, int] | None = None,
        reverse: Collection[str] = (),
    ) -> None:
        """`ids`: by joint, by default 1, 2, … in the manifest's order. `reverse`: direction -1."""
        names = robot.joint_names
        for name in [*(ids or {}), *reverse]:
            if name not in names:
                raise ConfigError(f"no joint '{name}'; {choices(name, names, 'joints')}")
        self.bus, self.robot, self.reverse = bus, robot, set(reverse)
        self.ids = {name: index + 1 for index, name in enumerate(names)} | (ids or {})

    def relax(self) -> None:
        """Switches torque off, so that the arm can be moved by hand: support it first."""
        for servo in self.ids.values():
            self.bus.put(servo, TORQUE_ENABLE, 0)

    def set_middle(self) -> dict[str, int]:
        """Makes the present pose the middle of every servo's ticks; returns the homing offsets."""
        offsets = {}
        for name, servo in self.ids.items():
            settings = {OPERATING_MODE: POSITION_MODE, RETURN_DELAY: 0}
            settings |= {MIN_POSITION: 0, MAX_POSITION: TICKS - 1, HOMING_OFFSET: 0}
            self._configure(servo, settings)
            raw = self.bus.get(servo, PRESENT_POSITION) % TICKS
            low, high = HOMING_OFFSET.limits
            offsets[name] = min(max(raw - CENTRE, low), high)
            self._configure(servo, {HOMING_OFFSET: offsets[name]})
        return offsets

    def sweep(self, finished: Callable[[Ranges], bool]) -> Ranges:
        """Records every joint's extreme ticks; calls `finished` with them after every read."""
        ranges: Ranges = {}
        while True:
            now = self.bus.sync_get(list(self.ids.values()), PRESENT_POSITION)
            for name, servo in self.ids.items():
                low, high = ranges.get(name, (now[servo], now[servo]))
                ranges[name] = (min(low, now[servo]), max(high, now[servo]))
            if finished(ranges):
                return ranges

    def finish(self, offsets: dict[str, int], ranges: Ranges) -> Calibration:
        """Checks the result against the manifest, then stores each range in its servo."""
        joints = {
            joint.name: self._fit(joint, offsets[joint.name], ranges[joint.name])
            for joint in self.robot.driven
        }
        calibration = Calibration(robot=self.robot.id, joints=joints)
        require_fit(calibration, self.robot, "calibration")
        for joint in joints.values():
            low, high = joint.range
            self._configure(joint.id, {MIN_POSITION: low, MAX_POSITION: high})
        return calibration

    def _fit(self, joint: Joint, offset: int, travel: tuple[int, int]) -> JointCalibration:
        direction: Literal[1, -1] = -1 if joint.name in self.reverse else 1
        low, high = joint.position_range
        middle = (low + high) / 2 / RADIANS_PER_TICK
        centre = (travel[0] + travel[1]) / 2
        spare = (travel[1] - travel[0]) * RADIANS_PER_TICK - (high - low)
        if spare > 2 * RANGE_TOLERANCE:  # no stops on this joint: use the middle pose
            centre = CENTRE
            half = (high - low) / 2 / RADIANS_PER_TICK
            travel = (math.ceil(centre - half), math.floor(centre + half))
        return JointCalibration(
            id=self.ids[joint.name],
            homing_offset=offset,
            zero=round(centre - direction * middle),
            range=(max(0, travel[0]), min(TICKS - 1, travel[1])),
            direction=direction,
        )

    def _configure(self, servo: int, settings: dict[Register, int]) -> None:
        """Writes EEPROM registers and locks them: an unlocked servo can lose its settings."""
        self.bus.put(servo, LOCK, 0)
        try:
            for register, value in settings.items():
                self.bus.put(servo, register, value)
        finally:
            self.bus.put(servo, LOCK, 1)
