"""Verdicts on recorded stops, so that a stop can be examined afterwards."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from openral.manifest.control import ControlMode
from openral.manifest.joint import Joint, JointRole
from openral.manifest.robot import RobotDescription
from openral.safety.cases.case import BaseCase, Case, ChunkCase, JointCase, SlotCase
from openral.safety.cases.case_world import BoxCase
from openral.safety.kernel import Kernel, Verdict

_NOW = 1_000_000_000_000
_REACH = 1.0
_UNMOVED = (JointRole.BASE, JointRole.GRIPPER, JointRole.HAND)


def kernel_of(case: Case, robot: RobotDescription) -> Kernel:
    """A kernel with the inputs of a case."""
    kernel = Kernel(robot)

    def stamp(age: float) -> int:
        return _NOW - round(age * 1e9)

    names = robot.joint_names
    position = np.array([case.state[name].position for name in names])
    velocity = np.array([case.state[name].velocity for name in names])
    kernel.set_state(position, velocity, stamp(case.ages.state))
    if case.world is not None:
        held = [h.held() for h in case.held]
        obstacles = [o.obstacle() for o in case.world]
        kernel.set_world(obstacles, stamp(case.ages.world), held, case.world_fixed)
    if case.voxels is not None:
        kernel.set_voxels(case.voxels.grid(), stamp(case.ages.voxels))
    for past in case.trail:
        kernel.set_base((past.x, past.y, past.yaw), stamp(past.age))
    if case.base is not None:
        pose = (case.base.x, case.base.y, case.base.yaw)
        kernel.set_base(pose, stamp(case.ages.base))
    if case.recovering:
        kernel.estop("recovering")
        kernel.recover()
    return kernel


def explain(case: Case, robot: RobotDescription) -> dict[str, Any]:
    """The verdict on a case as plain data, with a sentence in `text`."""
    kernel = kernel_of(case, robot)
    verdict = kernel.validate(case.chunk.message(), _NOW)
    out = {"robot": robot.id, "text": str(verdict), **_fields(verdict)}
    position = [case.state[name].position for name in robot.joint_names]
    world, own = kernel.clearance(position, _REACH)
    seen = case.world is not None or case.voxels is not None
    out["clearance_world_m"] = round(world, 6) if seen and world < _REACH else None
    out["clearance_self_m"] = round(own, 6) if own < _REACH else None
    return out


def _fields(verdict: Verdict) -> dict[str, Any]:
    names = ("accepted", "status", "latched", "stopped", "mode", "slot", "row", "interval")
    out: dict[str, Any] = {name: getattr(verdict, name) for name in names}
    named = ("link", "other_link", "joint", "object")
    out |= {name: getattr(verdict, name) or None for name in named}
    out["cell"] = verdict.cell if verdict.status == "voxel_collision" else None
    out["value"] = _finite(verdict.value)
    out["limit"] = _finite(verdict.limit)
    out["speed_factor"] = verdict.speed_factor
    out["valid_s"] = verdict.valid_ns * 1e-9 if verdict.accepted else None
    out["sequence"] = verdict.sequence
    return out


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None  # JSON has no other numbers


def example_case(robot: RobotDescription) -> Case:
    """A case to start from: the robot at home moves one joint slightly, far from a box.

    It uses the first joint whose motion is accepted, or the first joint if none is.
    """
    cases = [_small_motion(robot, joint) for joint in robot.driven if joint.role not in _UNMOVED]
    accepted = (case for case in cases if explain(case, robot)["accepted"])
    return next(accepted, cases[0])


def _small_motion(robot: RobotDescription, joint: Joint) -> Case:
    low, high = joint.position_range
    home = robot.home[joint.name]
    step = 0.002 if home < (low + high) / 2 else -0.002
    slot = SlotCase(
        mode=ControlMode.JOINT_POSITION,
        rows=tuple((home + step * (i + 1),) for i in range(5)),
        joint_names=(joint.name,),
    )
    box = BoxCase(shape="box", id="box", centre=(5.0, 0.0, 0.5), half=(0.1, 0.1, 0.1))
    return Case(
        state={name: JointCase(position=robot.home[name]) for name in robot.joint_names},
        world=(box,),
        base=BaseCase() if robot.base_joints else None,
        chunk=ChunkCase(dt=0.05, slots=(slot,)),
    )


def case_json(case: Case) -> str:
    """A case as readable JSON: small objects and lists on one line."""
    text = json.dumps(case.model_dump(mode="json", exclude_defaults=True), indent=2)
    return re.sub(r"[\[{][^\[\]{}]*[\]}]", lambda m: re.sub(r"\s+", " ", m.group()), text)
