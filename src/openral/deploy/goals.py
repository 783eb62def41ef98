"""Goals: sends the skill's goals, one per episode, and keeps their results."""

from __future__ import annotations

import json
import time
from concurrent.futures import Future
from typing import Any

from openral.deploy.graph_link import GraphLink
from openral.deploy.options import DeployOptions
from openral.deploy.results import GoalResult
from openral.graph.topics import EXECUTE_SKILL, RESET_SCENE
from openral.ros.actions.client import ActionClient, ClientGoal
from openral.ros.codec import types

_ACTION = "openral_msgs/action/ExecuteSkill"
_ANSWER_S = 30.0


class Goals:
    """One goal at a time, as many as the options request episodes."""

    def __init__(self, link: GraphLink, options: DeployOptions) -> None:
        self._link, self._options = link, options
        self._client = ActionClient(link.node, _ACTION, EXECUTE_SKILL)
        self._goal: ClientGoal | None = None
        self._result: Future[Any] | None = None
        self._stuck = False
        self.feedback: Any = None
        self.results: list[GoalResult] = []
        """The result of each episode."""

    @property
    def running(self) -> bool:
        """Whether a goal is in execution."""
        return self._goal is not None

    @property
    def all_done(self) -> bool:
        """Whether no further episode will run."""
        return not self.running and (self._stuck or len(self.results) >= self._options.episodes)

    def start(self) -> None:
        """Resets the scene from the second episode on and sends the next goal.

        Raises RunEnded if the runner refuses the goal.
        """
        options, link = self._options, self._link
        episode = len(self.results)
        if episode:
            answer = link.call("std_srvs/srv/Trigger", RESET_SCENE, 10.0)
            if not answer.success:
                self.results.append(GoalResult(False, "scene_not_reset", answer.message))
                self._stuck = True
                return
        link.until(self._client.server_is_ready, _ANSWER_S, "skill_runner offered no skill")
        goal = types.new(
            f"{_ACTION}_Goal",
            skill=options.skill,
            instruction=options.instruction,
            parameters=json.dumps(dict(options.skill_parameters)),
            seed=options.first_seed + episode,
        )
        future = self._client.send_goal_async(goal, self._on_feedback)
        self._goal = link.answer(future, _ANSWER_S, f"skill '{options.skill}'")
        self._result = self._goal.get_result_async()

    def _on_feedback(self, feedback: Any) -> None:
        self.feedback = feedback

    def poll(self) -> None:
        """Takes a result that has arrived, and starts the next episode if there is one."""
        if self._result is None or not self._result.done():
            return
        _, result = self._link.answer(self._result, _ANSWER_S, "the skill's result")
        self._keep(result)
        self._stuck = not self._link.monitor.armed
        if not self.all_done:
            self.start()

    def cancel(self, timeout_s: float) -> None:
        """Cancels the running goal and waits up to `timeout_s` for its result."""
        if self._goal is None or self._result is None:
            return
        give_up = time.monotonic() + timeout_s
        try:
            self._goal.cancel(timeout_s)
            _, result = self._result.result(max(0.0, give_up - time.monotonic()))
            self._keep(result)
        except Exception as error:  # the runner itself may be gone
            self._goal = None
            why = str(error) or "not in time"
            self.results.append(
                GoalResult(False, "cancelled", f"the runner did not confirm: {why}")
            )

    def _keep(self, result: Any) -> None:
        self._goal = self._result = None
        self.results.append(GoalResult.of(result))

    @property
    def failure(self) -> str:
        """Why the skill failed, cancelled goals aside; empty if it did not."""
        failed = (r.failure for r in self.results if r.reason != "cancelled")
        return next(filter(None, failed), "")
