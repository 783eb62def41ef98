"""Benchmark of the safety kernel: verdict times on the workload of its specification."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openral.bench.robot import bench_robot
from openral.bench.work import RandomMotion, chunk, motion, obstacles, voxels
from openral.bench.worst import worst_verdicts
from openral.manifest import load_robot
from openral.manifest.control import ControlMode
from openral.manifest.robot import RobotDescription
from openral.ros.codec.types import registry
from openral.safety.kernel import Kernel

_NOW = 1_000_000_000


def _now() -> int:
    """Graph time in ns, within 1 ms after the stamps; the kernel refuses a clock that stalls."""
    return _NOW + time.perf_counter_ns() % 1_000_000


def _kernel(near: bool, with_voxels: bool, scalar: bool, rng: np.random.Generator) -> Kernel:
    robot = bench_robot(tracking_error=0.002, ee_speed_m_s=10.0, ee_angular_rad_s=20.0)
    kernel = Kernel(robot, scalar_only=scalar)
    kernel.set_world(obstacles(rng, 0.0 if near else 0.2), _NOW)
    if with_voxels:
        kernel.set_voxels(voxels(rng, 0.4 if near else -0.25), _NOW)
    return kernel


def _sample(kernel: Kernel, rng: np.random.Generator, count: int, rows: int = 50) -> dict[str, Any]:
    times, accepted, work = [], 0, 0
    for _ in range(count):
        case = motion(rng, rows)
        data = registry.encode(chunk(ControlMode.JOINT_POSITION, case.rows))
        kernel.set_state(case.start, stamp_ns=_NOW)
        kernel.reset()
        best = 10**12
        for _ in range(3):  # best of three, to exclude preemption by other processes
            kernel.reset()
            now = _now()
            begin = time.perf_counter_ns()
            verdict = kernel.validate_bytes(data, now)
            best = min(best, time.perf_counter_ns() - begin)
        accepted += verdict.accepted
        work = max(work, verdict.work)
        times.append(best / 1000)
    return {
        "median_us": round(statistics.median(times), 2),
        "p99_us": round(float(np.percentile(times, 99)), 2),
        "max_us": round(max(times), 2),
        "accepted": round(accepted / count, 3),
        "most_work": work,
    }


def within_limits(
    rng: np.random.Generator, robot: RobotDescription, rows: int = 50
) -> RandomMotion:
    """A random arm motion within the joint limits, so that geometry decides the verdict."""
    low, high = np.array([joint.position_range for joint in robot.driven[:7]], float).T
    while True:
        case = motion(rng, rows)
        if ((case.rows[:, :7] >= low) & (case.rows[:, :7] <= high)).all():
            return case


def _shipped(near: bool, scalar: bool, count: int, seed: int) -> dict[str, Any]:
    """Verdict times as users get them: the shipped Panda with all its limits, one verdict a chunk.

    Thread CPU time and wall time; no sample is left out.
    """
    rng = np.random.default_rng(seed)
    robot = load_robot("franka_panda")
    kernel = Kernel(robot, scalar_only=scalar)
    kernel.set_world(obstacles(rng, 0.0 if near else 0.2), _NOW)
    kernel.set_voxels(voxels(rng, 0.4 if near else -0.25), _NOW)
    arm = list(robot.joint_names[:7])
    wall, cpu, statuses = [], [], Counter[str]()
    for _ in range(count):
        case = within_limits(rng, robot)
        data = registry.encode(chunk(ControlMode.JOINT_POSITION, case.rows[:, :7], joint_names=arm))
        kernel.set_state([*case.start[:7], robot.home_position[7]], stamp_ns=_NOW)
        kernel.reset()
        now = _now()
        begin, begin_cpu = time.perf_counter_ns(), time.thread_time_ns()
        verdict = kernel.validate_bytes(data, now)
        end_cpu, end = time.thread_time_ns(), time.perf_counter_ns()
        wall.append((end - begin) / 1000)
        cpu.append((end_cpu - begin_cpu) / 1000)
        statuses[verdict.status] += 1
    return {
        "tracking_error": robot.safety.tracking_error,
        "cpu_us": _spread(cpu),
        "wall_us": _spread(wall),
        "statuses": dict(statuses),
        "over_budget": statuses["budget_exceeded"],
    }


def _spread(times: list[float]) -> dict[str, float]:
    p50, p99 = np.percentile(times, [50, 99])
    return {"p50": round(float(p50), 2), "p99": round(float(p99), 2), "worst": round(max(times), 2)}


# ns per row of an accepted chunk: the proof covers all motion on the path to that row.
def _accepted_median(kernel: Kernel, rng: np.random.Generator, count: int, rows: int) -> float:
    times: list[int] = []
    while len(times) < count:
        case = motion(rng, rows, 0.005)
        data = registry.encode(chunk(ControlMode.JOINT_POSITION, case.rows))
        kernel.set_state(case.start, stamp_ns=_NOW)
        kernel.reset()
        now = _now()
        begin = time.perf_counter_ns()
        verdict = kernel.validate_bytes(data, now)
        if verdict.accepted:
            times.append(time.perf_counter_ns() - begin)
    return statistics.median(times) / rows


def configuration_ns(kernel: Kernel, rows: NDArray[np.float64], rounds: int = 10) -> float:
    """Time of `Kernel.clear` per configuration in ns, best round; `rows` has shape (n, dof)."""
    best = float("inf")
    for _ in range(rounds):
        begin = time.perf_counter_ns()
        kernel.clear(rows)
        best = min(best, (time.perf_counter_ns() - begin) / len(rows))
    return best


def _rebuild_ms(rng: np.random.Generator) -> float:
    kernel = Kernel(bench_robot())
    grid = voxels(rng, 0.0)
    times = []
    for _ in range(15):
        begin = time.perf_counter_ns()
        kernel.set_voxels(grid, _NOW)
        times.append((time.perf_counter_ns() - begin) / 1e6)
    return round(statistics.median(times), 3)


def _call_us() -> float:
    """Overhead of a call from Python in µs: a stopped kernel answers before it does any work."""
    kernel = Kernel(bench_robot())
    kernel.estop("benchmark")
    call, times = kernel.validate_bytes, []
    for _ in range(2000):
        begin = time.perf_counter_ns()
        call(b"", _NOW)
        times.append(time.perf_counter_ns() - begin)
    empty = []
    for _ in range(2000):
        begin = time.perf_counter_ns()
        empty.append(time.perf_counter_ns() - begin)
    return round((statistics.median(times) - statistics.median(empty)) / 1000, 3)


def kernel_benchmark(count: int = 400, seed: int = 1) -> dict[str, Any]:
    """Runs every measurement once, on one thread; returns the figures by name.

    `count`: chunks per measurement.
    """
    rng = np.random.default_rng(seed)
    out: dict[str, Any] = {"benchmark": "kernel", "rows": 50, "primitives": 20, "cell_m": 0.025}
    out["voxels"] = int(voxels(rng, 0.0).cells.sum())
    own = np.random.default_rng(seed + 1)  # does not change the draws of the chunks
    rows = np.concatenate([motion(own).rows for _ in range(40)])
    for scalar in (False, True):
        name = "scalar" if scalar else "vectorised"
        bare, full = _kernel(False, False, scalar, rng), _kernel(False, True, scalar, rng)
        out[name] = {
            "far": _sample(full, rng, count),
            "near": _sample(_kernel(True, True, scalar, rng), rng, count),
            "ns_per_configuration": round(configuration_ns(bare, rows), 1),
            "ns_per_configuration_voxels": round(configuration_ns(full, rows), 1),
            "ns_per_row": round(_accepted_median(bare, rng, 100, 256), 1),
            "ns_per_row_voxels": round(_accepted_median(full, rng, 100, 256), 1),
            "worst_verdicts": worst_verdicts(scalar),
            "shipped_far": _shipped(False, scalar, 2 * count, seed),
            "shipped_near": _shipped(True, scalar, 2 * count, seed),
        }
        out["avx2"] = out.get("avx2", False) or full.vectorised
    out["field_rebuild_80_ms"] = _rebuild_ms(rng)
    out["python_call_us"] = _call_us()
    return out
