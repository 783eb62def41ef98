"""Skills through the live graph: runner, kernel and HAL, each a process of its own."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from openral.graph import topics as safety_topics
from openral.hal.topics import RESET_SCENE
from openral.ros.actions.goal import GoalStatus
from openral.skill import topics
from tests.hal.node_rig import ARMED, HOLDING
from tests.ros.conftest import wait_until
from tests.skill.live_rig import RunnerGraphRig

Make = Callable[..., RunnerGraphRig]


def test_a_push_and_a_way_home(rig: Make) -> None:
    made = rig("franka_panda")
    made.start_all("tabletop_push")
    status, result = made.run("scripted-push")
    assert status is GoalStatus.SUCCEEDED, result
    assert (result.success, result.reason, result.refused) == (True, "done", 0)
    assert result.chunks > 5
    assert {feedback.phase for feedback in made.feedback} >= {"loading", "running"}
    applied = made.heard[topics.APPLIED]
    verdicts = made.heard[safety_topics.VERDICT]
    proposed = {bytes(chunk.trace_id) for chunk in made.chunks}
    # One id from the policy to the motors.
    assert {bytes(row.trace_id) for row in applied} <= proposed
    assert {bytes(verdict.trace_id) for verdict in verdicts} <= proposed
    steps = [json.loads(step.data) for step in made.steps]
    assert {bytes.fromhex(step["trace_id"]) for step in steps} == proposed
    moved = [step for step in steps if step["rows_applied"]]
    assert len(moved) > len(steps) / 2
    assert max(step["tracking_error"] for step in moved) < 0.05
    assert not made.failures

    away = np.abs(made.q - made.robot.home_position).max()
    assert away > 0.1
    status, result = made.run("home")
    assert (status, result.reason) == (GoalStatus.SUCCEEDED, "done"), result
    assert np.abs(made.q - made.robot.home_position).max() < 0.05


def test_motion_goes_on_from_chunk_to_chunk_until_it_is_cancelled(rig: Make) -> None:
    made = rig("ur5e")
    made.start_all("bare")
    goal, applied = made.under_way("wave", 8, rows=5, after=1000, size=0.01)
    begun = [stamp(row) for row in applied if row.row == 0]
    # A chunk is followed by the next without a pause, and without losing more than its end.
    lasts = made.chunks[-1].rows * made.chunks[-1].dt
    assert 0.7 * lasts < np.median(np.diff(begun)) < lasts + 0.03
    assert goal.cancel(10.0)
    status, result = goal.get_result(30.0)
    assert (status, result.reason) == (GoalStatus.CANCELED, "cancelled")
    wait_until(lambda: made.state.state == HOLDING and made.speed < 0.01)
    assert made.safety.state == ARMED
    count = len(made.chunks)
    held = made.q
    time.sleep(0.3)
    assert len(made.chunks) == count
    assert np.abs(made.q - held).max() < 0.002


def test_an_answer_to_what_was_before_a_reset_of_the_scene_is_not_executed(
    rig: Make, tmp_path: Path
) -> None:
    made = rig("ur5e")
    made.start_all("tabletop_push", f"policy_folders=[{tmp_path}]")
    home = np.array(made.robot.home_position)
    aside = made.send("wave", 0.0, rows=100, after=1000, size=1.0)
    wait_until(lambda: np.abs(made.q - home).max() > 0.2)
    assert aside.cancel(10.0)
    aside.get_result(30.0)
    made.still()
    proposed, moment = len(made.chunks), tmp_path / "moment"
    goal = made.send("slow", 0.0, moment=str(moment))
    wait_until(moment.exists)  # it thinks about a robot that stands aside
    assert made.trigger(RESET_SCENE).success
    wait_until(lambda: len(made.chunks) > proposed)
    first = np.asarray(made.chunks[proposed].slots[0].data).reshape(-1, len(home))
    assert np.abs(first - home).max() < 0.1
    assert goal.cancel(10.0)


def stamp(message: Any) -> float:
    return float(message.header.stamp.sec + message.header.stamp.nanosec * 1e-9)
