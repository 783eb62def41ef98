"""EpisodeBook: tracks the current episode of a simulated HAL."""

from __future__ import annotations

from openral.hal.protocols import Episode
from openral.manifest import SceneDescription
from openral.sim.rollout import Step


class EpisodeBook:
    """Counts the control periods under commands; idle periods belong to no episode."""

    def __init__(self, scene: SceneDescription) -> None:
        self._max_steps = scene.task.max_steps if scene.task else None
        self.now = Episode(0, scene.task.seed if scene.task else 0, 0, False, None, False)

    def begin(self, seed: int | None) -> int:
        """Begins the next episode; returns its seed."""
        before = self.now
        chosen = before.seed + 1 if seed is None else seed
        self.now = Episode(before.number + 1, chosen, 0, False, None, False)
        return chosen

    def count(self, step: Step, stopped: bool) -> bool:
        """Counts a control period; True if the episode has just ended with it."""
        before, steps = self.now, self.now.steps + 1
        # The backend counts idle periods, too; here only commanded ones count towards max_steps.
        out = step.truncated and (self._max_steps is None or steps >= self._max_steps)
        ended = (step.terminated or out) and not stopped and not before.over
        over = before.over or ended
        success = bool(step.info.get("success", False))
        failure = step.info.get("failure")
        self.now = Episode(before.number, before.seed, steps, success, failure, over)
        return ended
