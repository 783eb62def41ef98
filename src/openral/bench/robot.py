"""The benchmark robot: a seven-joint arm of the Franka class with ten capsules."""

from __future__ import annotations

import math
from typing import Any

from openral.manifest.robot import RobotDescription

_Q = math.pi / 2
# origin xyz (m), roll (rad), position limits (rad), velocity (rad/s), effort (N·m)
_JOINTS: list[tuple[tuple[float, float, float], float, tuple[float, float], float, float]] = [
    ((0.0, 0.0, 0.333), 0.0, (-2.8973, 2.8973), 2.175, 87.0),
    ((0.0, 0.0, 0.0), -_Q, (-1.7628, 1.7628), 2.175, 87.0),
    ((0.0, -0.316, 0.0), _Q, (-2.8973, 2.8973), 2.175, 87.0),
    ((0.0825, 0.0, 0.0), _Q, (-3.0718, -0.0698), 2.175, 87.0),
    ((-0.0825, 0.384, 0.0), -_Q, (-2.8973, 2.8973), 2.61, 12.0),
    ((0.0, 0.0, 0.0), _Q, (-0.0175, 3.7525), 2.61, 12.0),
    ((0.088, 0.0, 0.0), _Q, (-2.8973, 2.8973), 2.61, 12.0),
]
_CAPSULES: dict[str, list[tuple[tuple[float, float, float], tuple[float, float, float], float]]] = {
    "link0": [((-0.08, 0.0, 0.06), (0.0, 0.0, 0.06), 0.08)],
    "link1": [((0.0, 0.0, -0.18), (0.0, 0.0, -0.02), 0.07)],
    "link2": [((0.0, -0.02, 0.0), (0.0, -0.14, 0.0), 0.07)],
    "link3": [((0.0, 0.0, -0.10), (0.06, 0.0, 0.0), 0.065)],
    "link4": [((0.0, 0.0, 0.0), (-0.07, 0.08, 0.0), 0.065)],
    "link5": [
        ((0.0, 0.0, -0.24), (0.0, 0.02, -0.14), 0.06),
        ((0.0, 0.06, -0.12), (0.0, 0.06, -0.02), 0.05),
    ],
    "link6": [((0.0, 0.0, 0.0), (0.08, 0.0, 0.0), 0.055)],
    "link7": [((0.0, 0.0, 0.05), (0.0, 0.0, 0.08), 0.05)],
    "hand": [((0.0, -0.07, 0.03), (0.0, 0.07, 0.03), 0.04)],
}  # fmt: skip
HOME = (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785)


def bench_robot(acceleration: float | None = None, **safety: Any) -> RobotDescription:
    """The arm; `acceleration` limits its joints in rad/s², keywords set its safety envelope."""
    joints: list[dict[str, Any]] = [
        {
            "name": f"joint{i + 1}",
            "type": "revolute",
            "parent": f"link{i}",
            "child": f"link{i + 1}",
            "origin": {"xyz": xyz, "rpy": (roll, 0.0, 0.0)},
            "limits": {
                "position": position,
                "velocity": velocity,
                "effort": effort,
                "acceleration": acceleration,
            },
        }
        for i, (xyz, roll, position, velocity, effort) in enumerate(_JOINTS)
    ]
    hand = {"name": "wrist", "type": "fixed", "parent": "link7", "child": "hand"}
    joints.append({**hand, "origin": {"xyz": (0.0, 0.0, 0.107), "rpy": (0.0, 0.0, -_Q / 2)}})
    finger = {
        "name": "finger_joint",
        "type": "prismatic",
        "parent": "hand",
        "child": "finger",
        "origin": {"xyz": (0.0, 0.0, 0.0584)},
        "axis": (0.0, 1.0, 0.0),
        "limits": {"position": (0.0, 0.04), "velocity": 0.2, "effort": 20.0},
        "role": "gripper",
    }
    links = [
        {
            "name": name,
            "mass": 1.0,
            "capsules": [{"p0": p0, "p1": p1, "radius": r} for p0, p1, r in capsules],
        }
        for name, capsules in _CAPSULES.items()
    ]
    finger_link = {
        "name": "finger",
        "mass": 0.05,
        "capsules": [{"p0": (0.0, 0.0, 0.0), "p1": (0.0, 0.0, 0.04), "radius": 0.01}],
    }
    return RobotDescription.model_validate(
        {
            "id": "bench_arm",
            "name": "Bench arm",
            "kind": "arm",
            "base_frame": "link0",
            "links": [*links, finger_link],
            "joints": [*joints, finger],
            "home": {**{f"joint{i + 1}": q for i, q in enumerate(HOME)}, "finger_joint": 0.02},
            "end_effectors": [
                {
                    "name": "gripper",
                    "link": "hand",
                    "tcp": {"xyz": (0.0, 0.0, 0.1034)},
                    "gripper": "finger_joint",
                }
            ],
            "allowed_collisions": [
                ("link3", "link5"), ("link5", "link7"), ("link6", "hand"), ("link5", "hand"),
            ],
            "safety": safety,
            "control_modes": [
                "joint_position", "joint_velocity", "joint_torque", "joint_trajectory",
                "cartesian_pose", "cartesian_delta", "cartesian_twist", "gripper_binary",
                "gripper_position", "composite_mode",
            ],
        }
    )  # fmt: skip
