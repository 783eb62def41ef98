"""TorqueMotors: position servos of a MuJoCo model driven as plain motors for a while."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openral.manifest import RobotDescription
from openral.sim.binding import Binding
from openral.sim.rollout import MujocoHandles

Vector = NDArray[np.float64]


class TorqueMotors:
    """Switches joints between servo and motor; a motor's control is the joint's torque."""

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
        """Whether a joint is driven as a motor now."""
        return bool(self._on.any())

    def apply(self, torques: Vector | None) -> None:
        """Drives the joints whose torque is a number as motors, and all others as servos."""
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
