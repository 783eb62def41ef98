"""What the kernel's tests share: a kernel at home in a given world, and chunks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openral.bench.robot import HOME, bench_robot
from openral.bench.work import chunk, composite
from openral.manifest.control import ControlMode
from openral.manifest.robot import RobotDescription
from openral.safety import Kernel, Obstacle

NOW = 5_000_000_000
HOME_Q: NDArray[np.float64] = np.array([*HOME, 0.02])
M = ControlMode

__all__ = ["HOME_Q", "NOW", "M", "at_home", "chunk", "composite", "hold_rows", "mobile_robot"]


def at_home(robot: RobotDescription, obstacles: Sequence[Obstacle] = (), **options: Any) -> Kernel:
    """A kernel that has just seen the robot at home, at rest, in this world."""
    kernel = Kernel(robot, **options)
    kernel.set_state(robot.home_position, stamp_ns=NOW)
    kernel.set_world(obstacles, NOW)
    if robot.base_joints:
        kernel.set_base((0.0, 0.0, 0.0), NOW)
    return kernel


def mobile_robot(**safety: Any) -> RobotDescription:
    """The bench arm on a base that drives and turns."""
    data = bench_robot(**safety).model_dump()
    parents = {"base_x": "world", "base_y": "slide_x", "base_yaw": "slide_y"}
    children = {"base_x": "slide_x", "base_y": "slide_y", "base_yaw": "chassis"}
    joints = [
        {
            "name": name,
            "type": "continuous" if name == "base_yaw" else "prismatic",
            "parent": parents[name],
            "child": children[name],
            "axis": axis,
            "role": "base",
            "limits": {
                "velocity": 1.0,
                "effort": 100.0,
                "position": None if name == "base_yaw" else (-20.0, 20.0),
            },
        }
        for name, axis in (("base_x", (1, 0, 0)), ("base_y", (0, 1, 0)), ("base_yaw", (0, 0, 1)))
    ]
    mount = {
        "name": "mount",
        "type": "fixed",
        "parent": "chassis",
        "child": "link0",
        "origin": {"xyz": (0.1, 0.0, 0.5)},
    }
    body = {"p0": (0.0, 0.0, 0.25), "p1": (0.1, 0.0, 0.25), "radius": 0.24}
    links = [{"name": n, "mass": 1.0} for n in ("world", "slide_x", "slide_y")]
    links.append({"name": "chassis", "mass": 30.0, "capsules": [body]})
    data["links"] = [*links, *data["links"]]
    data["joints"] = [*joints, mount, *data["joints"]]
    data["home"] = {"base_x": 0.0, "base_y": 0.0, "base_yaw": 0.0, **data["home"]}
    data["base_frame"] = "chassis"
    data["base_joints"] = ("base_x", "base_y", "base_yaw")
    data["kind"] = "mobile_manipulator"
    data["id"] = "mobile_bench"
    data["control_modes"] = [*data["control_modes"], "body_twist"]
    data["allowed_collisions"] = [
        *data["allowed_collisions"], ("chassis", "link0"), ("chassis", "link1"),
    ]  # fmt: skip
    data["safety"] |= {"base_linear_m_s": 1.0, "base_angular_rad_s": 1.5}
    return RobotDescription.model_validate(data)


def hold_rows(robot: RobotDescription, mode: ControlMode, rows: int = 16) -> list[Any]:
    """Chunks that tell the robot to stand still at home in this mode, one for each hand."""
    home, dof = robot.home_position, len(robot.driven)
    zeros = {M.JOINT_VELOCITY: dof, M.JOINT_TORQUE: dof, M.BODY_TWIST: 3}
    hands = [e.name for e in robot.end_effectors]
    if mode in (M.JOINT_POSITION, M.JOINT_TRAJECTORY):
        return [chunk(mode, np.tile(home, (rows, 1)))]
    if mode in zeros:
        return [chunk(mode, np.zeros((rows, zeros[mode])))]
    if mode in (M.CARTESIAN_DELTA, M.CARTESIAN_TWIST):
        return [chunk(mode, np.zeros((rows, 6)), name=hand) for hand in hands]
    return []
