"""What a verdict may cost: a bounded amount of work, and no allocation."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from openral.bench.robot import bench_robot
from openral.safety import Box, Sphere
from tests.safety.helpers import HOME_Q, NOW, M, at_home, chunk

COUNTER = r"""
#include <stddef.h>
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
static long count;
long allocations(void) { return count; }
void *malloc(size_t n) { ++count; return __libc_malloc(n); }
void *calloc(size_t n, size_t m) { ++count; return __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { ++count; return __libc_realloc(p, n); }
"""

CALLS = """
import ctypes
import numpy as np
from openral.manifest.control import ControlMode as M
from openral.ros.codec.types import registry
from openral.safety import Kernel, Sphere
from openral.bench.robot import HOME, bench_robot
from openral.bench.work import chunk

home = np.array([*HOME, 0.02])
kernel = Kernel(bench_robot())
kernel.set_state(home, stamp_ns=1)
kernel.set_world([Sphere("ball", (0.9, 0.0, 0.5), 0.05)], 1)
allocations = ctypes.CDLL(None).allocations
allocations.restype = ctypes.c_long
arm = np.arange(8) < 7
rows = {
    M.JOINT_POSITION: home + np.linspace(0, 0.3, 50)[:, None] * arm,
    M.JOINT_VELOCITY: np.full((50, 8), 0.01) * arm,
    M.CARTESIAN_DELTA: np.full((10, 6), 1e-4),
    M.JOINT_TORQUE: np.zeros((5, 8)),
}
for mode, table in rows.items():
    data = registry.encode(chunk(mode, table))
    validate, reset = kernel.validate_bytes, kernel.reset
    counts = []
    for _ in range(4):  # the first rounds fill the interpreter's own free lists
        before = allocations()
        for _ in range(2000):
            validate(data, 2)
        counts.append(allocations() - before)
    before = allocations()
    empty = allocations() - before
    reset()
    print(mode.value, validate(data, 2).status, min(counts) - empty)
    reset()
"""


@pytest.mark.parametrize("scalar", [False, True])
def test_work_past_the_budget_is_refused(scalar: bool) -> None:
    robot = bench_robot(tracking_error=0.0, ee_speed_m_s=50.0, ee_angular_rad_s=50.0)
    high = at_home(robot, [Box("ceiling", (0.0, 0.0, 2.0), (3.0, 3.0, 0.5))])
    gap = high.clearance(HOME_Q, 2.0)[0] - robot.safety.margin_m - 2e-4
    ceiling = Box("ceiling", (0.0, 0.0, 2.0 - gap), (3.0, 3.0, 0.5))
    rows = np.tile(HOME_Q, (256, 1))
    rows[::2, 0] += 1.2  # to and fro under a ceiling that leaves a fifth of a millimetre
    few = chunk(M.JOINT_POSITION, rows[:4], dt=0.6)
    kernel = at_home(robot, [ceiling], scalar_only=scalar)
    assert kernel.validate(few, NOW).accepted
    verdict = kernel.validate(chunk(M.JOINT_POSITION, rows, dt=0.6), NOW)
    assert verdict.status == "budget_exceeded"
    assert verdict.latched
    budget = 8000 if scalar or not kernel.vectorised else 16000
    assert budget < verdict.work < budget + 500


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler for the counter")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts glibc's malloc")
def test_a_verdict_from_python_allocates_nothing(tmp_path: Path) -> None:
    source, library = tmp_path / "counter.c", tmp_path / "counter.so"
    source.write_text(COUNTER)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    done = subprocess.run(
        [sys.executable, "-c", CALLS],
        env={**os.environ, "LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) == 4, done.stderr
    for mode, status, count in lines:
        assert int(count) == 0, f"{mode} ({status}): {count} allocations in 2000 verdicts"
    assert {status for _, status, _ in lines} >= {"accepted"}


@pytest.mark.parametrize("scalar", [False, True])
def test_every_test_counts_as_work(scalar: bool) -> None:
    robot = bench_robot(tracking_error=0.0)
    still = chunk(M.JOINT_POSITION, np.tile(HOME_Q, (50, 1)))
    kernel = at_home(robot, scalar_only=scalar)
    bare = kernel.validate(still, NOW)
    rng = np.random.default_rng(4)
    close = []
    for i, at in enumerate(rng.uniform((-0.2, -0.3, 0.1), (0.7, 0.3, 0.9), (500, 3))):
        ball = Sphere(f"b{i}", (float(at[0]), float(at[1]), float(at[2])), 0.02)
        kernel.set_world([ball], NOW)
        if kernel.clearance(HOME_Q)[0] > robot.safety.margin_m + 0.01:
            close.append(ball)
    kernel.set_world(close, NOW)
    verdict = kernel.validate(still, NOW)
    assert bare.accepted
    assert verdict.accepted
    assert verdict.work > bare.work + len(close) > bare.work + 200


@pytest.mark.parametrize("scalar", [False, True])
@pytest.mark.parametrize("recovering", [False, True])
def test_all_that_a_verdict_does_is_within_the_budget(scalar: bool, recovering: bool) -> None:
    robot = bench_robot(slow_distance_m=0.2, ee_speed_m_s=50.0, ee_angular_rad_s=50.0)
    rng = np.random.default_rng(5)
    places = rng.uniform((-0.8, -0.8, 0.0), (0.8, 0.8, 1.2), (512, 3))
    balls = [Sphere(f"b{i}", (x, y, z), 0.01) for i, (x, y, z) in enumerate(places.tolist())]
    kernel = at_home(robot, balls, scalar_only=scalar)
    step = np.zeros((256, 6))
    step[:, 0] = 2e-4 * np.cos(np.linspace(0, 20, 256))
    budget = 8000 if scalar or not kernel.vectorised else 16000
    modes = {
        M.CARTESIAN_DELTA: step,
        M.CARTESIAN_TWIST: step / 0.05,
        M.JOINT_VELOCITY: np.full((256, 8), 1e-3) * (np.arange(8) < 7),
    }
    for mode, rows in modes.items():
        kernel.reset()
        if recovering:
            kernel.estop("test")
            kernel.recover()
        verdict = kernel.validate(chunk(mode, rows), NOW)
        # Finding the joints and measuring distances are no proofs, and count like them.
        assert (0 if recovering else 500) < verdict.work < budget + 1500
