"""Evaluation: many episodes of one skill in one scene, on one core or on several."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from openral.errors import ConfigError
from openral.manifest import load_robot, load_scene
from openral.sim.registry import make_rollout
from openral.sim.rollout import SimRollout
from openral.skill.evaluation.episode import EpisodeResult, run_episode, skill_context
from openral.skill.evaluation.video import Video
from openral.skill.evaluation.workers import run_on
from openral.skill.policy.host import PolicyOrder
from openral.skill.policy.waited import ConfinedSkill, waited_skill
from openral.skill.skill import Skill

_Z95 = 1.959963984540054


@dataclass(frozen=True)
class Order:
    """Scene, skill and robot of an evaluation."""

    scene: str
    """Id or file of the scene."""
    skill: str
    """Name of the skill."""
    robot: str | None = None
    """Id or file of the robot; None takes the scene's own."""
    parameters: dict[str, Any] = field(default_factory=dict)
    """The skill's parameters."""


@dataclass(frozen=True)
class Evaluation:
    """Results of an evaluation."""

    order: Order
    robot: str
    episodes: tuple[EpisodeResult, ...]

    @property
    def success_rate(self) -> float:
        """Share of the episodes that succeeded."""
        return sum(e.success for e in self.episodes) / len(self.episodes)

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % confidence interval of the success rate."""
        return wilson(sum(e.success for e in self.episodes), len(self.episodes))

    def as_dict(self) -> dict[str, Any]:
        """The results as a dictionary for JSON."""
        low, high = self.interval
        return {
            "scene": self.order.scene,
            "robot": self.robot,
            "skill": self.order.skill,
            "parameters": self.order.parameters,
            "episodes": [episode.as_dict() for episode in self.episodes],
            "successes": sum(e.success for e in self.episodes),
            "success_rate": self.success_rate,
            "confidence_95": [round(low, 4), round(high, 4)],
        }


def wilson(successes: int, trials: int, z: float = _Z95) -> tuple[float, float]:
    """Wilson's score interval of a success rate."""
    if trials <= 0 or not 0 <= successes <= trials:
        raise ConfigError(f"{successes} successes of {trials} trials is no count")
    rate, scale = successes / trials, 1 + z * z / trials
    centre = (rate + z * z / (2 * trials)) / scale
    spread = z * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials)) / scale
    # Rounding must not put the rate itself outside.
    return max(0.0, min(rate, centre - spread)), min(1.0, max(rate, centre + spread))


def evaluate(
    order: Order,
    episodes: int | None = None,
    seed: int | None = None,
    workers: int = 1,
    video: Video | None = None,
    progress: Callable[[EpisodeResult], None] | None = None,
) -> Evaluation:
    """Runs episodes with consecutive seeds, by default from the scene's own.

    An episode's outcome depends on its seed alone, not on the number of workers.
    """
    scene = load_scene(order.scene)
    count = episodes or (scene.task.episodes if scene.task else 1)
    first = seed if seed is not None else (scene.task.seed if scene.task else 0)
    if video is not None and workers > 1:
        raise ConfigError(f"a video is made by one worker, not by {workers}")
    seeds = list(range(first, first + count))
    rollout, skill = _make(order)  # an invalid order is reported here, once
    found = []
    try:
        if workers == 1 or count == 1:
            results = _run_all(rollout, skill, seeds, video)
        else:
            jobs = list(enumerate(seeds))
            own = lambda job: run_episode(rollout, skill, *job)  # noqa: E731
            results = run_on(min(workers, count), jobs, partial(_worker, order), own)
        for result in results:
            found.append(result)
            if progress is not None:
                progress(result)
    finally:
        _close(rollout, skill)
    found.sort(key=lambda result: result.episode)
    return Evaluation(order, rollout.robot.id, tuple(found))


def _make(order: Order) -> tuple[SimRollout, Skill]:
    robot = load_robot(order.robot) if order.robot is not None else None
    scene = load_scene(order.scene)
    rollout = make_rollout(scene, robot)
    skill = waited_skill(PolicyOrder(order.skill, skill_context(rollout), order.parameters))
    if skill.cameras:
        rollout.close()
        rollout = make_rollout(scene, robot, cameras=skill.cameras)
    return rollout, skill


def _close(rollout: SimRollout, skill: Skill) -> None:
    rollout.close()
    if isinstance(skill, ConfinedSkill):
        skill.close()


def _run_all(
    rollout: SimRollout, skill: Skill, seeds: list[int], video: Video | None
) -> Iterator[EpisodeResult]:
    for episode, seed in enumerate(seeds):
        watch = None if video is None else video.watcher(rollout)
        yield run_episode(rollout, skill, episode, seed, watch)


def _worker(order: Order) -> Callable[[tuple[int, int]], EpisodeResult]:
    rollout, skill = _make(order)
    return lambda job: run_episode(rollout, skill, *job)
