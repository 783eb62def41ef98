"""Whatever a policy does, the robot holds, the goal says why, and the runner takes the next."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openral.errors import GoalRejected
from openral.graph import topics as safety_topics
from openral.ros.actions.goal import GoalStatus
from openral.skill import topics
from tests.hal.node_rig import ARMED
from tests.ros.conftest import wait_until
from tests.skill.live_rig import RunnerGraphRig

MANIFEST = """
id: patient
name: A wave under a contract
kind: policy
entry_point: {entry}
rate_hz: 20
timeout_s: {timeout}
action:
  dimension: 6
  slots: [{{name: all, representation: joint_position, dimension: 6, control_mode: joint_position}}]
"""


def manifest(folder: Path, entry: str, timeout: float = 20.0, more: str = "") -> str:
    path = folder / "patient.yaml"
    path.write_text(MANIFEST.format(entry=entry, timeout=timeout) + more)
    return str(path)


@pytest.mark.parametrize(
    ("skill", "after", "words"),
    [
        ("raises", 0, "out of ideas"),
        ("raises", 2, "out of ideas"),
        ("nan", 0, "answered with nan in row 3, column 0"),
        ("nan", 2, "answered with nan in row 3, column 0"),
        ("wide", 2, "answered with shape (4, 12), not (rows, 6)"),
        ("nothing", 0, "answered with str, not with numbers"),
        ("dies", 2, "died with exit code 7"),
    ],
)
def test_a_policy_that_fails_ends_its_goal_and_nothing_else(
    ready: RunnerGraphRig, tmp_path: Path, skill: str, after: int, words: str
) -> None:
    ready.still()
    failures, begun = len(ready.failures), len(ready.heard[topics.APPLIED])
    status, result = ready.run(manifest(tmp_path, skill, 0.5), after=after)
    assert (status, result.reason) == (GoalStatus.ABORTED, "policy_failed"), result
    assert words in result.message
    ready.still()
    wait_until(
        lambda: len(ready.failures) > failures
    )  # another topic: it may come after the result
    assert ready.failures[-1].reason == "policy_failed"
    assert ready.safety.state == ARMED  # a policy's fault is no reason to stop the kernel
    if after == 0:
        assert result.chunks == 0
        assert len(ready.heard[topics.APPLIED]) == begun
    proposed = len(ready.chunks)
    time.sleep(0.2)
    assert len(ready.chunks) == proposed
    assert all(np.isfinite(slot.data).all() for chunk in ready.chunks for slot in chunk.slots)


def test_a_slow_policy_pauses_the_motion_and_stalls_nothing(
    ready: RunnerGraphRig, tmp_path: Path
) -> None:
    ready.still()
    states = len(ready.heard[safety_topics.JOINT_STATES])
    goal, _ = ready.under_way(manifest(tmp_path, "slow"), 2, rows=2)  # 0.8 s of thought for 0.1 s
    assert goal.cancel(10.0)
    _, result = goal.get_result(60.0)
    assert (result.reason, result.refused) == ("cancelled", 0), result
    assert len(ready.heard[safety_topics.JOINT_STATES]) - states > 50


@pytest.mark.parametrize(
    ("skill", "parameters", "words"),
    [
        ("hom", {}, "no skill 'hom'; did you mean 'home'?"),
        ("random", {"rows": "many"}, "parameter 'rows' of skill 'random' is 'many'"),
        ("scripted-push", {}, "scripted-push needs an object 'cube' in the scene"),
        ("nowhere.yaml", {}, "no such file"),
    ],
)
def test_what_does_not_fit_is_refused_before_the_first_motion(
    ready: RunnerGraphRig, skill: str, parameters: Any, words: str
) -> None:
    proposed = len(ready.chunks)
    status, result = ready.run(skill, **parameters)
    assert (status, result.reason) == (GoalStatus.ABORTED, "mismatch"), result
    assert words in result.message
    assert len(ready.chunks) == proposed


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("embodiment_tags: [franka_panda]", "made for franka_panda"),
        ("cameras: [{vla_feature_key: observation.images.tail}]", "no camera carries"),
        ("cameras: [{vla_feature_key: WRIST, resolution: [9, 9]}]", "the policy takes 9×9"),
        ("starting_pose: {elbow_flex: 9.0}", "the skill starts from 9.000"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(
    ready: RunnerGraphRig, tmp_path: Path, more: str, words: str
) -> None:
    proposed = len(ready.chunks)
    wrist = ready.robot.cameras[0]
    more = more.replace("WRIST", wrist.vla_feature_key or wrist.name)
    _, result = ready.run(manifest(tmp_path, "wave", more=more))
    assert result.reason == "mismatch"
    assert words in result.message
    assert len(ready.chunks) == proposed


def test_one_goal_at_a_time(ready: RunnerGraphRig) -> None:
    ready.still()
    goal = ready.send("hold", timeout=30.0)
    with pytest.raises(GoalRejected):
        ready.send("home")
    assert goal.cancel(10.0)
    assert goal.get_result(30.0)[0] is GoalStatus.CANCELED


def test_without_an_armed_kernel_nothing_is_proposed(ready: RunnerGraphRig) -> None:
    ready.still()
    assert ready.call("openral_msgs/srv/EStop", safety_topics.ESTOP, source="test").success
    proposed = len(ready.chunks)
    goal = ready.send("home", timeout=1.0)
    _, result = goal.get_result(60.0)
    assert result.reason in ("timeout", "estopped")
    assert len(ready.chunks) == proposed
    ready.arm()


def test_an_estop_ends_the_goal(ready: RunnerGraphRig) -> None:
    ready.still()
    goal, _ = ready.under_way("wave", 1, after=1000, size=0.01)
    assert ready.call("openral_msgs/srv/EStop", safety_topics.ESTOP, source="test").applied
    status, result = goal.get_result(30.0)
    assert (status, result.reason) == (GoalStatus.ABORTED, "estopped")
    assert result.message.startswith("test: ")
    ready.arm()
    proposed = len(ready.chunks)
    time.sleep(0.3)
    assert len(ready.chunks) == proposed  # a reset revives no goal


def test_a_motion_that_the_kernel_refuses_ends_the_goal_with_its_reason(
    ready: RunnerGraphRig,
) -> None:
    ready.still()
    status, result = ready.run("wave", rows=2, size=3.0)
    assert (status, result.reason, result.refused) == (GoalStatus.ABORTED, "refused", 1), result
    assert "beyond" in result.message
    ready.arm()
