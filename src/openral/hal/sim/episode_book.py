"""EpisodeBook: what a simulated HAL knows about the episode that it is in."""

from __future__ import annotations

from openral.hal.protocols import Episode
from openral.manifest import SceneDescription
from openral.sim.rollout import Step


class EpisodeBook:
    """Counts the periods of real actions; those of idling belong to no episode."""

    def __init__(self, scene: SceneDescription) -> None:
        self._max_steps = scene.task.max_steps if scene.task else None
        self.now = Episode(0, scene.task.seed if scene.task else 0, 0, False, None, False)

    def begin(self, seed: int | None) -> int:
        """The next episode; returns its seed."""
        before = self.now
        chosen = before.seed + 1 if seed is None else seed
        self.now = Episode(before.number + 1, chosen, 0, False, None, False)
        return chosen

    def count(self, step: Step, stopped: bool) -> bool:
        """Takes a period; True if the episode has just ended with it."""
        before, steps = self.now, self.now.steps + 1
        # The backend counts idle periods too: only real ones let an episode run out.
        out = step.truncated and (self._max_steps is None or steps >= self._max_steps)
        ended = (step.terminated or out) and not stopped and not before.over
        over = before.over or ended
        success = bool(step.info.get("success", False))
        failure = step.info.get("failure")
        self.now = Episode(before.number, before.seed, steps, success, failure, over)
        return ended
