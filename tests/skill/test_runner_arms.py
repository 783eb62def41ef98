"""scripted-push through the gate: every arm that solves the task does so under the kernel too."""

from __future__ import annotations

from typing import Any

import pytest

from openral.deploy.lockstep_graph import LockstepGraph
from openral.deploy.options import DeployOptions
from openral.deploy.plan import make_plan
from openral.skill.goal_order import GoalOrder
from openral.skill.runner_node import SkillRunnerNode

ARMS = ["ur5e", "ur10e", "rizon4", "so100_follower", "so101_follower", "aloha_bimanual", "openarm"]
_TICKS = 20_000


def graph_of(robot: str) -> LockstepGraph:
    options = DeployOptions(robot_ref=robot, scene_ref="tabletop_push", skill="home")
    graph = LockstepGraph(make_plan(options))
    graph.arm()
    return graph


def run(graph: LockstepGraph, skill: str, seed: int = 100) -> Any:
    graph.runner.begin(GoalOrder(skill, seed=seed))
    for _ in range(_TICKS):
        if (result := graph.tick()) is not None:
            return result
    raise AssertionError(f"'{skill}' has not ended")


@pytest.mark.parametrize("robot", ARMS)
def test_it_pushes_the_cube_and_is_never_refused(robot: str) -> None:
    graph = graph_of(robot)
    try:
        result = run(graph, "scripted-push")
        assert (result.success, result.reason, result.refused) == (True, "done", 0), result
        assert not graph.runner.graph.executing
    finally:
        graph.close()


def test_goals_follow_one_another_and_end_at_rest() -> None:
    graph = graph_of("so101_follower")
    try:
        for skill in ("scripted-push", "home"):
            result = run(graph, skill)
            assert result.reason == "done"
            assert graph.runner.run is None
        assert isinstance(graph.runner, SkillRunnerNode)
    finally:
        graph.close()
