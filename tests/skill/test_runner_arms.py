"""scripted-push through the gate: every arm that solves the task does so under the kernel too."""

from __future__ import annotations

import pytest

from tests.skill.lockstep_rig import graph_of, run

ARMS = ["ur10e", "rizon4", "so100_follower", "aloha_bimanual", "openarm"]


@pytest.mark.parametrize("robot", ARMS)
def test_it_pushes_the_cube_and_is_never_refused(robot: str) -> None:
    graph = graph_of(robot, "tabletop_push")
    try:
        result = run(graph, "scripted-push")
        assert (result.success, result.reason, result.refused) == (True, "done", 0), result
        assert not graph.runner.graph.executing
    finally:
        graph.close()


def test_goals_follow_one_another_and_end_at_rest() -> None:
    graph = graph_of("so101_follower", "tabletop_push")
    try:
        for skill in ("scripted-push", "home"):
            result = run(graph, skill)
            assert result.reason == "done"
            assert graph.runner.run is None
    finally:
        graph.close()
