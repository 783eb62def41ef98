"""The C++ fuzzer: its oracle agrees with MuJoCo, and it finds no false accept."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import mujoco
import numpy as np
import pytest

from tests.safety.fuzzing import build_fuzzer, fresh_seed, run_fuzzer, shipped

REACH = 10.0


@pytest.fixture(scope="module")
def fuzzer() -> Path:
    return build_fuzzer()


@pytest.fixture(scope="module")
def robots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shipped(tmp_path_factory.mktemp("fuzz") / "robots.txt")


def test_no_motion_that_breaks_the_promise_is_accepted(fuzzer: Path, robots: Path) -> None:
    seed = fresh_seed()
    print(f"seed {seed}")
    found = run_fuzzer(fuzzer, 100_000, seed, robots)
    assert found["segments"] >= 100_000
    assert found["findings"] == []
    for name, mode in found["modes"].items():
        assert mode["accepted"] > 0, f"{name}: nothing was accepted, so nothing was tested"
        assert mode["accepted"] < mode["chunks"], f"{name}: nothing came close"
    for name, kind in found["behaviours"].items():
        assert kind["accepted_segments"] > 0, f"{name}: never part of an accepted motion"


@pytest.mark.parametrize(
    "fact",
    [
        "margin", "tracking", "jitter", "stop", "deceleration", "age", "found", "attached", "pair",
        "range",
    ],
)  # fmt: skip
def test_a_kernel_that_does_not_know_a_fact_is_found_wrong(
    fuzzer: Path, robots: Path, fact: str
) -> None:
    """An oracle that cannot fail is none: it knows what was withheld from the kernel."""
    seed = fresh_seed()
    print(f"seed {seed}")
    found = run_fuzzer(fuzzer, 400_000, seed, robots, "--withhold", fact, "--audit", "0")
    assert found["false_accepts"] > 0


def test_the_oracle_measures_what_mujoco_measures(fuzzer: Path, robots: Path) -> None:
    command = [str(fuzzer), "--poses", "40", "3", str(robots)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    compared = 0
    for line in lines.splitlines():
        scene = json.loads(line)
        model = mujoco.MjModel.from_xml_string(scene["mjcf"])
        data = mujoco.MjData(model)
        for name, value in scene["joints"].items():
            data.qpos[model.joint(name).qposadr[0]] = value
        mujoco.mj_kinematics(model, data)
        for a, b, distance in scene["distances"]:
            one, two = model.geom(a).id, model.geom(b).id
            theirs = mujoco.mj_geomDistance(model, data, one, two, REACH, np.zeros(6))
            if distance > 1e-4:  # overlap is counted differently
                assert theirs == pytest.approx(distance, abs=2e-5), (a, b)
                compared += 1
    assert compared > 2000
