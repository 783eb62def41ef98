"""What is given for a manifest and is none: an error, never a wait and never all memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from openral.errors import ManifestError
from openral.manifest import RobotDescription, load_robot, load_scene, load_yaml
from openral.manifest.library import load_skill
from openral.manifest.yaml_file import read_manifest


@pytest.fixture(params=["fifo", "folder", "device", "link to a device", "endless"])
def no_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "robot.yaml"
    match request.param:
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "device":
            return Path("/dev/zero")
        case "link to a device":
            path.symlink_to("/dev/zero")
        case "endless":
            with path.open("wb") as file:
                file.truncate(1 << 40)
    return path


@pytest.mark.timeout(20)
def test_it_is_refused_at_once(no_file: Path) -> None:
    with pytest.raises(ManifestError, match=r"regular file|larger than|directory"):
        read_manifest(no_file)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("load", [load_robot, load_scene, load_skill])
def test_so_are_robots_scenes_and_skills(load: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    os.mkfifo(path)
    with pytest.raises(ManifestError, match="not a regular file"):
        load(path)


def test_a_calibration_is_read_the_same_way(tmp_path: Path) -> None:
    from openral.hal.drivers.feetech.calibration import Calibration

    os.mkfifo(tmp_path / "c.yaml")
    for model in (Calibration, RobotDescription):
        with pytest.raises(ManifestError, match="not a regular file"):
            load_yaml(model, tmp_path / "c.yaml")
