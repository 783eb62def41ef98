"""`openral kernel explain` as a user types it: a written-down stop, looked at again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from openral.cli.kernel import app
from openral.errors import ConfigError, ManifestError
from openral.manifest import load_robot, shipped_robots
from openral.safety.cases.case import Case, parse_case
from openral.safety.cases.explain import case_json, example_case, explain
from tests.cli.test_robot import run


def example(robot: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(case_json(example_case(load_robot(robot))))
    return data


def answer(robot: str, data: dict[str, Any]) -> dict[str, Any]:
    description = load_robot(robot)
    return explain(parse_case(json.dumps(data), description), description)


def problems(robot: str, text: str) -> str:
    with pytest.raises(ManifestError) as caught:
        parse_case(text, load_robot(robot), "stop.json")
    return str(caught.value)


@pytest.mark.parametrize("robot", shipped_robots())
def test_the_example_is_accepted_as_it_stands(robot: str) -> None:
    verdict = answer(robot, example(robot))
    assert verdict["accepted"], verdict["text"]
    assert verdict["valid_s"] == pytest.approx(0.25)
    assert verdict["clearance_self_m"] > 0


def test_exit_codes_tell_yes_from_no_from_a_wrong_file(tmp_path: Path) -> None:
    made = run("kernel", "explain", "--robot", "ur5e", "--example")
    assert made.returncode == 0
    good, bad, wrong = (tmp_path / f"{name}.json" for name in ("good", "bad", "wrong"))
    good.write_text(made.stdout)
    result = run("kernel", "explain", "--robot", "ur5e", "--chunk", good)
    assert result.returncode == 0
    assert result.stdout.startswith("accepted: joint_position: proven clear for 0.25 s")
    data = json.loads(made.stdout)
    data["chunk"]["slots"][0]["rows"][3] = [2.0]
    bad.write_text(json.dumps(data))
    result = run("kernel", "explain", "--robot", "ur5e", "--chunk", bad, "--json")
    assert result.returncode == 1
    verdict = json.loads(result.stdout)
    assert verdict["status"] == "velocity_limit" and verdict["joint"] == "shoulder_pan_joint"
    assert verdict["row"] == 3 and verdict["stopped"]
    data["chunk"]["slots"][0]["mode"] = "joint_positon"
    wrong.write_text(json.dumps(data, indent=1))
    result = run("kernel", "explain", "--robot", "ur5e", "--chunk", wrong)
    assert result.returncode == 2
    assert "chunk.slots[0].mode" in result.stderr
    assert "did you mean 'joint_position'?" in result.stderr
    missing = run("kernel", "explain", "--robot", "ur5e", "--chunk", tmp_path / "none.json")
    assert missing.returncode == 2 and "no such file" in missing.stderr


def test_a_file_or_an_example_not_both_nor_neither() -> None:
    for arguments in (["--robot", "ur5e"], ["--robot", "ur5e", "--example", "--chunk", "x.json"]):
        result = CliRunner().invoke(app, ["explain", *arguments])
        assert isinstance(result.exception, ConfigError)
        assert "either --chunk FILE or --example" in str(result.exception)


def test_obstacles_and_voxels_are_named_in_the_answer() -> None:
    data = example("ur5e")
    pan = data["state"]["shoulder_pan_joint"]["position"]
    data["chunk"] = {
        "dt": 0.1,
        "slots": [{
            "mode": "joint_position",
            "joint_names": ["shoulder_pan_joint"],
            "rows": [[pan + 0.05 * i] for i in range(1, 20)],
        }],
    }  # fmt: skip
    assert answer("ur5e", data)["accepted"]
    # The hand is at about (0.13, -0.49, 0.49) and swings towards +x.
    data["world"] = [
        {"shape": "sphere", "id": "ball", "centre": [0.45, -0.3, 0.45], "radius": 0.05},
        {"shape": "capsule", "id": "rod", "p0": [3, 0, 0], "p1": [3, 0, 1], "radius": 0.05},
        {"shape": "box", "id": "crate", "centre": [3, 1, 0], "half": [0.1, 0.1, 0.1]},
    ]
    verdict = answer("ur5e", data)
    assert verdict["status"] == "world_collision" and verdict["object"] == "ball"
    assert verdict["value"] < 0.01 or verdict["limit"] == pytest.approx(0.01)
    data["world"] = []
    data["voxels"] = {
        "origin": [0.4, -0.35, 0.4],
        "resolution": 0.05,
        "shape": [2, 2, 2],
        "occupied": [[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]],
    }
    verdict = answer("ur5e", data)
    assert verdict["status"] == "voxel_collision"
    assert verdict["cell"] in data["voxels"]["occupied"]


def test_old_measurements_and_recovery_can_be_told() -> None:
    data = example("panda_mobile")
    data["base"] = {"x": 1.0, "yaw": 0.3}
    assert answer("panda_mobile", data)["accepted"]
    for name in ("state", "world", "base"):
        old = answer("panda_mobile", {**data, "ages": {name: 30.0}})
        assert old["status"] == f"{name}_unavailable" and not old["stopped"]
    del data["base"]
    assert answer("panda_mobile", data)["status"] == "base_unavailable"
    lost = example("ur5e")
    lost["state"]["elbow_joint"]["position"] = "nan"
    assert answer("ur5e", lost)["status"] == "state_unavailable"
    fast = example("ur5e")
    for i, row in enumerate(fast["chunk"]["slots"][0]["rows"]):
        row[0] = fast["state"]["shoulder_pan_joint"]["position"] + 0.05 * (i + 1)
    assert answer("ur5e", fast)["accepted"]
    near = {"shape": "sphere", "id": "ball", "centre": [0.13, -0.49, 0.49], "radius": 0.05}
    inside = answer("ur5e", {**fast, "world": [near]})
    assert inside["status"] == "world_collision" and inside["row"] == -1
    slow = answer("ur5e", {**fast, "world": [near], "recovering": True})
    assert slow["status"] == "velocity_limit"


def test_composites_and_numbers_that_are_none_reach_the_kernel() -> None:
    data = example("franka_panda")
    hand = load_robot("franka_panda").end_effectors[0].name
    slots = data["chunk"]["slots"]
    slots.append({"mode": "gripper_binary", "name": hand, "rows": [[1.0]] * 5})
    assert answer("franka_panda", data)["accepted"]
    slots[1]["rows"][2] = [7.0]
    verdict = answer("franka_panda", data)
    assert (verdict["status"], verdict["slot"], verdict["row"]) == ("gripper_range", 1, 2)
    slots[1]["rows"][2] = [float("nan")]
    assert answer("franka_panda", data)["status"] == "not_finite"
    slots[1]["rows"][2] = [1.0]
    slots[0]["joint_names"] = ["elbow"]
    verdict = answer("franka_panda", data)
    assert verdict["status"] == "unknown_joint" and verdict["object"] == "elbow"


def test_every_problem_of_a_file_is_named_with_its_place_and_choices() -> None:
    data = example("ur5e")
    data["state"]["elbow_joint"]["speed"] = 1.0
    data["world"].append({"shape": "cone", "id": "hat"})
    data["chunk"]["slots"][0]["rows"][2] = []
    text = problems("ur5e", json.dumps(data, indent=2))
    assert "state.elbow_joint.speed: unknown key; keys: position, velocity" in text
    assert "'cone' is not one of 'sphere', 'capsule', 'box'" in text
    assert text.count("line ") >= 2
    data = example("ur5e")
    data["chunk"]["slots"][0]["rows"][2] = []
    assert "rows[2]: has 0 numbers where row 0 has 1" in problems("ur5e", json.dumps(data))
    data = example("ur5e")
    data["state"]["elbow"] = data["state"].pop("elbow_joint")
    text = problems("ur5e", json.dumps(data))
    assert "'ur5e' has no driven joint elbow; did you mean 'elbow_joint'?" in text
    assert "elbow_joint missing" in text
    data = example("ur5e")
    data["base"] = {"x": 0.0}
    assert "base: 'ur5e' has no mobile base" in problems("ur5e", json.dumps(data))
    data = example("ur5e")
    data["voxels"] = {
        "origin": [0, 0, 0], "resolution": 0.1, "shape": [2, 2, 2], "occupied": [[0, 0, 2]],
    }  # fmt: skip
    text = problems("ur5e", json.dumps(data))
    assert "voxels.occupied[0]: cell (0, 0, 2) is outside a grid of (2, 2, 2) cells" in text
    assert "not valid YAML" in problems("ur5e", "{")


def test_json_indented_by_tabs_is_json_too() -> None:
    text = json.dumps(example("ur5e"), indent="\t")
    assert isinstance(parse_case(text, load_robot("ur5e")), Case)
