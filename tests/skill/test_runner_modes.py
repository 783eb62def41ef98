"""Skills under a manifest: cameras, states in their own units, and actions in every mode."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openral.deploy.lockstep.graph import LockstepGraph
from openral.manifest import Kinematics, load_robot
from openral.manifest.kinematics import matrix
from tests.skill.lockstep_rig import graph_of, run

Make = Callable[..., str]


@pytest.fixture
def manifest(tmp_path: Path, plugins: None) -> Make:
    def write(entry: str, *slots: dict[str, Any], **more: Any) -> str:
        width = sum(slot["dimension"] for slot in slots)
        content = {
            "id": "tested",
            "name": "tested",
            "kind": "policy",
            "entry_point": entry,
            "rate_hz": 20.0,
            "action": {"dimension": width, "slots": list(slots)},
            **more,
        }
        path = tmp_path / "tested.yaml"
        path.write_text(json.dumps(content))
        return str(path)

    return write


@pytest.fixture(scope="module")
def panda() -> Iterator[LockstepGraph]:
    graph = graph_of("franka_panda", "bare")
    yield graph
    graph.close()


def slot(name: str, representation: str, dimension: int, mode: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "representation": representation,
        "dimension": dimension,
        "control_mode": mode,
        **more,
    }


def joints(graph: LockstepGraph) -> Any:
    return np.array(graph.hal.hal.read_state().positions)


def tool(graph: LockstepGraph) -> Any:
    robot = graph.hal.hal.robot
    kinematics, effector = Kinematics(robot), robot.end_effectors[0]
    hand = kinematics.poses(joints(graph))[kinematics.links.index(effector.link)]
    return (hand @ matrix(effector.tcp.xyz, effector.tcp.rpy))[:3, 3]


GRIP = slot("tcp", "gripper", 1, "gripper_position")
MOTIONS = [
    # each is to bring the tool 2 cm up within a second, or turn the first joint by 0.1 rad
    ("ee_twist", slot("tcp", "ee_twist", 6, "cartesian_twist"), [0, 0, 0.02, 0, 0, 0]),
    ("ee_delta", slot("tcp", "ee_delta", 6, "cartesian_delta"), [0, 0, 0.001, 0, 0, 0]),
    ("velocity", slot("arm", "joint_velocity", 7, "joint_velocity"), [0.1, *[0] * 6]),
    (
        "degrees a second",
        slot("arm", "joint_velocity", 7, "joint_velocity", unit="degrees"),
        [float(np.degrees(0.1)), *[0] * 6],
    ),
    (
        "delta in degrees",
        slot("arm", "joint_delta", 7, "joint_position", unit="degrees"),
        [float(np.degrees(0.005)), *[0] * 6],
    ),
]


@pytest.mark.parametrize(("name", "part", "row"), MOTIONS, ids=[m[0] for m in MOTIONS])
def test_every_kind_of_action_does_what_it_says(
    panda: LockstepGraph, manifest: Make, name: str, part: Any, row: list[float]
) -> None:
    assert run(panda, "home").reason == "done"
    before, start = tool(panda), joints(panda)
    moving = manifest("steady", part, GRIP)
    result = run(panda, moving, row=[*row, 0.02], answers=4, rows=5)
    assert (result.reason, result.refused) == ("done", 0), result
    after, end = tool(panda), joints(panda)
    if name.startswith("ee"):
        assert np.allclose(after - before, [0, 0, 0.02], atol=4e-3)
    else:
        assert end[0] - start[0] == pytest.approx(0.1, abs=0.01)
    assert end[7] == pytest.approx(0.02, abs=5e-3)


def test_a_base_is_driven_by_its_twist(manifest: Make) -> None:
    graph = graph_of("panda_mobile", "kitchen_drive")
    try:
        start = joints(graph)
        drive = manifest("steady", slot("base", "base_twist", 3, "body_twist"))
        result = run(graph, drive, row=[0.1, 0.0, 0.1], answers=4, rows=5)
        assert (result.reason, result.refused) == ("done", 0), result
        base = [graph.hal.hal.robot.joint_names.index(j) for j in graph.hal.hal.robot.base_joints]
        moved = (joints(graph) - start)[base]
        assert np.hypot(*moved[:2]) == pytest.approx(0.1, abs=0.03)
        assert moved[2] == pytest.approx(0.1, abs=0.03)
    finally:
        graph.close()


def test_a_policy_sees_its_cameras_and_its_state_as_its_manifest_wants_them(manifest: Make) -> None:
    robot = load_robot("so101_follower")
    part = slot("all", "joint_position", 6, "joint_position", unit="degrees")
    camera = robot.cameras[0]
    needs = {"vla_feature_key": camera.vla_feature_key, "resolution": list(camera.resolution)}
    looks = manifest("looks", part, state={"dimension": 6, "slots": [part]}, cameras=[needs])
    graph = graph_of("so101_follower", "tabletop_push")
    try:
        graph.runner.begin(order(looks))
        asked = []
        policy = graph.runner._policy
        ask = policy.ask
        policy.ask = lambda observation, limit: asked.append(observation) or ask(observation, limit)
        for _ in range(500):
            assert graph.tick() is None
            if asked:
                break
        seen = asked[0]
        width, height = camera.resolution
        assert {key: image.shape for key, image in seen.images.items()} == {
            camera.key: (height, width, 3)
        }
        assert seen.images[camera.key].std() > 5
        assert np.allclose(seen.state, np.degrees(seen.joint_positions))
        assert set(seen.objects) == {"cube", "goal"}
        still = joints(graph)
        for _ in range(100):
            assert graph.tick() is None
        assert np.abs(joints(graph) - still).max() < 0.01
    finally:
        graph.close()


def order(skill: str) -> Any:
    from openral.skill.runner.goal_order import GoalOrder

    return GoalOrder(skill)
