"""The `openral robot` and `openral schema` commands as a user types them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

OPENRAL = Path(sys.executable).parent / "openral"


def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    import os

    return subprocess.run(
        [OPENRAL, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "160", **environment},
    )


def test_help_lists_the_commands_without_importing_them() -> None:
    code = (
        "import sys; sys.argv = ['openral', '--help']\n"
        "from openral.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "heavy = {'mujoco', 'numpy', 'pydantic', 'scipy', 'cyclonedds'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert "robot" in result.stdout


def test_every_command_explains_itself() -> None:
    from openral.cli import COMMANDS

    for name in COMMANDS:
        result = run(name, "--help")
        assert result.returncode == 0, (name, result.stderr)
        assert "Usage: openral" in result.stdout


def test_an_unknown_command_suggests_the_nearest() -> None:
    result = run("robto")
    assert result.returncode == 2
    assert "did you mean 'robot'?" in " ".join(result.stderr.split())


def test_list_names_eleven_robots() -> None:
    rows = json.loads(run("robot", "list", "--json", OPENRAL_ROBOTS="/nonexistent").stdout)
    assert len(rows) == 11
    assert "franka_panda" in run("robot", "list", OPENRAL_ROBOTS="/nonexistent").stdout


def test_show_prints_the_manifest() -> None:
    assert run("robot", "show", "ur5e").stdout.startswith("id: ur5e\n")
    assert json.loads(run("robot", "show", "ur5e", "--json").stdout)["safety"]["margin_m"] == 0.01


def test_check_reports_and_answers_by_exit_code(tmp_path: Path) -> None:
    good = run("robot", "check", "ur5e", "--json")
    assert good.returncode == 0
    assert json.loads(good.stdout)["ok"] is True
    broken = tmp_path / "robot.yaml"
    text = run("robot", "show", "ur5e").stdout.replace("effort: 150.0", "efort: 150.0")
    broken.write_text(text)
    bad = run("robot", "check", broken)
    assert bad.returncode == 1
    assert "did you mean 'effort'" in " ".join(bad.stdout.split())


def test_check_needs_a_robot_or_all() -> None:
    result = run("robot", "check")
    assert result.returncode == 2
    assert "name robots or give --all" in result.stderr


@pytest.mark.parametrize("capsules", [[], ["--capsules"]])
def test_render_draws_the_robot(tmp_path: Path, capsules: list[str]) -> None:
    out = tmp_path / "pictures" / "panda.png"
    result = run("robot", "render", "franka_panda", "--out", out, "--size", "320x240", *capsules)
    assert result.returncode == 0, result.stderr
    assert str(out) in result.stdout
    picture = Image.open(out)
    assert picture.size == (320, 240)
    colours = {pixel for _, pixel in picture.getcolors(320 * 240) or []}
    assert len(colours) > 500  # a robot with shading, not an empty floor


def test_a_wrong_size_is_refused() -> None:
    result = run("robot", "render", "ur5e", "--size", "big")
    assert result.returncode == 2
    assert "--size 'big' is not WIDTHxHEIGHT" in result.stderr


def test_import_check_and_render_as_the_readme_says(tmp_path: Path) -> None:
    model = tmp_path / "my_arm.xml"
    model.write_text("""
    <mujoco><worldbody><body name="base"><geom type="cylinder" size=".06 .05" mass="2"/>
      <body name="arm" pos="0 0 .1"><joint name="lift" axis="0 1 0" range="-90 90"/>
        <geom type="capsule" fromto="0 0 .05 0 0 .3" size=".04" mass="1"/></body></body></worldbody>
      <actuator><position joint="lift" kp="50" dampratio="1" forcerange="-20 20"/></actuator>
    </mujoco>
    """)
    here = {"OPENRAL_ROBOTS": str(tmp_path / "robots")}
    first = run("robot", "import", model, **here)
    assert first.returncode == 0, first.stderr
    assert "no velocity limit in the model, 1 assumed" in first.stdout
    assert run("robot", "check", "my_arm", **here).returncode == 0
    again = run("robot", "import", model, **here)
    assert again.returncode == 2
    assert "--force overwrites it" in again.stderr
    assert run("robot", "import", model, "--force", **here).returncode == 0


def test_import_of_a_missing_file_is_an_error_not_a_traceback(tmp_path: Path) -> None:
    result = run("robot", "import", tmp_path / "nothing.urdf")
    assert result.returncode == 2
    assert result.stderr.startswith("error: no model file")


@pytest.mark.parametrize("manifest", ["robot", "scene", "skill", "case"])
def test_schema_documents_every_field(manifest: str) -> None:
    schema = json.loads(run("schema", manifest).stdout)
    parts = [schema, *schema["$defs"].values()]
    for part in parts:
        for name, field in part.get("properties", {}).items():
            assert "description" in field or "$ref" in field, (part["title"], name)


def test_an_unknown_schema_lists_the_known_ones() -> None:
    result = run("schema", "robots")
    assert result.returncode == 2
    assert "did you mean 'robot'? valid choices: robot, scene, skill, case" in result.stderr
