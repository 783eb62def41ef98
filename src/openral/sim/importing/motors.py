"""Motors: limits, servo gains, mimic joints and roles of a model's joints."""

from __future__ import annotations

import re

import mujoco

from openral.manifest.joint import Drive, JointLimits, JointRole, JointType, Mimic
from openral.sim.importing.urdf import UrdfExtras

_ROLES = (
    (JointRole.GRIPPER, r"finger|gripper|jaw|knuckle"),
    (JointRole.HAND, r"thumb|(^|_)(index|middle|ring|pinky)(_|\d|$)"),
    (JointRole.LEG, r"hip|knee|ankle|leg"),
    (JointRole.WAIST, r"waist|torso"),
    (JointRole.HEAD, r"head|neck"),
)
_CAUTIOUS = {"velocity": (1.0, 0.1), "effort": (10.0, 10.0)}  # rad, m


def clean(name: str, fallback: str) -> str:
    """A name of the model, made valid for a manifest."""
    text = re.sub(r"[^A-Za-z0-9_]", "_", name) or fallback
    return text if text[0].isalpha() else f"{fallback.rstrip('0123456789')}_{text}"


class Motors:
    """Actuators and couplings of a compiled model, by joint; `notes` lists what was assumed."""

    def __init__(self, model: mujoco.MjModel, extras: UrdfExtras) -> None:
        self.notes: list[str] = []
        self._model = model
        self._extras = extras
        self._actuators = {
            joint: found for joint in range(model.njnt) if (found := self._of(joint))
        }
        self._mimics = self._couplings()

    def mimic(self, joint: int) -> Mimic | None:
        """The joint that this one mimics, if any."""
        return self._mimics.get(joint)

    def drive(self, joint: int) -> Drive | None:
        """Servo gains at the joint; None where the model has no position servo."""
        if joint not in self._actuators:
            return None
        actuator, slope = self._actuators[joint]
        _, stiffness, damping = (float(v) for v in self._model.actuator_biasprm[actuator, :3])
        if stiffness >= 0:
            return None
        square = slope * slope
        return Drive(kp=float(f"{-stiffness * square:.6g}"), kd=float(f"{-damping * square:.6g}"))

    def limits(self, joint: int, kind: JointType) -> JointLimits:
        """The joint's limits; conservative ones, with a note, where the model states none."""
        model, name = self._model, self._model.joint(joint).name
        linear = kind is JointType.PRISMATIC
        position = None
        if kind is not JointType.CONTINUOUS:
            low, high = (float(v) for v in model.jnt_range[joint])
            if not model.jnt_limited[joint]:
                low, high = -1.0, 1.0
                self.notes.append(f"{name}: no position limits in the model, ±1 m assumed")
            position = (float(f"{low:.8g}"), float(f"{high:.8g}"))
        return JointLimits(
            position=position,
            velocity=self._stated("velocity", name, linear, self._extras.velocity.get(name)),
            effort=self._stated("effort", name, linear, self._effort(joint)),
        )

    def role(self, joint: int, child: str) -> JointRole:
        """Guesses the role from the joint's name, and from that of its link if it is a leaf."""
        body = int(self._model.jnt_bodyid[joint])
        tip = body not in self._model.body_parentid
        names = f"{self._model.joint(joint).name} {child if tip else ''}".lower()
        return next((role for role, words in _ROLES if re.search(words, names)), JointRole.ARM)

    def _stated(self, what: str, name: str, linear: bool, value: float | None) -> float:
        if value:
            return value
        value = _CAUTIOUS[what][linear]
        self.notes.append(f"{name}: no {what} limit in the model, {value:g} assumed")
        return value

    def _effort(self, joint: int) -> float | None:
        model, name = self._model, self._model.joint(joint).name
        if name in self._extras.effort:
            return self._extras.effort[name]
        found = []
        if model.jnt_actfrclimited[joint]:
            found.append(float(model.jnt_actfrcrange[joint, 1]))
        if joint in self._actuators:
            actuator, slope = self._actuators[joint]
            if model.actuator_forcelimited[actuator]:
                found.append(abs(slope) * float(model.actuator_forcerange[actuator, 1]))
            elif model.actuator_biasprm[actuator, 1] == 0 and model.actuator_ctrllimited[actuator]:
                gear = float(model.actuator_gear[actuator, 0] * model.actuator_gainprm[actuator, 0])
                found.append(abs(gear) * float(model.actuator_ctrlrange[actuator, 1]))
        return float(f"{min(found):.6g}") if found and min(found) > 0 else None

    def _of(self, joint: int) -> tuple[int, float] | None:
        """The actuator that moves a joint, directly or by tendon, and its length per joint unit."""
        model = self._model
        for actuator in range(model.nu):
            kind, target = (
                int(model.actuator_trntype[actuator]),
                int(model.actuator_trnid[actuator, 0]),
            )
            gear = float(model.actuator_gear[actuator, 0])
            if kind == int(mujoco.mjtTrn.mjTRN_JOINT) and target == joint:
                return actuator, gear
            if kind == int(mujoco.mjtTrn.mjTRN_TENDON):
                first = int(model.tendon_adr[target])
                wraps = range(first, first + int(model.tendon_num[target]))
                joints = [int(model.wrap_objid[wrap]) for wrap in wraps]
                if joint in joints:
                    return actuator, gear * sum(float(model.wrap_prm[wrap]) for wrap in wraps)
        return None

    def _couplings(self) -> dict[int, Mimic]:
        model = self._model
        mimics = {}
        for name, mimic in self._extras.mimic.items():
            index = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name)
            if index >= 0:
                mimics[index] = mimic.model_copy(update={"joint": clean(mimic.joint, "joint")})
        for tie in range(model.neq):
            if int(model.eq_type[tie]) != int(mujoco.mjtEq.mjEQ_JOINT):
                continue
            a, b = int(model.eq_obj1id[tie]), int(model.eq_obj2id[tie])
            offset, slope, *curve = (float(v) for v in model.eq_data[tie, :5])
            if b < 0 or any(curve) or slope == 0 or a in mimics or b in mimics:
                continue
            # In MuJoCo a = offset + slope·b; the joint with the motor leads, else the first.
            if self._direct(b) and not self._direct(a):
                mimics[a] = Mimic(joint=self._name(b), multiplier=slope, offset=offset)
            else:
                mimics[b] = Mimic(joint=self._name(a), multiplier=1 / slope, offset=-offset / slope)
        return mimics

    def _direct(self, joint: int) -> bool:
        model = self._model
        return any(
            int(model.actuator_trntype[i]) == int(mujoco.mjtTrn.mjTRN_JOINT)
            and int(model.actuator_trnid[i, 0]) == joint
            for i in range(model.nu)
        )

    def _name(self, joint: int) -> str:
        return clean(self._model.joint(joint).name, f"joint{joint}")
