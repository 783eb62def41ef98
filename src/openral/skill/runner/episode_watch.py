"""EpisodeWatch: what the simulated scene reports about the task of a goal."""

from __future__ import annotations

from openral.skill.runner.goal_order import Ending
from openral.skill.runner.graph import RunnerGraph


class EpisodeWatch:
    """Remembers the episode that a goal began in; one that was already over does not count."""

    def __init__(self, graph: RunnerGraph) -> None:
        self._graph = graph
        self._number: int | None = None
        self._stale = False

    def begin(self) -> None:
        """Takes the present episode as that of the goal."""
        told = self._graph.episode or {}
        self._number = told.get("episode")
        self._stale = bool(told.get("over"))

    def begun_anew(self) -> bool:
        """Whether the scene was reset since the last call."""
        told = self._graph.episode or {}
        if told.get("episode") == self._number:
            return False
        first = self._number is None
        self.begin()
        return not first

    @property
    def over(self) -> bool:
        """Whether the scene's task has ended, successfully or not."""
        return bool((self._graph.episode or {}).get("over"))

    def ending(self) -> Ending | None:
        """How the task ended; None while it has not."""
        told = self._graph.episode
        if told is None or told.get("episode") != self._number or self._stale:
            return None
        if told.get("success"):
            return Ending(True, "done", "the scene's task is done")
        if told.get("failure"):
            return Ending(False, "failed", str(told["failure"]))
        if told.get("over"):
            return Ending(False, "timeout", f"out of steps after {told.get('steps')}")
        return None
