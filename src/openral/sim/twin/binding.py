"""Binding: maps the manifest's joints, in its order, to joints and actuators of a MuJoCo model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from openral.errors import CapabilityMismatch, ConfigError, choices
from openral.manifest import RobotDescription
from openral.manifest.joint import Joint
from openral.sim.twin.twin import joint_name

Vector = NDArray[np.float64]
_PREFIX = re.compile(r"^[a-z]+[0-9]+_(?=.)")
"""Of robosuite's names: robot0_, gripper1_, ..."""


@dataclass(frozen=True)
class _Servo:
    """A position servo: in equilibrium its control equals `slope * q + intercept`."""

    actuator: int
    slope: float
    intercept: float
    leverage: float
    """Joint torque per actuator force."""


class JointMap:
    """Reads and places a model's joints by the manifest's names, order and units."""

    def __init__(self, robot: RobotDescription, model: mujoco.MjModel) -> None:
        self.robot = robot
        self.model = model
        self._index = model_joint_index(model)
        joints = [self._joint_id(joint) for joint in robot.driven]
        self.qpos = np.array([model.jnt_qposadr[j] for j in joints], dtype=int)
        self.qvel = np.array([model.jnt_dofadr[j] for j in joints], dtype=int)
        self._followers = [
            (model.jnt_qposadr[self._joint_id(joint)], joint)
            for joint in robot.joints
            if joint.mimic is not None
        ]

    def positions(self, data: mujoco.MjData) -> Vector:
        """Measured joint positions in the manifest's order, rad and m."""
        return np.asarray(data.qpos[self.qpos], float)

    def velocities(self, data: mujoco.MjData) -> Vector:
        """Measured joint velocities in the manifest's order, rad/s and m/s."""
        return np.asarray(data.qvel[self.qvel], float)

    def place(self, data: mujoco.MjData, q: ArrayLike) -> None:
        """Sets the joint positions to `q` (dof,), mimic joints included, without stepping."""
        data.qpos[self.qpos] = q
        for address, joint in self._followers:
            assert joint.mimic is not None
            driver = self.robot.joint_names.index(joint.mimic.joint)
            value = data.qpos[self.qpos[driver]]
            data.qpos[address] = joint.mimic.multiplier * value + joint.mimic.offset

    def _joint_id(self, joint: Joint) -> int:
        name = joint_name(joint)
        if name not in self._index:
            raise ConfigError(
                f"joint '{joint.name}' of '{self.robot.id}' is called '{name}' in simulation, "
                f"which the model lacks; {choices(name, self._index, 'joints')}"
            )
        return self._index[name]


class Binding(JointMap):
    """A joint map that also commands: every driven joint of the manifest has a position servo.

    A joint may be driven directly or through a tendon, as Menagerie's Panda gripper is.
    """

    def __init__(self, robot: RobotDescription, model: mujoco.MjModel) -> None:
        super().__init__(robot, model)
        servos = [self._servo(joint) for joint in robot.driven]
        self.ctrl = np.array([servo.actuator for servo in servos], dtype=int)
        self.leverage = np.array([servo.leverage for servo in servos])
        """Joint torque per actuator force of each joint, (dof,)."""
        self._slope = np.array([servo.slope for servo in servos])
        self._intercept = np.array([servo.intercept for servo in servos])
        self._direct = bool((self._slope == 1).all() and (self._intercept == 0).all())

    def command(self, data: mujoco.MjData, q: ArrayLike) -> None:
        """Sets the servos' targets to joint positions `q` (dof,)."""
        data.ctrl[self.ctrl] = self.to_ctrl(q)

    def to_ctrl(self, q: ArrayLike) -> Vector:
        """Controls that hold the joints at `q` (dof,); may return `q` itself."""
        if self._direct:
            return np.asarray(q, float)
        return np.asarray(self._slope * np.asarray(q, float) + self._intercept)

    def from_ctrl(self, ctrl: ArrayLike) -> Vector:
        """Joint positions that the controls hold; the reverse of `to_ctrl`."""
        return np.asarray((np.asarray(ctrl, float) - self._intercept) / self._slope)

    def _servo(self, joint: Joint) -> _Servo:
        for actuator in range(self.model.nu):
            reach = self._reach(actuator, joint)
            if reach is None:
                continue
            gain = float(self.model.actuator_gainprm[actuator, 0])
            constant, stiffness = (float(v) for v in self.model.actuator_biasprm[actuator, :2])
            if stiffness == 0 or gain == 0:
                raise CapabilityMismatch(
                    f"actuator '{self.model.actuator(actuator).name}' of joint '{joint.name}' is a "
                    "motor; the manifest's joints need position servos (use mjcf_uri 'twin:')"
                )
            # At rest gain·ctrl + constant + stiffness·length = 0, and length = a·q + b.
            a, b = reach
            scale = -stiffness / gain
            return _Servo(actuator, scale * a, scale * b - constant / gain, a)
        raise CapabilityMismatch(f"no actuator of the model drives joint '{joint.name}'")

    def _reach(self, actuator: int, joint: Joint) -> tuple[float, float] | None:
        """Actuator length as a linear function of the joint's position: slope and offset."""
        model, target = self.model, int(self.model.actuator_trnid[actuator, 0])
        gear = float(model.actuator_gear[actuator, 0])
        kind = int(model.actuator_trntype[actuator])
        if kind == int(mujoco.mjtTrn.mjTRN_JOINT):
            return (gear, 0.0) if target == self._joint_id(joint) else None
        if kind != int(mujoco.mjtTrn.mjTRN_TENDON):
            return None
        moved = {self._joint_id(joint): (1.0, 0.0)}
        for other in self.robot.joints:
            if other.mimic is not None and other.mimic.joint == joint.name:
                moved[self._joint_id(other)] = (other.mimic.multiplier, other.mimic.offset)
        first = int(model.tendon_adr[target])
        slope = offset = 0.0
        for wrap in range(first, first + int(model.tendon_num[target])):
            if int(model.wrap_type[wrap]) != int(mujoco.mjtWrap.mjWRAP_JOINT):
                return None
            if int(model.wrap_objid[wrap]) in moved:
                multiplier, shift = moved[int(model.wrap_objid[wrap])]
                slope += float(model.wrap_prm[wrap]) * multiplier
                offset += float(model.wrap_prm[wrap]) * shift
        return (gear * slope, gear * offset) if slope else None


def joint_index(names: Sequence[str]) -> dict[str, int]:
    """Joint ids by name, for the names of all joints in the model's order, unnamed ones as "".

    A prefix such as robot0_ may be left out where that is neither another joint's exact name nor
    ambiguous: with two arms, robot0_joint1 and robot1_joint1 stay what they are.
    """
    exact = {name: index for index, name in enumerate(names) if name}
    bare = {name: _PREFIX.sub("", name, count=1) for name in exact}
    count = Counter(bare.values())
    short = {
        without: exact[name]
        for name, without in bare.items()
        if without not in exact and count[without] == 1
    }
    return short | exact


def model_joint_index(model: mujoco.MjModel) -> dict[str, int]:
    """`joint_index` of a compiled model."""
    return joint_index([model.joint(index).name for index in range(model.njnt)])
