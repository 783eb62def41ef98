"""Which nodes, with which parameters, in which order; and what is refused before any starts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from openral.cli.deploy import app
from openral.cli.ros.yaml_fields import parse_pairs
from openral.deploy.options import DeployOptions
from openral.deploy.plan import make_plan
from openral.errors import ConfigError
from openral.manifest.library import robot_path
from openral.ros.lifecycle.program import given_parameters

PLAN = """\
1. hal (key)
   python -m openral.hal robot_yaml=ur5e hal_mode=sim sim_env_yaml=tabletop_push rtf=1.0 seed=3
2. recorder (may fail)
   python -m openral.deploy.recorder folder=run1
3. safety_kernel (key)
   python -m openral.safety robot_yaml=ur5e hal_mode=sim
4. world (key)
   python -m openral.world robot_yaml=ur5e
5. skill_runner
   python -m openral.skill robot_yaml=ur5e sim_env_yaml=tabletop_push
6. arm: call /openral/reset
7. run skill 'scripted-push' 2 times
8. end with the skill
"""


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(app, arguments)


def sim(**options: Any) -> DeployOptions:
    return DeployOptions(**({"robot_ref": "ur5e", "scene_ref": "tabletop_push"} | options))


def test_a_dry_run_prints_the_plan() -> None:
    done = invoke(
        *("sim", "--config", "tabletop_push", "--robot", "ur5e", "--skill", "scripted-push"),
        *("--episodes", "2", "--seed", "3", "--record", "run1", "--dry-run"),
    )
    assert done.exit_code == 0, done.output
    assert done.stdout == PLAN


def test_the_plan_as_json() -> None:
    done = invoke("sim", "--config", "kitchen", "--dry-run", "--json", "--duration", "3")
    plan = json.loads(done.stdout)
    assert plan["robot"] == "panda_mobile"
    names = [node["name"] for node in plan["nodes"]]
    assert names == ["hal", "safety_kernel", "world", "skill_runner"]
    assert plan["then"][-1] == "end after 3 s"


def test_only_those_who_sign_get_the_key() -> None:
    plan = make_plan(sim(record=Path("somewhere")))
    assert [node.name for node in plan.nodes if node.gets_key] == ["hal", "safety_kernel", "world"]
    assert [node.name for node in plan.nodes if not node.critical] == ["recorder"]


def test_a_robot_that_can_see_does_not_move_without_its_map() -> None:
    def kernel_and_world(**options: Any) -> tuple[Any, Any]:
        plan = make_plan(DeployOptions(**options))
        return tuple(dict(plan.node(n).parameters) for n in ("safety_kernel", "world"))  # type: ignore[return-value, union-attr]

    kernel, world = kernel_and_world(scene_ref="kitchen")
    assert kernel["requires_voxels"] and "mapper" not in world
    kernel, world = kernel_and_world(scene_ref="kitchen", external_map=True)
    assert kernel["requires_voxels"] and world["mapper"] is False
    assert "unknown_blocks" not in kernel  # unless it is asked for
    kernel, world = kernel_and_world(scene_ref="kitchen", unknown_blocks=True)
    assert kernel["unknown_blocks"]
    kernel, world = kernel_and_world(scene_ref="tabletop_push", robot_ref="ur5e")
    assert "requires_voxels" not in kernel


@pytest.mark.parametrize(
    "value", ["", "ur5e", "1e3", "yes", "a b", "[x", '{"port": 1}', 3, 0.5, True]
)
def test_parameters_arrive_as_they_were_given(value: object) -> None:
    from openral.deploy.plan import NodeSpec

    words = NodeSpec("node", "module", {"name": value}).arguments
    assert given_parameters(words, ["name"]) == {"name": value}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"robot_ref": ""}, "takes any robot: name one with --robot"),
        ({"robot_ref": "ur5"}, "did you mean 'ur5e'?"),
        ({"lockstep": True, "wall_clock": True, "skill": "home"}, "drop --wall-clock"),
        ({"lockstep": True}, "nobody could end it"),
        ({"scene_ref": "", "episodes": 2}, "needs a scene to start anew"),
        ({"mode": "real"}, "a scene goes with `deploy sim`"),
        ({"mode": "real", "scene_ref": "", "warn_only": True}, "warn_only goes with"),
        ({"mode": "real", "scene_ref": "", "rtf": 0.0}, "a real-time factor goes with"),
        ({"mode": "real", "scene_ref": "", "lockstep": True}, "lock-step goes with"),
        ({"mode": "real", "scene_ref": "", "robot_ref": ""}, "named with --robot"),
        ({"mode": "real", "scene_ref": "", "robot_ref": "g1"}, "no hardware driver"),
        ({"skill": "juggle"}, "no skill 'juggle'"),
        ({"unknown_blocks": True}, "--unknown-blocks needs a map: '.*' has no depth camera"),
    ],
)
def test_what_cannot_work_is_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        make_plan(sim(**options))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("/dev/ttyACM0", "/dev/ttyACM0"),
        ("0.05", 0.05),
        ("true", True),
        ("no", "no"),
        ("{arm: {kind: position}}", {"arm": {"kind": "position"}}),
        ("[1, two]", [1, "two"]),
    ],
)
def test_options_take_plain_text_numbers_and_mappings(text: str, value: object) -> None:
    assert parse_pairs("--transport", [f"key={text}"]) == {"key": value}


@pytest.mark.parametrize("pair", ["key", "=value", "key={arm: "])
def test_an_option_that_cannot_be_read_is_refused(pair: str) -> None:
    with pytest.raises(ConfigError, match="is not"):
        parse_pairs("--transport", [pair])


def test_a_recording_is_never_overwritten(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="exists already"):
        make_plan(sim(record=tmp_path))


@pytest.mark.parametrize("factor", ["0", "-1", "fast", "inf", "nan"])
def test_a_wrong_factor_is_refused(factor: str) -> None:
    done = invoke("sim", "--robot", "ur5e", "--rtf", factor, "--dry-run")
    assert isinstance(done.exception, ConfigError)


def test_real_robots_wait_for_a_yes() -> None:
    done = invoke("run", "--robot", "so101_follower")
    assert isinstance(done.exception, ConfigError)
    assert "scripts give --yes" in str(done.exception)
    assert "without it the robot holds after 0.065 s" in done.stderr
    assert "REAL HARDWARE" in done.stderr


def test_a_real_plan_has_no_simulation_in_it() -> None:
    done = invoke("run", "--robot", "so101_follower", "--dry-run", "--json")
    hal = json.loads(done.stdout)["nodes"][0]
    assert hal["parameters"] == {"robot_yaml": "so101_follower", "hal_mode": "real"}


def test_a_real_camera_that_repeats_itself_hangs(tmp_path: Path) -> None:
    described = yaml.safe_load(robot_path("so101_follower").read_text())
    mount = {"link": described["base_frame"], "xyz": [0.0, 0.0, 0.5]}
    eye = {"name": "eye", "modality": "depth", "mount": mount, "fovy_deg": 60.0}
    described["sensors"] = [eye]
    path = tmp_path / "so101_follower" / "robot.yaml"
    path.parent.mkdir()
    path.write_text(yaml.safe_dump(described))

    def world(**options: Any) -> dict[str, Any]:
        plan = make_plan(DeployOptions(**options))
        return dict(plan.node("world").parameters)  # type: ignore[union-attr]

    assert world(robot_ref=str(path), mode="real")["same_picture_s"] == 0.5
    assert "same_picture_s" not in world(robot_ref="so101_follower", mode="real")
    assert "same_picture_s" not in world(scene_ref="kitchen"), "a simulator has no noise"


def test_no_display_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    done = invoke("sim", "--robot", "ur5e", "--view", "--dry-run", "--json")
    assert done.exit_code == 0
    assert "no display" in done.stderr
    assert "view" not in json.loads(done.stdout)["nodes"][0]["parameters"]
