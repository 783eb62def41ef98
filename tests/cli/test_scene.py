"""`openral scene`: what is listed can be shown and drawn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from openral.cli.scene import app
from openral.errors import CapabilityMismatch
from openral.manifest import scene_ids, shipped_robots


def test_list_names_every_scene_and_the_robots_it_takes() -> None:
    done = CliRunner().invoke(app, ["list", "--json"])
    rows = {row["id"]: row for row in json.loads(done.stdout)}
    assert list(rows) == scene_ids()
    assert set(shipped_robots()) <= set(rows["tabletop_push"]["robots"])
    assert rows["so101_box"]["robots"] == ["so101_follower"]
    assert rows["kitchen_drive"]["robots"] == ["panda_mobile"]
    assert "Push the red cube" in rows["tabletop_push"]["task"]


@pytest.mark.parametrize("scene", scene_ids())
def test_show_documents_every_option(scene: str) -> None:
    done = CliRunner().invoke(app, ["show", scene, "--json"])
    shown = json.loads(done.stdout)
    assert shown["scene"]["id"] == scene
    for option in shown["options"]["properties"].values():
        assert option["description"]
    assert CliRunner().invoke(app, ["show", scene]).exit_code == 0


def test_render_draws_all_cameras_or_those_asked_for(tmp_path: Path) -> None:
    out = tmp_path / "push.png"
    arguments = ["render", "tabletop_push", "--robot", "ur5e", "--size", "160x120"]
    done = CliRunner().invoke(app, [*arguments, "--out", str(out)])
    assert done.exit_code == 0, done.output
    with Image.open(out) as sheet:
        assert sheet.size == (320, 2 * 146)  # overhead, wrist, top, front
        assert len(sheet.getcolors(100_000) or []) > 500
    done = CliRunner().invoke(app, [*arguments, "--camera", "front", "--out", str(out)])
    with Image.open(out) as sheet:
        assert sheet.size == (160, 146)


def test_a_robot_that_does_not_fit_is_refused() -> None:
    done = CliRunner().invoke(app, ["render", "so101_box", "--robot", "ur5e"])
    assert isinstance(done.exception, CapabilityMismatch)
