"""SkillRunnerNode: takes ExecuteSkill goals and publishes candidate chunks."""

from __future__ import annotations

import threading
import time
from typing import Any

from openral.errors import ConfigError
from openral.graph import topics
from openral.manifest import load_robot, load_scene
from openral.manifest.scene import SceneDescription
from openral.ros.actions.goal import GoalHandle
from openral.ros.actions.server import ActionServer
from openral.ros.clock import NS
from openral.ros.codec import types
from openral.ros.lifecycle.machine import Outcome, State
from openral.ros.lifecycle.node import LifecycleNode
from openral.skill.policy.host import PolicyHost
from openral.skill.policy.limits import PolicyLimits
from openral.skill.policy.process import PolicyProcess
from openral.skill.policy.waited import WaitedPolicy
from openral.skill.runner.chunk_maker import ChunkMaker
from openral.skill.runner.goal_order import Ending, GoalOrder
from openral.skill.runner.graph import RunnerGraph
from openral.skill.runner.parameters import RunnerParameters
from openral.skill.runner.skill_run import SkillRun

_ACTION = "openral_msgs/action/ExecuteSkill"
_POLL_S = 0.005
_FEEDBACK_S = 0.1


class SkillRunnerNode(LifecycleNode):
    """Runs one goal at a time. With `policy=inline` a driver calls `begin` and `step` instead."""

    def __init__(self, **options: Any) -> None:
        super().__init__("skill_runner", **options)
        self.settings = RunnerParameters.declared(self)
        self._scene: SceneDescription | None = None
        self._server: ActionServer | None = None
        self._run: SkillRun | None = None
        self._policy: PolicyHost | None = None
        self._busy = threading.Lock()
        self._goals = 0

    def on_configure(self, previous: State) -> Outcome:
        """Reads the manifests."""
        settings = self.settings
        settings.check()
        robot = load_robot(settings.robot_yaml)
        self._scene = load_scene(settings.sim_env_yaml) if settings.sim_env_yaml else None
        self.graph = RunnerGraph(self, robot, settings)
        return Outcome.SUCCESS

    def on_activate(self, previous: State) -> Outcome:
        """Joins the graph and accepts goals."""
        with self.context.presence.batch_announcements():
            self.graph.open()
            if self.settings.policy == "process":
                name = topics.EXECUTE_SKILL
                self._server = ActionServer(self, _ACTION, name, self._execute, accept=self._accept)
        return Outcome.SUCCESS

    def on_deactivate(self, previous: State) -> Outcome:
        """Ends the active goal and accepts no more."""
        if self._server is not None:
            self._server.close()
            self._server = None
        self._let_go()
        policy, self._policy = self._policy, None
        if policy is not None:
            policy.close()
        self.graph.close()
        return Outcome.SUCCESS

    def on_cleanup(self, previous: State) -> Outcome:
        """Forgets the manifests."""
        self.__dict__.pop("graph", None)
        return Outcome.SUCCESS

    def on_shutdown(self, previous: State) -> Outcome:
        """Deactivates if necessary and cleans up."""
        if previous is State.ACTIVE:
            self.on_deactivate(previous)
        return self.on_cleanup(previous)

    # Driven in lock-step

    def begin(self, order: GoalOrder) -> None:
        """Starts a goal, which `step` continues."""
        if self.state is not State.ACTIVE or self._run is not None:
            raise ConfigError("a goal needs an active runner that has none yet")
        self._goals += 1
        inline = self.settings.policy == "inline"
        if self._policy is None:
            made = WaitedPolicy if inline else PolicyProcess
            self._policy = made(self._limits())
        maker = ChunkMaker(f"{order.seed}/{self._goals}" if inline else None)
        run = SkillRun(self.graph, self.settings, self._scene, order, self._policy, maker)
        self._run = self.graph.listener = run

    def _limits(self) -> PolicyLimits:
        settings = self.settings
        memory = round(settings.policy_memory_gb * 1e9)
        return PolicyLimits(memory, settings.policy_tasks, tuple(settings.policy_folders))

    def step(self) -> Any:
        """Does what is due; returns the Result message once the goal has ended, else None."""
        run = self._run
        self.graph.hold_time()
        if run is None or (ending := run.poll()) is None:
            return None
        result = self._result(run, ending)
        if not ending.success and ending.reason != "cancelled":
            self.graph.report(ending.reason, ending.message, run.trace_id)
        log = self.log.info if ending.success else self.log.warning
        log("skill ended", skill=run.order.skill, reason=ending.reason, detail=ending.message)
        if ending.reason == "policy_failed" and self._policy is not None:
            self._policy.close()  # the next goal finds it fresh
        self._let_go()
        return result

    @property
    def run(self) -> SkillRun | None:
        """The active goal."""
        return self._run

    def _let_go(self) -> None:
        self._run = None
        if "graph" in self.__dict__:
            self.graph.listener = None
            self.graph.release_time()
            self.graph.observer.cameras.close()
        if self._policy is not None:
            self._policy.rest()

    def _result(self, run: SkillRun, ending: Ending) -> Any:
        return types.new(
            f"{_ACTION}_Result",
            success=ending.success,
            reason=ending.reason,
            message=ending.message,
            chunks=run.chunks,
            refused=run.refused,
            duration=(self.now() - run.began_ns) / NS,
        )

    # As an action server

    def _accept(self, goal: Any) -> bool:
        try:
            GoalOrder.read(goal, self.settings.skill)
        except ConfigError as error:
            self.log.warning("goal refused", reason=str(error))
            return False
        if not self._busy.acquire(blocking=False):
            self.log.warning("goal refused", reason="another goal is under way")
            return False
        return True

    def _execute(self, handle: GoalHandle) -> Any:
        try:
            self.begin(GoalOrder.read(handle.request, self.settings.skill))
            return self._to_the_end(handle)
        finally:
            self._let_go()
            self._busy.release()

    def _to_the_end(self, handle: GoalHandle) -> Any:
        run, woken, told = self._run, threading.Event(), 0.0
        assert run is not None
        run.wake = woken.set
        while True:
            run.cancelled, run.leaving = handle.is_cancel_requested, self.destroyed
            if (result := self.step()) is not None:
                break
            if time.monotonic() - told > _FEEDBACK_S:
                told = time.monotonic()
                handle.publish_feedback(self._feedback(run))
            woken.wait(_POLL_S)
            woken.clear()
        if result.success:
            handle.succeed()
        elif result.reason == "cancelled":
            handle.canceled()
        else:
            handle.abort()
        return result

    def _feedback(self, run: SkillRun) -> Any:
        return types.new(
            f"{_ACTION}_Feedback",
            phase=run.phase,
            progress=-1.0,
            chunks=run.chunks,
            verdict=run.last_verdict,
            policy_time=run.policy_s,
        )
