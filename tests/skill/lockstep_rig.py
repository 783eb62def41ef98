"""A whole graph on one thread, for tests that want the same outcome each time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openral.deploy.lockstep.graph import LockstepGraph
from openral.deploy.options import DeployOptions
from openral.deploy.plan import make_plan
from openral.skill.runner.goal_order import GoalOrder

_TICKS = 20_000


def graph_of(robot: str, scene: str) -> LockstepGraph:
    """An armed robot in a scene; close it."""
    options = DeployOptions(robot_ref=robot, scene_ref=scene, skill="home")
    graph = LockstepGraph(make_plan(options))
    graph.arm()
    return graph


def run(graph: LockstepGraph, skill: str, seed: int = 100, **parameters: Any) -> Any:
    """Runs a goal to its end; its result."""
    given: Mapping[str, Any] = parameters
    graph.runner.begin(GoalOrder(skill, parameters=given, seed=seed))
    for _ in range(_TICKS):
        if (result := graph.tick()) is not None:
            return result
    raise AssertionError(f"'{skill}' has not ended")
