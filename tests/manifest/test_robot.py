"""A valid manifest survives YAML; a broken one is refused with a message, never a traceback."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openral.errors import ManifestError
from openral.manifest import RobotDescription, dump_yaml, parse_yaml
from tests.manifest.strategies import robots

relaxed = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def parse(data: dict[str, Any]) -> RobotDescription:
    return parse_yaml(RobotDescription, yaml.safe_dump(data, sort_keys=False), "robot.yaml")


def plain(robot: RobotDescription) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load(dump_yaml(robot))
    return data


@relaxed
@given(robots())
def test_a_valid_manifest_survives_yaml(robot: RobotDescription) -> None:
    assert parse_yaml(RobotDescription, dump_yaml(robot), "robot.yaml") == robot


def driven(data: dict[str, Any]) -> dict[str, Any]:
    """The first joint with position limits, made if there is none."""
    for joint in data["joints"]:
        if joint.get("limits", {}).get("position"):
            found: dict[str, Any] = joint
            return found
    extra = {
        "name": "extra", "type": "revolute", "parent": "link0", "child": "extra_link",
        "limits": {"position": [-1.0, 1.0], "velocity": 1.0, "effort": 1.0},
    }  # fmt: skip
    data["joints"].append(extra)
    data["links"].append({"name": "extra_link", "mass": 1.0})
    data["home"]["extra"] = 0.0
    return extra


def _drop_limits(data: dict[str, Any]) -> str:
    joint = driven(data)
    del joint["limits"]
    return "needs limits"


def _drop_velocity(data: dict[str, Any]) -> str:
    del driven(data)["limits"]["velocity"]
    return "is missing"


def _reverse(data: dict[str, Any]) -> str:
    driven(data)["limits"]["position"].reverse()
    return "reversed"


def _degrees(data: dict[str, Any]) -> str:
    joint = driven(data)
    joint["limits"]["position"] = [-180.0, 180.0]
    return "is it in" if joint["type"] != "continuous" else "continuous"


def _nan(data: dict[str, Any]) -> str:
    driven(data)["limits"]["effort"] = math.nan
    return "finite number"


def _infinite_mass(data: dict[str, Any]) -> str:
    data["links"][0]["mass"] = math.inf
    return "finite number"


def _duplicate(data: dict[str, Any]) -> str:
    data["joints"].append(copy.deepcopy(driven(data)))
    return "is used twice"


def _cycle(data: dict[str, Any]) -> str:
    joint = driven(data)
    back = {**copy.deepcopy(joint), "name": "back", "parent": joint["child"], "child": "link0"}
    data["joints"].append({**back, "sim_joint_name": "back"})
    return "closes a loop"


def _forest(data: dict[str, Any]) -> str:
    data["links"].append({"name": "lost", "mass": 1.0})
    return "not one tree"


def _unknown_key(data: dict[str, Any]) -> str:
    driven(data)["limits"]["velocty"] = 1.0
    return "did you mean 'velocity'?"


def _misspelt_joint(data: dict[str, Any]) -> str:
    name = driven(data)["name"]
    data["home"][name[:-1] + "X"] = data["home"].pop(name)
    return "is not a driven joint; did you mean"


def _home_outside(data: dict[str, Any]) -> str:
    joint = driven(data)
    data["home"][joint["name"]] = joint["limits"]["position"][1] + 0.5
    return "is outside the limits"


def _massless(data: dict[str, Any]) -> str:
    child = driven(data)["child"]
    link = next(link for link in data["links"] if link["name"] == child)
    link["mass"] = 0.0
    link["capsules"] = [{"p0": [0, 0, 0], "p1": [0, 0, 0], "radius": 0.1}]
    return "needs a mass above 0 kg"


def _mode(data: dict[str, Any]) -> str:
    data["control_modes"] = ["joint_positon"]
    return "did you mean 'joint_position'?"


def _text(data: dict[str, Any]) -> str:
    driven(data)["axis"] = "up"
    return "valid tuple"


MUTATIONS = [
    _drop_limits, _drop_velocity, _reverse, _degrees, _nan, _infinite_mass, _duplicate, _cycle,
    _forest, _unknown_key, _misspelt_joint, _home_outside, _massless, _mode, _text,
]  # fmt: skip


@relaxed
@given(robots(), st.sampled_from(MUTATIONS))
def test_a_broken_manifest_is_refused_with_a_useful_message(robot: Any, mutate: Any) -> None:
    data = plain(robot)
    expected = mutate(data)
    with pytest.raises(ManifestError) as error:
        parse(data)
    assert expected in str(error.value), str(error.value)
    assert any(problem.line for problem in error.value.problems)


@relaxed
@given(st.text(max_size=200))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    with pytest.raises(ManifestError):
        parse_yaml(RobotDescription, text, "robot.yaml")


@relaxed
@given(robots(), st.data())
def test_any_value_in_any_place_is_parsed_or_refused(robot: Any, data: st.DataObject) -> None:
    """Wherever a value is replaced by something else, the answer is a model or a ManifestError."""
    tree = plain(robot)
    spot: Any = tree
    while True:
        key = data.draw(
            st.sampled_from(sorted(spot) if isinstance(spot, dict) else range(len(spot)))
        )
        if isinstance(spot[key], dict | list) and spot[key] and data.draw(st.booleans()):
            spot = spot[key]
            continue
        junk = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
        spot[key] = data.draw(junk | st.lists(junk, max_size=3) | st.just({"a": 1}))
        break
    try:
        parse(tree)
    except ManifestError as error:
        assert str(error)
