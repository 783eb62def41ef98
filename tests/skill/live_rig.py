"""A whole graph for tests of the runner: the processes of its four nodes, and a client."""

from __future__ import annotations

import json
from typing import Any

from openral.ros.actions.client import ActionClient, ClientGoal
from openral.ros.actions.goal import GoalStatus
from openral.ros.codec import types
from openral.ros.qos import STATE
from openral.skill import topics
from tests.hal.node_rig import HOLDING, LiveGraph
from tests.ros.conftest import Graph, wait_until

ACTION = "openral_msgs/action/ExecuteSkill"


class RunnerGraphRig(LiveGraph):
    """A robot that runs skills; close it."""

    def __init__(self, graph: Graph, robot: str, real_time: bool = False) -> None:
        super().__init__(graph, robot, real_time=real_time)
        self.steps: list[Any] = []
        self.chunks: list[Any] = []
        self.failures: list[Any] = []
        listen = self.node.create_subscription
        listen("std_msgs/msg/String", topics.STEPS, self.steps.append, STATE)
        listen("openral_msgs/msg/ActionChunk", topics.CANDIDATE, self.chunks.append, STATE)
        listen("openral_msgs/msg/FailureTrigger", topics.FAILURE, self.failures.append, STATE)
        self.feedback: list[Any] = []
        self.client = ActionClient(self.node, ACTION, topics.EXECUTE_SKILL)

    def start_runner(self, *parameters: str) -> Any:
        process = self.start("openral.skill", "use_sim_time=true", *parameters)
        assert self.client.wait_for_server(60.0)
        return process

    def start_all(self, scene: str = "", *parameters: str) -> None:
        self.start_both(f"sim_env_yaml={scene}")
        self.start("openral.world", "use_sim_time=true")
        self.start_runner(f"sim_env_yaml={scene}", *parameters)
        self.arm()

    def send(self, skill: str, timeout: float = 60.0, **parameters: Any) -> ClientGoal:
        goal = types.new(
            f"{ACTION}_Goal", skill=skill, parameters=json.dumps(parameters), timeout=timeout
        )
        return self.client.send_goal(goal, self.feedback.append, 30.0)

    def run(self, skill: str, timeout: float = 60.0, **parameters: Any) -> tuple[GoalStatus, Any]:
        """Runs a goal to its end."""
        self.arm()
        return self.send(skill, timeout, **parameters).get_result(10 * timeout + 60.0)

    def still(self) -> None:
        """Waits until the robot is armed and at rest."""
        self.arm()
        wait_until(lambda: self.state.state == HOLDING and self.speed < 0.01)

    def under_way(self, skill: str, chunks: int, **parameters: Any) -> tuple[ClientGoal, list[Any]]:
        """A goal that moves the robot, and the rows of it that were applied so far."""
        self.still()
        before = len(self.heard[topics.APPLIED])
        goal = self.send(skill, 0.0, **parameters)
        ended = goal.get_result_async()

        def moved() -> list[Any]:
            assert not ended.done(), ended.result()
            applied = self.heard[topics.APPLIED][before:]
            return applied if len({bytes(row.trace_id) for row in applied}) > chunks else []

        return goal, wait_until(moved, 120.0)
