"""LockstepRun: one run on one thread; the simulation advances when all nodes are idle.

Nothing here depends on the speed of the machine, so the same seed gives the same trace.
"""

from __future__ import annotations

import signal
import time
from typing import Any

from openral.deploy.lockstep.graph import LockstepGraph
from openral.deploy.lockstep.trace_hash import trace_hash
from openral.deploy.plan import LaunchPlan
from openral.deploy.results import GoalResult, RunEnded
from openral.deploy.summary import Summary
from openral.errors import OpenralError, RecordingError
from openral.signals import ENDING
from openral.skill.runner.goal_order import GoalOrder


class LockstepGraphRun:
    """One run of a plan. Use it once, on the main thread.

    `command_at` is the monotonic time at which the user entered the command.
    """

    def __init__(self, plan: LaunchPlan, command_at: float | None = None) -> None:
        self._plan, self._options = plan, plan.options
        self._command_at = time.monotonic() if command_at is None else command_at
        scene = self._options.scene_ref or None
        self.summary = Summary(self._options.robot.id, scene, self._options.mode, lockstep=True)
        self._interrupted = ""
        self._results: list[GoalResult] = []

    def run(self) -> Summary:
        """Runs to the end; the summary has the exit code and the reason."""
        summary, options = self.summary, self._options
        previous = {number: signal.signal(number, self._on_signal) for number in ENDING}
        graph: LockstepGraph | None = None
        try:
            graph = LockstepGraph(self._plan)
            summary.clock = "sim"
            graph.arm()
            summary.ready_after = round(time.monotonic() - self._command_at, 2)
            graph.monitor.begin()
            self._live(graph)
        except RunEnded as ended:
            summary.exit_reason, summary.exit_code = ended.reason, ended.code
        except OpenralError as error:
            summary.exit_reason, summary.exit_code = str(error), 1
        finally:
            if graph is not None:
                self._close(graph)
            for number, handler in previous.items():
                signal.signal(number, handler)
        if options.skill:
            summary.skill = {
                "name": options.skill,
                "episodes": [r.as_dict() for r in self._results],
            }
        return summary

    def _close(self, graph: LockstepGraph) -> None:
        summary, folder = self.summary, self._options.record
        if summary.ready_after is not None:
            summary.take(graph.monitor, self._command_at)
        try:
            graph.close()
        except RecordingError as error:
            summary.failures.append(str(error))
        if folder is not None:
            summary.recording = {"folder": str(folder), "messages": graph.recorded}
            summary.trace = trace_hash(folder)

    def _on_signal(self, number: int, frame: Any) -> None:
        if self._interrupted:  # a second signal in a long step: the user will not wait
            raise SystemExit(128 + number)
        self._interrupted = signal.Signals(number).name

    def _live(self, graph: LockstepGraph) -> None:
        options = self._options
        if options.skill:
            self._start(graph)
        while True:
            if self._interrupted:
                raise RunEnded(f"interrupted ({self._interrupted})", 0)
            result = graph.tick()
            if result is not None:
                self._take(graph, result)
            self._end_if_over(graph)

    def _start(self, graph: LockstepGraph) -> None:
        options, episode = self._options, len(self._results)
        seed = options.first_seed + episode
        if episode:
            graph.reset_scene()
        order = GoalOrder(options.skill, options.instruction, options.skill_parameters, seed)
        graph.runner.begin(order)

    def _take(self, graph: LockstepGraph, result: Any) -> None:
        self._results.append(GoalResult.of(result))
        if len(self._results) < self._options.episodes and graph.monitor.armed:
            self._start(graph)

    def _end_if_over(self, graph: LockstepGraph) -> None:
        options = self._options
        if options.duration_s:
            if graph.monitor.elapsed()[1] < options.duration_s:
                return
            reason = f"{options.duration_s:g} s are over"
        elif graph.runner.run is None:
            reason = f"skill '{options.skill}' is done"
        else:
            return
        for result in self._results:
            if result.failure:
                raise RunEnded(f"skill '{options.skill}' failed: {result.failure}", 1)
        raise RunEnded(reason, 0)
