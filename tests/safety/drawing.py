"""Random arms, worlds and voxel grids from a seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from openral.manifest.robot import RobotDescription
from openral.safety import Box, Capsule, Obstacle, Sphere, VoxelGrid

Rng = np.random.Generator


def random_arm(rng: Rng, *, joints: int | None = None, **safety: Any) -> RobotDescription:
    """A chain of turning and sliding joints with one or two capsules a link."""
    count = joints or int(rng.integers(2, 8))
    links: list[dict[str, Any]] = [{"name": "base", "mass": 0.0}]
    chain: list[dict[str, Any]] = []
    for i in range(count):
        slides = joints is None and rng.random() < 0.15
        limits: dict[str, Any] = {"velocity": 2.0, "effort": 50.0, "acceleration": 60.0}
        limits["position"] = (-0.1, 0.2) if slides else (-2.5, 2.5)
        chain.append(
            {
                "name": f"j{i}",
                "type": "prismatic" if slides else "revolute",
                "parent": "base" if i == 0 else f"l{i}",
                "child": f"l{i + 1}",
                "origin": {
                    "xyz": tuple(rng.uniform(-0.25, 0.25, 3)),
                    "rpy": tuple(rng.uniform(-1.5, 1.5, 3)),
                },
                "axis": tuple(rng.normal(size=3)),
                "limits": limits,
            }
        )
        capsules = [
            {
                "p0": tuple(rng.uniform(-0.1, 0.1, 3)),
                "p1": tuple(rng.uniform(-0.1, 0.1, 3)),
                "radius": float(rng.uniform(0.01, 0.04)),
            }
            for _ in range(int(rng.integers(1, 3)))
        ]
        links.append({"name": f"l{i + 1}", "mass": 1.0, "capsules": capsules})
    defaults = {
        "ee_speed_m_s": 50.0,
        "ee_angular_rad_s": 50.0,
        "tracking_error": float(rng.choice([0.0, 0.002, 0.01])),
        "margin_m": float(rng.uniform(0, 0.02)),
        "self_margin_m": float(rng.uniform(0, 0.01)),
    }
    return RobotDescription.model_validate(
        {
            "id": "random_arm",
            "name": "Random arm",
            "kind": "arm",
            "base_frame": "base",
            "links": links,
            "joints": chain,
            "home": {f"j{i}": 0.0 for i in range(count)},
            "end_effectors": [
                {"name": "tip", "link": f"l{count}", "tcp": {"xyz": (0.0, 0.05, 0.1)}}
            ],
            "safety": defaults | safety,
            "control_modes": [
                "joint_position", "joint_velocity", "joint_torque", "joint_trajectory",
                "cartesian_pose", "cartesian_delta", "cartesian_twist",
            ],
        }
    )  # fmt: skip


def random_world(rng: Rng, count: int) -> list[Obstacle]:
    """Obstacles within reach."""
    out: list[Obstacle] = []
    for i in range(count):
        x, y, z = rng.normal(size=3) * 0.45
        size = rng.uniform(0.02, 0.12, 3)
        kind = i % 3
        if kind == 0:
            out.append(Sphere(f"o{i}", (x, y, z), float(size[0])))
        elif kind == 1:
            out.append(Capsule(f"o{i}", (x, y, z), (x + 0.1, y, z - 0.1), float(size[0])))
        else:
            quat = rng.normal(size=4)
            quat /= np.linalg.norm(quat)
            q = (float(quat[0]), float(quat[1]), float(quat[2]), float(quat[3]))
            out.append(Box(f"o{i}", (x, y, z), (size[0], size[1], size[2]), q))
    return out


def random_grid(rng: Rng, count: int) -> VoxelGrid:
    """Some occupied cells around the arm."""
    shape = rng.integers(8, 30, 3)
    cells = np.zeros(shape, bool)
    at = rng.integers(0, shape, (count, 3))
    cells[at[:, 0], at[:, 1], at[:, 2]] = True
    res = float(rng.uniform(0.03, 0.07))
    x, y, z = -shape * res / 2 + rng.uniform(-0.2, 0.2, 3)
    return VoxelGrid(cells, (x, y, z), res)
