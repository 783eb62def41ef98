"""The servos of a MuJoCo model: lead compensation for tracking, and direct torque control."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from openral.manifest import RobotDescription
from openral.sim.rollout import MujocoHandles
from openral.sim.twin.binding import Binding

Vector = NDArray[np.float64]

_SMOOTHING = 0.3
_BRAKE_TIME_S = 0.015
_FRICTION_SPEED = 0.02


class TorqueMotors:
    """Switches joints between servo and motor; a motor's command is the joint's torque."""

    def __init__(self, robot: RobotDescription, handles: MujocoHandles) -> None:
        self._model, self._data = handles
        binding = Binding(robot, self._model)
        self._actuators = binding.ctrl
        self._arm = binding.leverage
        self._gain = self._model.actuator_gainprm[self._actuators].copy()
        self._bias = self._model.actuator_biasprm[self._actuators].copy()
        self._limited = self._model.actuator_ctrllimited[self._actuators].copy()
        self._on = np.zeros(len(self._actuators), dtype=bool)

    @property
    def any(self) -> bool:
        """Whether any joint is driven as a motor."""
        return bool(self._on.any())

    def apply(self, torques: Vector | None) -> None:
        """Drives joints with a torque (N·m or N) as motors, all others as servos.

        `torques`: (dof,), NaN for servos; None: no motors.
        """
        wanted = np.zeros_like(self._on) if torques is None else ~np.isnan(torques)
        for joint in np.flatnonzero(wanted != self._on):
            self._switch(int(joint), bool(wanted[joint]))
        self._on = wanted
        if torques is not None:
            joints = np.flatnonzero(wanted)
            self._data.ctrl[self._actuators[joints]] = torques[joints] / self._arm[joints]

    def _switch(self, joint: int, motor: bool) -> None:
        actuator = self._actuators[joint]
        model = self._model
        if motor:
            model.actuator_gainprm[actuator] = 0.0
            model.actuator_gainprm[actuator, 0] = 1.0
            model.actuator_biasprm[actuator] = 0.0
            model.actuator_ctrllimited[actuator] = 0
        else:
            model.actuator_gainprm[actuator] = self._gain[joint]
            model.actuator_biasprm[actuator] = self._bias[joint]
            model.actuator_ctrllimited[actuator] = self._limited[joint]


class ServoLead:
    """How far a target must lead so that a joint tracks a moving reference.

    A position servo lags by its damping, its load and its friction. Drivers of real robots
    compensate for that; the twin's lag is compensated here, because the safety kernel relies on
    joints that track the chunk.
    """

    def __init__(self, robot: RobotDescription, handles: MujocoHandles) -> None:
        self._model, self._data = handles
        model, binding = self._model, Binding(robot, self._model)
        self._dofs = binding.qvel
        actuators, arm = binding.ctrl, binding.leverage
        self._stiffness = -model.actuator_biasprm[actuators, 1] * arm**2
        passive = model.dof_damping.reshape(model.nv, -1)[self._dofs, 0]
        self._damping = passive - model.actuator_biasprm[actuators, 2] * arm**2
        # A brake adds the damping that the servo lacks to stop a joint within the time constant.
        inertia = 1.0 / model.dof_invweight0[self._dofs]
        lacking = np.maximum(inertia / _BRAKE_TIME_S - self._damping, 0.0)
        self.brake_s = np.asarray(lacking / self._stiffness)
        """How far a braking joint's target is behind it, in s times its speed."""
        self._friction = model.dof_frictionloss[self._dofs]
        self._force, self._acceleration = np.zeros(model.nv), np.zeros(model.nv)
        self.rest()

    def rest(self, speed: Vector | None = None) -> None:
        """Resets the reference to a standstill, or to a constant speed in rad/s or m/s."""
        self._speed = np.zeros(len(self._dofs)) if speed is None else speed
        self._smooth = np.zeros(len(self._dofs))

    def of(self, moved: Vector, seconds: float) -> Vector:
        """The lead, (dof,), for a reference that has moved by `moved` in `seconds`."""
        speed = moved / seconds
        # Rows are interpolated linearly: without smoothing each corner would be an impact.
        self._smooth += _SMOOTHING * ((speed - self._speed) / seconds - self._smooth)
        self._speed = speed
        self._acceleration[self._dofs] = self._smooth
        mujoco.mj_mulM(self._model, self._data, self._force, self._acceleration)
        load = self._force + self._data.qfrc_bias - self._data.qfrc_gravcomp
        effort = load[self._dofs] + self._damping * speed
        effort += self._friction * np.tanh(speed / _FRICTION_SPEED)
        return np.asarray(effort / self._stiffness)
