"""What a rollout costs over bare MuJoCo, what workers and fast rendering gain.

Each number is a ratio of two things measured in the same run, in turns.
Example: python benchmarks/sim.py
"""

from __future__ import annotations

import argparse
import importlib
import json
import resource
import statistics
import time
from collections.abc import Callable

from openral.manifest import load_robot, load_scene
from openral.sim.mujoco_rollout import MujocoRollout
from openral.sim.registry import make_rollout
from openral.skill.evaluation.evaluation import Order, evaluate

mujoco = importlib.import_module("mujoco")  # after openral.sim, which chooses its renderer


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def wall(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def rollout_of(robot: str) -> MujocoRollout:
    rollout = make_rollout(load_scene("tabletop_push"), load_robot(robot))
    assert isinstance(rollout, MujocoRollout)
    return rollout


def overhead(robot: str, rounds: int = 300, steps: int = 10) -> dict[str, float]:
    """CPU time of a rollout's steps over the same physics steps without it."""
    rollout = rollout_of(robot)
    # The same memory for both: where an MjData lies changes its speed by several per cent.
    model, data = rollout.model, rollout.data
    rollout.reset(0)
    start = rollout.save_state()
    size = int(mujoco.mjtState.mjSTATE_INTEGRATION)
    action, inner = rollout.hold_action(), rollout.steps_per_period

    def bare() -> None:
        mujoco.mj_setState(model, data, start.physics, size)
        for _ in range(steps):
            mujoco.mj_step(model, data, nstep=inner)

    def whole() -> None:
        mujoco.mj_setState(model, data, start.physics, size)
        for _ in range(steps):
            rollout.step(action)

    plain, full = [], []
    for _ in range(rounds):
        plain.append(seconds(bare))
        full.append(seconds(whole))
    # The least of many rounds: whatever else runs on the machine only ever adds.
    best, ours = min(plain), min(full)
    return {
        "ratio": round(ours / best, 4),
        "us_per_step": round(1e6 * (ours - best) / steps, 1),
        "physics_steps_per_action": inner,
    }


def workers(robot: str, episodes: int) -> dict[str, float]:
    """Wall time of one worker over that of two, for the same episodes.

    `idle_ratio` is what two free cores would give, from the processor time alone: it also holds
    when other programs keep the cores busy.
    """
    order = Order("tabletop_push", "random", robot)
    start = processor()
    one = wall(lambda: evaluate(order, episodes=episodes, seed=0))
    middle = processor()
    two = wall(lambda: evaluate(order, episodes=episodes, seed=0, workers=2))
    spent = processor() - middle
    return {
        "one_s": round(one, 2),
        "two_s": round(two, 2),
        "ratio": round(one / two, 2),
        "idle_ratio": round(2 * (middle - start) / spent, 2),
    }


def processor() -> float:
    """Processor seconds of this process and of those that it has waited for."""
    used = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def rendering(robot: str, frames: int = 12) -> dict[str, float]:
    """Time of MuJoCo's default renderer over ours, 640 × 480 RGB of the same camera and state."""
    rollout = rollout_of(robot)
    default_model = rollout_of(robot).model  # with MuJoCo's own quality settings
    default_model.vis.global_.offwidth, default_model.vis.global_.offheight = 640, 480
    peer = mujoco.Renderer(default_model, 480, 640)
    rollout.image("front")
    data = rollout.data

    def theirs() -> None:
        peer.update_scene(data, "front")
        peer.render()

    theirs()
    ours_s, theirs_s = [], []
    for _ in range(frames):
        ours_s.append(wall(lambda: rollout.image("front")))
        theirs_s.append(wall(theirs))
    peer.close()
    rollout.close()
    ours, default = statistics.median(ours_s), statistics.median(theirs_s)
    return {
        "fps": round(1 / ours, 1),
        "default_fps": round(1 / default, 1),
        "ratio": round(default / ours, 2),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=60)
    arguments = parser.parse_args()
    robots = ("franka_panda", "so101_follower")
    result = {
        "overhead": {robot: overhead(robot) for robot in robots},
        "rendering": {robot: rendering(robot) for robot in robots},
        "workers": workers("franka_panda", arguments.episodes),
    }
    print(json.dumps({"sim": result}, indent=2))
