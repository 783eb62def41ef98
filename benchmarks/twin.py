"""How fast twins compile and step, against the same robots' published models where present.

Example: python benchmarks/twin.py
"""

from __future__ import annotations

import json
import time

import mujoco

from openral.errors import ModelUnavailable
from openral.manifest import load_robot, shipped_robots
from openral.sim.twin.model_source import read_model, resolve
from openral.sim.twin.twin import make_twin

STEPS = 20_000


def steps_per_second(model: mujoco.MjModel) -> float:
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_step(model, data, nstep=500)
    best = 0.0
    for _ in range(3):
        start = time.perf_counter()
        mujoco.mj_step(model, data, nstep=STEPS // 3)
        best = max(best, STEPS // 3 / (time.perf_counter() - start))
    return best


def measure(robot_id: str) -> dict[str, float]:
    robot = load_robot(robot_id)
    make_twin(robot).compile()
    start = time.perf_counter()
    model = make_twin(robot).compile()
    row = {
        "compile_ms": round(1e3 * (time.perf_counter() - start), 1),
        "steps_per_s": round(steps_per_second(model)),
    }
    if robot.sim.reference_uri:
        try:
            peer = read_model(resolve(robot.sim.reference_uri, download=False)).compile()
        except ModelUnavailable:
            return row
        row["times_published_model"] = round(row["steps_per_s"] / steps_per_second(peer), 2)
    return row


if __name__ == "__main__":
    print(json.dumps({"twin": {robot: measure(robot) for robot in shipped_robots()}}, indent=2))
