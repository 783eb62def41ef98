"""StreamedHAL: a real robot that accepts joint targets at a constant rate, over any bus."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from openral.errors import OpenralError, SafetyViolation, TransportError
from openral.graph.states import HalStatus
from openral.hal.execution.executor import ChunkExecutor
from openral.hal.mobile_base import base_state
from openral.hal.protocols import BaseState
from openral.hal.snapshot import CommandedMotion, Snapshot, frozen
from openral.manifest import ControlMode, RobotDescription
from openral.ros.log import NodeLogger

Vector = NDArray[np.float64]

# Modes that cannot be executed by a stream of joint positions.
_BEYOND_POSITIONS = {ControlMode.JOINT_TORQUE, ControlMode.FOOT_PLACEMENT}


class Measured(Protocol):
    """What a driver measures, (dof,) in the manifest's order."""

    @property
    def positions(self) -> Vector:
        """In rad or m."""

    @property
    def velocities(self) -> Vector:
        """In rad/s or m/s."""

    @property
    def stamp_ns(self) -> int:
        """Wall time of the measurement, in ns."""


class JointDriver(Protocol):
    """What a driver must provide; `hold` and `estop` return once the robot has applied them."""

    def connect(self) -> None:
        """Connects to the robot, which holds its position."""

    def read_state(self) -> Measured:
        """A fresh measurement, or an error."""

    def send(self, positions: Any) -> None:
        """Commands a target for every joint, (dof,); SafetyViolation while stopped."""

    def hold(self, reason: str = "asked") -> None:
        """Holds the present position."""

    def estop(self, reason: str = "asked") -> None:
        """Stops and refuses targets until `clear_estop`."""

    def clear_estop(self) -> None:
        """Clears a stop without a jump."""

    def close(self) -> None:
        """Releases the robot in the way its hardware requires."""


class StreamedHAL:
    """Executes chunks on a thread of its own: measure, tick, send. Any fault is a latched stop."""

    def __init__(
        self, robot: RobotDescription, driver: JointDriver, *, rate_hz: float = 50.0
    ) -> None:
        self.robot, self.driver, self.rate_hz = robot, driver, rate_hz
        self.control_modes = frozenset(robot.control_modes) - _BEYOND_POSITIONS
        self.on_tick: Callable[[Snapshot], None] | None = None
        """Called on the HAL's own thread for each measurement; must be quick and not raise."""
        self._period_ns = round(1e9 / rate_hz)
        self._executor = ChunkExecutor(robot, self.control_modes)
        self._log = NodeLogger(f"hal.{robot.id}")
        self._bus = threading.Lock()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._snapshot: Snapshot | None = None
        self._fault: Exception | None = None
        self._sent = frozen([])
        self._told_until = 0

    def connect(self) -> None:
        """Connects the driver and starts the stream."""
        self.driver.connect()
        try:
            state = self.driver.read_state()
        except BaseException:
            self.driver.close()
            raise
        self._hold_at(state, "connected")
        self._ending.clear()
        self._thread = threading.Thread(target=self._run, name="openral-hal", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the stream, then closes the driver."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._ending.set()
        thread.join()
        self._snapshot, self._fault = None, None
        self.driver.close()

    def read_state(self) -> Snapshot:
        """The latest measurement; raises the driver's fault if it cannot measure."""
        if self._fault is not None:
            raise self._fault
        if self._snapshot is None:
            raise TransportError(f"'{self.robot.id}' is not connected")
        return self._snapshot

    def read_base(self) -> BaseState:
        """Odometry of a mobile base."""
        return base_state(self.robot, self.read_state())

    def send_action(self, chunk: Any, expires_ns: int | None = None) -> None:
        """Executes a chunk; see HAL."""
        self._require_connected()
        if expires_ns is not None:
            expires_ns += time.monotonic_ns() - time.time_ns()
        self._executor.submit(chunk, expires_ns)

    def hold(self, reason: str = "asked") -> None:
        """Drops the chunk in execution and brakes."""
        self._require_connected()
        self._executor.hold(reason)

    def estop(self, reason: str) -> None:
        """Stops; returns once the driver has confirmed, else raises."""
        self._require_connected()
        self._executor.stop(reason)
        with self._bus:
            self.driver.estop(reason)
            self._guarded_tick()

    def clear_estop(self) -> None:
        """Clears a stop or a fault: holds the present position."""
        self._require_connected()
        with self._bus:
            self.driver.clear_estop()
            state = self.driver.read_state()
            self._executor.clear()
            self._fault = None
            self._hold_at(state, "estop cleared")

    def _require_connected(self) -> None:
        if self._thread is None:
            raise TransportError(f"'{self.robot.id}' is not connected")

    def _run(self) -> None:
        due = time.monotonic_ns()
        while not self._ending.is_set():
            with self._bus:
                self._guarded_tick()
            due = max(due + self._period_ns, time.monotonic_ns())
            self._ending.wait((due - time.monotonic_ns()) * 1e-9)

    def _guarded_tick(self) -> None:
        try:
            self._tick()
            self._fault = None
        except Exception as error:
            if self._fault is None:
                self._log.error("stopped by a fault", error=str(error) or repr(error))
            self._fault = error
            if not self._executor.stopped:
                self._executor.stop(f"fault: {error}")
                self._try_to_stop(str(error))

    def _try_to_stop(self, reason: str) -> None:
        try:
            self.driver.estop(reason)
        except OpenralError as error:
            self._log.error("the stop is not confirmed", error=str(error))

    def _tick(self) -> None:
        state = self.driver.read_state()
        start, self._told_until = self._told_until, time.monotonic_ns() + self._period_ns
        command = self._executor.tick(start, self._told_until, state.positions, state.velocities)
        stopped = command.motion.status is HalStatus.STOPPED
        if not stopped and not np.array_equal(command.positions, self._sent):
            try:
                self.driver.send(command.positions)
                self._sent = command.positions
            except SafetyViolation:
                self._executor.stop("the driver is stopped")
        self._publish(state, command.motion)

    def _hold_at(self, state: Measured, reason: str) -> None:
        """Restarts the targets from the measured position, which the driver holds."""
        self._executor.seed(state.positions, reason)
        self._sent = frozen(state.positions)
        self._told_until = time.monotonic_ns()
        self._publish(state, self._executor.motion)

    def _publish(self, state: Measured, motion: CommandedMotion) -> None:
        self._snapshot = Snapshot(
            tuple(self.robot.joint_names),
            frozen(state.positions),
            frozen(state.velocities),
            state.stamp_ns,
            motion,
        )
        if self.on_tick is not None:
            self.on_tick(self._snapshot)
