"""Worst-case verdict times: crowded worlds, the longest chunks, every control mode."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from openral.bench.robot import bench_robot
from openral.bench.work import chunk, composite
from openral.graph.obstacles import Box, Capsule, Obstacle, Sphere, VoxelGrid
from openral.manifest import load_robot
from openral.manifest.control import ControlMode as M
from openral.manifest.joint import JointRole
from openral.manifest.kinematics import Kinematics, matrix
from openral.manifest.parts import EndEffector
from openral.manifest.robot import RobotDescription
from openral.ros.codec.message import Message
from openral.ros.codec.types import registry
from openral.safety.kernel import Kernel

_NOW = 1_000_000_000
_OBSTACLES, _ROWS = 512, 256
_CELLS, _SIDE, _LUMP = 80, 0.025, 4  # of the grid, which is filled in blocks of _LUMP³ cells
_GAPS = (0.015, 0.04, 0.1)  # m between world and robot at the start, beyond the margin
_SIZES = (0.0, 1e-3, 1e-2, 5e-2, 0.2)  # of the motion, as fractions of the speed limits

Array = NDArray[np.float64]


@dataclass(frozen=True)
class _Setting:
    name: str
    robot: RobotDescription


def _settings() -> Iterator[_Setting]:
    free = {"ee_speed_m_s": 50.0, "ee_angular_rad_s": 50.0, "tracking_error": 0.002}
    yield _Setting("arm", bench_robot(acceleration=20.0, **free))
    yield _Setting("arm, slowed near things", bench_robot(slow_distance_m=0.15, **free))
    yield _Setting("panda_mobile", load_robot("panda_mobile"))


def _body(robot: RobotDescription) -> Array:
    return np.array([j.role is JointRole.ARM for j in robot.driven], float)


def _at_home(robot: RobotDescription, effector: EndEffector) -> Array:
    """The tool's pose at home in the base frame: x y z in m, quaternion x y z w."""
    kinematics = Kinematics(robot)
    poses = kinematics.poses(robot.home_position)
    base, link = (poses[kinematics.links.index(n)] for n in (robot.base_frame, effector.link))
    tool = np.linalg.inv(base) @ link @ matrix(effector.tcp.xyz, effector.tcp.rpy)
    return np.hstack([tool[:3, 3], Rotation.from_matrix(tool[:3, :3]).as_quat()])


def _around(robot: RobotDescription, gap: float, rng: np.random.Generator) -> list[Obstacle]:
    """Obstacles of all kinds, each at least `gap` m beyond the margin."""
    probe, out = Kernel(robot), list[Obstacle]()
    need = gap + robot.safety.margin_m
    probe.set_base((0.0, 0.0, 0.0), _NOW)
    while len(out) < _OBSTACLES:
        x, y, z = (float(v) for v in rng.normal((0.3, 0.0, 0.5), 0.35))
        name, size = f"o{len(out)}", 0.01
        kinds: tuple[Obstacle, ...] = (
            Sphere(name, (x, y, z), size),
            Capsule(name, (x, y, z), (x, y + 0.05, z + 0.03), size),
            Box(name, (x, y, z), (size, size, 3 * size), (0.1, 0.2, 0.3, 0.927)),
        )
        thing = kinds[len(out) % 3]
        probe.set_world([thing], _NOW)
        if probe.clearance(robot.home_position, 2.0)[0] > need:
            out.append(thing)
    return out


def _solid(robot: RobotDescription, gap: float) -> VoxelGrid:
    """A solid block of cells with a cavity: `gap` m beyond the margin around the robot."""
    probe = Kernel(robot)
    probe.set_base((0.0, 0.0, 0.0), _NOW)
    cells = np.zeros((_CELLS,) * 3, bool)
    origin = (-1.0, -1.0, -0.6)
    lump = _LUMP * _SIDE
    half = (lump / 2,) * 3
    for at in product(range(_CELLS // _LUMP), repeat=3):
        x, y, z = (origin[i] + (at[i] + 0.5) * lump for i in range(3))
        probe.set_world([Box("lump", (x, y, z), half)], _NOW)
        if probe.clearance(robot.home_position, 2.0)[0] > gap + robot.safety.margin_m:
            i, j, k = (a * _LUMP for a in at)
            cells[i : i + _LUMP, j : j + _LUMP, k : k + _LUMP] = True
    return VoxelGrid(cells, origin, _SIDE)


def _chunks(robot: RobotDescription, size: float) -> Iterator[tuple[str, Message]]:
    """The longest chunk of each control mode that the robot has, moving back and forth."""
    wave = np.sin(np.linspace(0, 8 * np.pi, _ROWS))[:, None]
    limits = [j.limits for j in robot.driven]
    top = np.array([(k and k.velocity) or 1.0 for k in limits]) * _body(robot)
    effort = np.array([(k and k.effort) or 1.0 for k in limits]) * _body(robot)
    way = wave * top * size * 0.3
    pose = np.zeros((_ROWS, 6))
    pose[:, :3] = np.cos(np.linspace(0, 8 * np.pi, _ROWS))[:, None] * size * 0.3
    effector = robot.end_effectors[0]
    end, joints = effector.name, np.flatnonzero(_body(robot))
    near = np.tile(_at_home(robot, effector), (_ROWS, 1))
    near[:, :3] += wave * size * 0.03
    made = {
        M.JOINT_POSITION: way + np.array(robot.home_position),
        M.JOINT_TRAJECTORY: way + np.array(robot.home_position),
        M.JOINT_VELOCITY: wave * top * size,
        M.JOINT_TORQUE: wave * effort * size,
        M.CARTESIAN_POSE: near,
        M.CARTESIAN_DELTA: pose * 0.05,
        M.CARTESIAN_TWIST: pose,
        M.BODY_TWIST: np.tile([0.5 * size, 0.5 * size, size], (_ROWS, 1)) * wave,
    }
    for mode, rows in made.items():
        if mode in robot.control_modes:
            yield mode.value, chunk(mode, rows, name=end if mode.is_cartesian else "")
    # Position-controlled joints stop differently from velocity-controlled ones.
    halves = zip(np.array_split(joints, 2), (M.JOINT_POSITION, M.JOINT_VELOCITY), strict=True)
    parts = [
        chunk(mode, made[mode][:, part], joint_names=[robot.joint_names[j] for j in part])
        for part, mode in halves
    ]
    yield f"{M.COMPOSITE_MODE.value} of joints", composite(parts)
    if M.CARTESIAN_DELTA in robot.control_modes and M.BODY_TWIST in robot.control_modes:
        both = [
            chunk(M.CARTESIAN_DELTA, made[M.CARTESIAN_DELTA], name=end),
            chunk(M.BODY_TWIST, made[M.BODY_TWIST]),
        ]
        yield f"{M.COMPOSITE_MODE.value} with a base", composite(both)


def _timed(kernel: Kernel, data: bytes, recovering: bool) -> tuple[float, float, str]:
    """Three verdicts on one chunk: least thread CPU time and greatest wall time in µs, status."""
    times, waits, status = [], [], ""
    for _ in range(3):
        kernel.reset()
        if recovering:
            kernel.estop("benchmark")
            kernel.recover()
        now = _NOW + time.perf_counter_ns() % 1_000_000  # a clock that stalls is refused
        begin, own = time.perf_counter_ns(), time.thread_time_ns()
        verdict = kernel.validate_bytes(data, now)
        times.append((time.thread_time_ns() - own) / 1000)
        waits.append((time.perf_counter_ns() - begin) / 1000)
        status = verdict.status
    return min(times), max(waits), status


def worst_verdicts(scalar: bool, seed: int = 3) -> dict[str, Any]:
    """The longest verdict by control mode, in µs.

    With 512 obstacles, a solid grid and 256 rows, near and far.
    """
    found: dict[str, Any] = {}
    for setting in _settings():
        robot = setting.robot
        for gap in _GAPS:
            things = _around(robot, gap, np.random.default_rng(seed))
            kernel = Kernel(robot, scalar_only=scalar)
            kernel.set_state(robot.home_position, stamp_ns=_NOW)
            kernel.set_base((0.0, 0.0, 0.0), _NOW)
            kernel.set_world(things, _NOW)
            kernel.set_voxels(_solid(robot, gap), _NOW)
            for size, recovering in product(_SIZES, (False, True)):
                for mode, message in _chunks(robot, size):
                    best, most, status = _timed(kernel, registry.encode(message), recovering)
                    name = f"{mode}, recovering" if recovering else mode
                    here = found.setdefault(name, {"worst_us": 0.0, "plain_max_us": 0.0})
                    here["plain_max_us"] = round(max(here["plain_max_us"], most), 1)
                    if best > here["worst_us"]:
                        where = f"{setting.name}, {gap} m, {size}"
                        here |= {"worst_us": round(best, 1), "status": status, "where": where}
    return found
