"""FeetechHAL: an SO-100 or SO-101 arm on its serial bus.

How it stops and ends:
- `hold`, and by default `estop`, hold position with torque on: an arm without brakes would fall.
- `close` parks the arm if a rest pose was given, then ramps the torque down and switches it off.
- However else the process ends (exception, SIGINT, SIGTERM, SIGKILL, a crash in native code), its
  guardian process ramps the torque down and switches it off.
- With the cable unplugged no process can reach the servos: they hold their last goal, and their own
  overload, temperature and voltage protections remain.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import numpy as np

from openral.errors import (
    ConfigError,
    SafetyViolation,
    ServoFault,
    TransportError,
    choices,
)
from openral.hal.drivers.feetech import commission
from openral.hal.drivers.feetech.bus import Bus
from openral.hal.drivers.feetech.calibration import RADIANS_PER_TICK, default_path, load_calibration
from openral.hal.drivers.feetech.guardian import Guardian
from openral.hal.drivers.feetech.port import open_port
from openral.hal.drivers.feetech.protocol import fault_names
from openral.hal.drivers.feetech.registers import (
    GOAL_POSITION,
    GOAL_SPEED,
    PRESENT_POSITION,
    PRESENT_SPEED,
    SNAPSHOT_SIZE,
    SNAPSHOT_START,
    TORQUE_ENABLE,
    from_snapshot,
)
from openral.hal.drivers.feetech.release import release
from openral.hal.drivers.feetech.snapshot import JointState, ServoHealth, health_of
from openral.hal.drivers.feetech.targets import require_pose, ticks_of
from openral.manifest import RobotDescription

EstopPolicy = Literal["hold", "release"]
_PARK_TOLERANCE = 0.05
_PARK_PERIOD = 0.05


class FeetechHAL:
    """The arm's driver: positions in rad, in the manifest's order. Thread-safe."""

    def __init__(
        self,
        robot: RobotDescription,
        *,
        port: str,
        baud_rate: int = 1_000_000,
        calibration: str | Path | None = None,
        rest_pose: Mapping[str, float] | None = None,
        estop_policy: EstopPolicy = "hold",
        ramp_seconds: float = 1.5,
        park_speed: float = 0.3,
        timeout: float = 0.02,
        attempts: int = 3,
    ) -> None:
        """Reads the calibration; touches no hardware.

        `rest_pose`: joint positions in rad at which `close` parks the arm. Parking is a straight
        line in joint space that no kernel has checked: give a rest pose only where that is clear,
        or move there through the graph before closing. `park_speed` is in rad/s, `timeout` in s.
        """
        if estop_policy not in ("hold", "release"):
            text = choices(estop_policy, ("hold", "release"))
            raise ConfigError(f"estop_policy '{estop_policy}' is not valid; {text}")
        path = Path(calibration).expanduser() if calibration else default_path(robot)
        self.robot = robot
        self.calibration = load_calibration(path, robot)
        self._joints = self.calibration.in_order(robot)
        self._ids = [joint.id for joint in self._joints]
        self._rest = require_pose(robot, self.calibration, rest_pose) if rest_pose else None
        self._port, self._baud_rate = port, baud_rate
        self._timeout, self._attempts = timeout, attempts
        self._ramp_seconds, self._park_speed = ramp_seconds, park_speed
        self._estop_policy = estop_policy
        self._lock = threading.RLock()
        self._bus: Bus | None = None
        self._guardian: Guardian | None = None
        self._goals: dict[int, int] = {}
        self._unheard = 0
        self._health: dict[str, ServoHealth] = {}
        self._stopped = False
        self._reason = ""
        self._limp = False

    @property
    def connected(self) -> bool:
        """Whether the port is open; the arm is then under torque or stopped."""
        return self._bus is not None

    @property
    def stopped(self) -> bool:
        """Whether an e-stop is latched."""
        return self._stopped

    @property
    def guardian_pid(self) -> int | None:
        """The process that releases the arm if this one cannot; None when not connected."""
        return self._guardian.pid if self._guardian else None

    @property
    def health(self) -> dict[str, ServoHealth]:
        """Load, voltage and temperature by joint, as of the last `read_state`."""
        return self._health

    @property
    def counters(self) -> dict[str, int]:
        """Statistics of the bus: requests, retries, missing and corrupt responses, fences."""
        return self.bus.counters.as_dict()

    @property
    def bus(self) -> Bus:
        """The open bus; TransportError when not connected."""
        if self._bus is None:
            raise TransportError(f"{self.robot.id} on {self._port} is not connected")
        return self._bus

    def connect(self) -> None:
        """Opens the port, checks every servo, and holds position."""
        with self._lock:
            if self._bus is not None:
                raise ConfigError(f"{self.robot.id} on {self._port} is connected already")
            port = open_port(self._port, self._baud_rate)
            try:
                bus = Bus(port, timeout=self._timeout, attempts=self._attempts)
                commission.require_servos(bus, self.robot, self.calibration)
                self._goals = commission.prepare_motion(bus, self.robot, self.calibration)
                self._guardian = Guardian(bus, self._ids, self._ramp_seconds)
            except BaseException:
                port.close()
                raise
            self._bus, self._unheard = bus, 0
            try:
                self._torque_on(self._ids)
            except BaseException:
                self._abandon()
                raise

    def read_state(self) -> JointState:
        """Measures positions and velocities; ServoFault names the joint of a faulty servo."""
        with self._lock:
            before = time.time_ns()
            answers = self.bus.sync_read(self._ids, SNAPSHOT_START, SNAPSHOT_SIZE)
            stamp = (before + time.time_ns()) // 2
            blocks = [answers[servo].parameters for servo in self._ids]
            names = self.robot.joint_names
            self._health = dict(zip(names, map(health_of, blocks), strict=True))
            for name, servo in zip(names, self._ids, strict=True):
                if answers[servo].error:
                    raise ServoFault(self._fault_text(name, servo, answers[servo].error))
            self._require_torque(blocks)
            self._require_guardian()
            self._repeat_lost_goals(blocks)
            ticks = [from_snapshot(PRESENT_POSITION, block) for block in blocks]
            speeds = [from_snapshot(PRESENT_SPEED, block) for block in blocks]
        scale = np.array([joint.direction * RADIANS_PER_TICK for joint in self._joints])
        zero = np.array([joint.zero for joint in self._joints])
        return JointState((np.array(ticks) - zero) * scale, np.array(speeds) * scale, stamp)

    def send(self, positions: Sequence[float]) -> None:
        """Commands a target for every joint (rad); if one is invalid, no joint moves."""
        goals = ticks_of(self.robot, self.calibration, positions)
        with self._lock:
            bus = self.bus
            if self._stopped:
                raise SafetyViolation(
                    f"{self.robot.id} is stopped ({self._reason}); clear the e-stop before it moves"
                )
            bus.sync_write(GOAL_POSITION, goals)
            self._goals, self._unheard = goals, 0

    def hold(self, reason: str = "asked") -> None:
        """Holds the present position, torque on; returns when every servo has confirmed."""
        del reason  # part of the contract; a position servo needs none
        with self._lock:
            present = self.bus.sync_get(self._ids, PRESENT_POSITION)
            self._goals = {
                servo.id: min(max(present[servo.id], servo.range[0]), servo.range[1])
                for servo in self._joints
            }
            self._confirm_goals()

    def estop(self, reason: str = "asked") -> None:
        """Latches a stop and refuses targets; returns when every servo has confirmed.

        Policy "hold" holds position under torque; "release" ramps the torque down to off.
        """
        self._reason = reason
        self._stopped = True  # first, so that targets are refused even if the bus fails
        with self._lock:
            if self._estop_policy == "release":
                self._limp = True
                release(self.bus, self._ids, self._ramp_seconds)
            else:
                self.hold()

    def clear_estop(self) -> None:
        """Clears an e-stop or a servo's fault: holds the present position, without a jump."""
        with self._lock:
            faulty = [servo for servo in self._ids if self.bus.ping(servo).error]
            for servo in faulty:
                self.bus.put(servo, TORQUE_ENABLE, 0)
            self._goals = commission.prepare_motion(self.bus, self.robot, self.calibration)
            self._torque_on(self._ids)
            self._stopped = False

    def close(self) -> None:
        """Parks if a rest pose was given, ramps the torque down to off and closes the port.

        Raises TransportError when that could not be confirmed; the guardian then tries once more.
        """
        with self._lock:
            if self._bus is None:
                return
            try:
                self._park()
                release(self._bus, self._ids, 0.0 if self._limp else self._ramp_seconds)
            except BaseException:
                self._abandon()
                raise
            if self._guardian:
                self._guardian.dismiss()
            self._forget()

    def __enter__(self) -> Self:
        self.connect()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _torque_on(self, servos: Sequence[int]) -> None:
        for servo in servos:
            self.bus.put(servo, TORQUE_ENABLE, 1)
        self._limp = False

    def _confirm_goals(self) -> None:
        for _ in range(self.bus.attempts):
            self.bus.sync_write(GOAL_POSITION, self._goals)
            if self.bus.sync_get(self._ids, GOAL_POSITION) == self._goals:
                return
        raise TransportError(f"{self._port}: the servos do not confirm their goals")

    def _require_guardian(self) -> None:
        if self._guardian and not self._guardian.alive:
            raise TransportError(
                f"{self._port}: the guardian process is gone; after a crash the arm would stay "
                "energised. Close and connect again"
            )

    def _require_torque(self, blocks: Sequence[bytes]) -> None:
        for name, servo, block in zip(self.robot.joint_names, self._ids, blocks, strict=True):
            if not self._limp and from_snapshot(TORQUE_ENABLE, block) == 0:
                raise ServoFault(
                    f"{self._port}: servo {servo} of joint '{name}' lost its torque; "
                    "did its power dip? clear_estop after checking"
                )

    def _repeat_lost_goals(self, blocks: Sequence[bytes]) -> None:
        """Sends lost goals again: they are not acknowledged, but the snapshot shows them."""
        lost = {
            servo: self._goals[servo]
            for servo, block in zip(self._ids, blocks, strict=True)
            if from_snapshot(GOAL_POSITION, block) != self._goals[servo]
        }
        self._unheard = self._unheard + 1 if lost else 0
        if self._unheard > self.bus.attempts:
            joints = [
                n for n, s in zip(self.robot.joint_names, self._ids, strict=True) if s in lost
            ]
            raise TransportError(f"{self._port}: targets do not arrive at {', '.join(joints)}")
        if lost:
            self.bus.sync_write(GOAL_POSITION, lost)

    def _park(self) -> None:
        if self._rest is None or self._stopped:
            return
        start = self.read_state().positions
        speeds = [commission.speed_ticks(joint, self._park_speed) for joint in self.robot.driven]
        self.bus.sync_write(GOAL_SPEED, dict(zip(self._ids, speeds, strict=True)))
        self.send(self._rest)
        furthest = float(np.abs(start - np.array(self._rest)).max())
        deadline = time.monotonic() + 1.0 + 2.0 * furthest / self._park_speed
        while time.monotonic() < deadline:
            if self._stopped:
                self.hold()
                return
            if np.abs(self.read_state().positions - np.array(self._rest)).max() < _PARK_TOLERANCE:
                return
            time.sleep(_PARK_PERIOD)

    def _fault_text(self, name: str, servo: int, error: int) -> str:
        return (
            f"{self._port}: servo {servo} of joint '{name}' reports "
            f"{', '.join(fault_names(error))} ({self._health[name]})"
        )

    def _abandon(self) -> None:
        """Leaves the arm to the guardian, which releases it at once."""
        if self._guardian:
            self._guardian.take_over()
        self._forget()

    def _forget(self) -> None:
        bus, self._bus, self._guardian = self._bus, None, None
        if bus:
            bus.close()
