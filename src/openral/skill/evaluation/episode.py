"""One episode: a skill drives a rollout from reset to its end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from openral.errors import CapabilityMismatch, ConfigError
from openral.manifest.skill import Representation
from openral.sim.rollout import SimRollout, Step, Surveyed
from openral.skill.skill import Rows, Skill, SkillContext

_FREE_RUN_S = 10.0  # length of an episode in a scene without a task


@dataclass(frozen=True)
class EpisodeResult:
    """Outcome of one episode."""

    episode: int
    seed: int
    success: bool
    steps: int
    failure: str | None
    """Why the task cannot be done; None on success or when the steps ran out."""
    reward: float
    """Sum of the rewards of all steps."""
    sim_s: float
    """Duration in simulated time: steps over control rate."""
    wall_s: float
    """Duration in wall time."""

    def as_dict(self) -> dict[str, Any]:
        """The result as a dictionary for JSON."""
        return asdict(self)


def skill_context(rollout: SimRollout) -> SkillContext:
    """What a skill may know about a rollout, whose actions must be joint positions."""
    scene = rollout.scene
    if rollout.action_representation is not Representation.JOINT_POSITION:
        raise CapabilityMismatch(
            f"scene '{scene.id}' takes {rollout.action_representation} actions; "
            "skills answer with joint positions"
        )
    around: dict[str, Any] = {}
    if isinstance(rollout, Surveyed):
        around = {
            "root_pose": rollout.root_pose,
            "obstacles": rollout.static_boxes,
            "object_halves": rollout.object_halves,
        }
    return SkillContext(
        robot=rollout.robot,
        rate_hz=scene.control_rate_hz,
        action_dim=rollout.action_dim,
        instruction=scene.task.instruction if scene.task else "",
        **around,
    )


def run_episode(
    rollout: SimRollout,
    skill: Skill,
    episode: int,
    seed: int,
    watch: Callable[[Step], None] | None = None,
) -> EpisodeResult:
    """Runs a skill until the episode ends; `watch` is called with every step."""
    started = time.perf_counter()
    observation = rollout.reset(seed)
    skill.reset(seed)
    total, step = 0.0, None
    rate = rollout.scene.control_rate_hz
    free = round(_FREE_RUN_S * rate) if rollout.scene.task is None else None
    while step is None or not (step.terminated or step.truncated or step.info["steps"] == free):
        for row in _checked(skill.act(observation), rollout.action_dim):
            step = rollout.step(row)
            observation, total = step.observation, total + step.reward
            if watch is not None:
                watch(step)
            if step.terminated or step.truncated or step.info["steps"] == free:
                break
    return EpisodeResult(
        episode,
        seed,
        bool(step.info["success"]),
        int(step.info["steps"]),
        step.info["failure"],
        round(total, 6),
        round(step.info["steps"] / rate, 6),
        round(time.perf_counter() - started, 4),
    )


def _checked(rows: Rows, width: int) -> Rows:
    if rows.ndim != 2 or rows.shape[1] != width or not len(rows):
        raise ConfigError(f"a skill answered with shape {rows.shape}, not (rows, {width})")
    if not np.isfinite(rows).all():
        raise ConfigError("a skill answered with numbers that are not finite")
    return rows
