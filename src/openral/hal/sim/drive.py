"""Applies commands to a rollout: within its control period if it can, else once a period."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from openral.errors import CapabilityMismatch, ConfigError, choices
from openral.graph.states import HalStatus
from openral.hal.execution.executor import Command
from openral.hal.sim.servos import ServoLead, TorqueMotors
from openral.manifest.skill import Representation
from openral.sim.rollout import ServoSteppable, SimRollout, Step

Vector = NDArray[np.float64]

SERVO_PERIOD_S = 0.004
STOP_S = 0.06
"""Time within which a stop ramps the joints down."""


class RolloutDrive(Protocol):
    """Advances a rollout by one tick."""

    tick_ns: int
    """Simulated time of a tick, in ns."""
    torque: bool
    """Whether it supports torque control."""
    brake_s: Vector | float
    """See ChunkExecutor."""
    ramp_s: float
    """See ChunkExecutor."""

    def apply(self, command: Command) -> None:
        """Sets the targets without advancing, if the backend can; a stop need not wait."""

    def advance(self, command: Command) -> Step | None:
        """Advances one tick under a command; returns the episode's step if a period ends."""

    def idle(self) -> None:
        """Advances one tick holding position."""

    def reset(self) -> None:
        """Call it when a new episode has begun."""


class ServoDrive:
    """Drives a rollout that accepts new targets within its control period."""

    def __init__(self, rollout: SimRollout) -> None:
        assert isinstance(rollout, ServoSteppable)
        self._rollout = rollout
        self._sim: SimRollout = rollout
        self._count = max(1, round(SERVO_PERIOD_S / rollout.timestep_s))
        self._done = 0
        self.tick_ns = round(self._count * rollout.timestep_s * 1e9)
        handles = self._sim.mujoco_handles()
        self._motors = TorqueMotors(self._sim.robot, handles) if handles else None
        self.torque = self._motors is not None
        self._lead = ServoLead(self._sim.robot, handles) if handles else None
        self.brake_s: Vector | float = self._lead.brake_s if self._lead else 0.0
        self.ramp_s = STOP_S if self._lead else 0.0
        self._told = self._sim.joint_positions()
        self._led = False

    def apply(self, command: Command) -> None:
        """Sets the targets, with a lead if they are a path, then the torques."""
        if self._motors is not None and (self._motors.any or command.torques is not None):
            self._motors.apply(None)
        led, self._led = self._led, command.path
        moved, self._told = command.positions - self._told, command.positions
        if self._lead and not led and command.motion.status is not HalStatus.EXECUTING:
            self._lead.rest(moved / (self.tick_ns * 1e-9))  # a stop may begin while the joints move
        self._rollout.command(command.positions + self._leading(moved))
        if self._motors is not None and command.torques is not None:
            self._motors.apply(command.torques)

    def _leading(self, moved: Vector) -> Vector | float:
        if self._lead is None:
            return 0.0
        if not self._led:
            self._lead.rest()
            return 0.0
        return self._lead.of(moved, self.tick_ns * 1e-9)

    def advance(self, command: Command) -> Step | None:
        """Runs the physics steps of a tick; a control period may end among them."""
        self.apply(command)
        left, step = self._count, None
        while left > 0:
            count = min(left, self._rollout.steps_per_period - self._done)
            self._rollout.physics_step(count)
            left -= count
            self._done += count
            if self._done == self._rollout.steps_per_period:
                self._done = 0
                step = self._rollout.end_period()
        return step

    def idle(self) -> None:
        """Runs physics steps that no episode counts."""
        if self._motors is not None and self._motors.any:
            self._motors.apply(None)
            self._told, self._led = self._sim.joint_positions(), True
        hold = self._told if self._led else self._sim.hold_action()
        self._led = False
        self._rollout.command(hold)
        self._rollout.physics_step(self._count)

    def reset(self) -> None:
        """Starts a full control period at the new episode's pose."""
        self._done = 0
        self._told, self._led = self._sim.joint_positions(), False
        if self._motors is not None:
            self._motors.apply(None)


class PeriodDrive:
    """Drives any rollout with joint-space actions, one control period per tick."""

    torque = False

    _ABLE = (
        Representation.JOINT_POSITION,
        Representation.JOINT_VELOCITY,
        Representation.JOINT_DELTA,
    )

    def __init__(self, rollout: SimRollout) -> None:
        self._rollout = rollout
        self._kind = rollout.action_representation
        if self._kind not in self._ABLE:
            able = [str(kind) for kind in self._ABLE]
            raise CapabilityMismatch(
                f"scene '{rollout.scene.id}' takes actions as {self._kind}; a HAL can drive "
                f"{choices(str(self._kind), able, 'these')}"
            )
        self._period_s = 1.0 / rollout.scene.control_rate_hz
        self.tick_ns = round(self._period_s * 1e9)
        self._before = rollout.joint_positions()
        self.brake_s: Vector | float = 0.0
        self.ramp_s = 0.0

    def apply(self, command: Command) -> None:
        """Does nothing: such a backend takes commands only when it is stepped."""

    def advance(self, command: Command) -> Step:
        """One step of the rollout."""
        return self._rollout.step(self._action(command))

    def idle(self) -> None:
        """Steps once with the backend's own hold action; the result is ignored."""
        self._rollout.step(self._rollout.hold_action())

    def reset(self) -> None:
        """Deltas count from the new pose."""
        self._before = self._rollout.joint_positions()

    def _action(self, command: Command) -> Vector:
        targets = command.positions
        still = np.array_equal(targets, self._before)
        moved, self._before = targets - self._before, np.array(targets)
        if still and command.motion.status is HalStatus.HOLDING:
            return self._rollout.hold_action()
        if self._kind is Representation.JOINT_POSITION:
            return targets
        return moved / self._period_s if self._kind is Representation.JOINT_VELOCITY else moved


def make_drive(rollout: SimRollout) -> RolloutDrive:
    """The drive that fits a rollout; a backend without a valid action width is refused by name."""
    scene, joints = rollout.scene.id, len(rollout.robot.driven)
    width = getattr(rollout, "action_dim", None)
    if not isinstance(width, int | np.integer) or width < 1:
        raise ConfigError(
            f"the backend of scene '{scene}' ({type(rollout).__name__}) does not tell its action "
            f"width: action_dim is {width!r}, not a number above 0"
        )
    drive: RolloutDrive
    if isinstance(rollout, ServoSteppable) and _takes_positions(rollout):
        drive = ServoDrive(rollout)
    else:
        drive = PeriodDrive(rollout)
    if width != joints:
        raise CapabilityMismatch(
            f"scene '{scene}' takes actions of {width} numbers, '{rollout.robot.id}' has {joints} "
            f"driven joints: {', '.join(rollout.robot.joint_names)}"
        )
    return drive


def _takes_positions(rollout: SimRollout) -> bool:
    return rollout.action_representation is Representation.JOINT_POSITION
