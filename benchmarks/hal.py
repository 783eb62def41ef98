"""What the HAL costs over bare MuJoCo, and how soon an action is applied. Prints one JSON."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np

from openral.hal.build import build_hal
from openral.hal.sim.attached import SimAttachedHAL
from openral.hal.sim.loop import SimLoop
from openral.manifest import ControlMode, load_robot
from openral.ros.codec import types

ROBOT = "franka_panda"
TICKS = 1500
ACTIONS = 300


def chunk(mode: ControlMode, rows: np.ndarray, dt: float, sequence: int = 1) -> Any:
    slot = types.new(
        "openral_msgs/msg/ActionSlot",
        control_mode=mode.byte,
        width=rows.shape[1],
        data=rows.ravel(),
    )
    return types.new(
        "openral_msgs/msg/ActionChunk",
        control_mode=mode.byte,
        sequence=sequence,
        dt=dt,
        rows=len(rows),
        slots=[slot],
    )


def attached() -> SimAttachedHAL:
    hal = build_hal(load_robot(ROBOT), "sim")
    assert isinstance(hal, SimAttachedHAL)
    return hal


def tick_costs() -> dict[str, float]:
    """Median microseconds of a tick, by what it does."""
    import mujoco

    hal = attached()
    hal.connect()
    handles = hal.rollout.mujoco_handles()
    assert handles is not None
    model, data = handles
    steps = round(hal.tick_ns * 1e-9 / model.opt.timestep)
    home = np.array(hal.robot.home_position)
    joints = chunk(ControlMode.JOINT_POSITION, np.tile(home - 0.01, (50, 1)), 1.0)
    tool = chunk(ControlMode.CARTESIAN_TWIST, np.tile([0.01, 0, 0, 0, 0, 0], (50, 1)), 1.0)
    samples: dict[str, list[float]] = {k: [] for k in ("bare", "idle", "hold", "joints", "tool")}
    for _ in range(TICKS // 50):
        for what, action in (("hold", None), ("joints", joints), ("tool", tool)):
            if action is not None:
                hal.send_action(action)
            samples[what] += [_timed(hal.step) for _ in range(50)]
            hal.hold()
        samples["idle"] += [_timed(hal.idle_step) for _ in range(50)]
        samples["bare"] += [
            _timed(lambda: mujoco.mj_step(model, data, nstep=steps)) for _ in range(50)
        ]
    hal.close()
    return {what: float(np.median(values)) for what, values in samples.items()}


def _timed(call: Any) -> float:
    start = time.perf_counter_ns()
    call()
    return (time.perf_counter_ns() - start) / 1e3


def latencies() -> tuple[list[float], float]:
    """Milliseconds from `send_action` to the tick that applied it, and the real-time factor."""
    applied: dict[int, int] = {}

    def note(state: Any) -> None:
        applied.setdefault(state.motion.sequence, time.perf_counter_ns())

    loop = SimLoop(attached(), on_tick=note)
    loop.start()
    home = np.array(loop.hal.robot.home_position)
    sent = {}
    for sequence in range(1, ACTIONS + 1):
        time.sleep(0.0113)
        sent[sequence] = time.perf_counter_ns()
        loop.hal.send_action(
            chunk(ControlMode.JOINT_POSITION, np.tile(home, (4, 1)), 0.02, sequence)
        )
    time.sleep(0.1)
    factor = loop.real_time_factor
    loop.stop()
    return [(applied[s] - at) / 1e6 for s, at in sent.items() if s in applied], factor


def main() -> None:
    cost = tick_costs()
    late, factor = latencies()
    ratios = {f"{what}_over_bare": cost[what] / cost["bare"] for what in cost if what != "bare"}
    print(
        json.dumps(
            {
                "benchmark": "hal",
                "robot": ROBOT,
                "tick_us": cost,
                **ratios,
                "action_to_applied_ms_p50": float(np.percentile(late, 50)),
                "action_to_applied_ms_p99": float(np.percentile(late, 99)),
                "real_time_factor": factor,
            }
        )
    )


if __name__ == "__main__":
    main()
