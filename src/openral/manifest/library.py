"""Finds manifests by name: those that ship with openral and the user's own."""

from __future__ import annotations

import os
from pathlib import Path

from openral.errors import ConfigError, ManifestError, Problem, choices
from openral.manifest.robot import RobotDescription
from openral.manifest.scene import SceneDescription
from openral.manifest.skill import SkillDescription
from openral.manifest.yaml_file import load_yaml

_SHIPPED = Path(__file__).parent.parent / "robots"
_SHIPPED_SCENES = Path(__file__).parent.parent / "scenes"


def user_robots() -> Path:
    """Folder of imported robots: $OPENRAL_ROBOTS, else in the user's data folder."""
    if folder := os.environ.get("OPENRAL_ROBOTS"):
        return Path(folder)
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share"
    return Path(data) / "openral" / "robots"


def shipped_robots() -> list[str]:
    """Ids of the robots that come with openral."""
    return sorted(path.parent.name for path in _SHIPPED.glob("*/robot.yaml"))


def robot_ids() -> list[str]:
    """Ids of all robots: shipped first, then the user's own."""
    own = {path.parent.name for path in user_robots().glob("*/robot.yaml")}
    return [*shipped_robots(), *sorted(own - set(shipped_robots()))]


def robot_path(ref: str | Path) -> Path:
    """Path of a robot's manifest, given by id, by folder or by file."""
    path = Path(ref)
    if path.suffix in {".yaml", ".yml"} or (len(path.parts) > 1 and path.is_file()):
        return path
    if (path / "robot.yaml").is_file():
        return path / "robot.yaml"
    for folder in (_SHIPPED, user_robots()):
        if (found := folder / str(ref) / "robot.yaml").is_file():
            return found
    raise ConfigError(f"no robot '{ref}'; {choices(str(ref), robot_ids(), 'robots')}")


def load_robot(ref: str | Path) -> RobotDescription:
    """Loads the description of a robot, given by id, by folder or by file."""
    path = robot_path(ref)
    robot = load_yaml(RobotDescription, path)
    if path.name == "robot.yaml" and robot.id != path.resolve().parent.name:
        text = f"'{robot.id}' differs from the name of its folder, '{path.resolve().parent.name}'"
        raise ManifestError(path, [Problem(text, "id")])
    return robot


def scene_ids() -> list[str]:
    """Ids of the scenes that come with openral."""
    return sorted(path.stem for path in _SHIPPED_SCENES.glob("*.yaml"))


def scene_path(ref: str | Path) -> Path:
    """Path of a scene's manifest, given by id or by file."""
    path = Path(ref)
    if path.suffix in {".yaml", ".yml"}:
        return path
    if (found := _SHIPPED_SCENES / f"{ref}.yaml").is_file():
        return found
    raise ConfigError(f"no scene '{ref}'; {choices(str(ref), scene_ids(), 'scenes')}, or a file")


def load_scene(ref: str | Path) -> SceneDescription:
    """Loads the description of a scene, given by id or by file."""
    path = scene_path(ref)
    scene = load_yaml(SceneDescription, path)
    if scene.id != path.stem:
        text = f"'{scene.id}' differs from the name of its file, '{path.stem}'"
        raise ManifestError(path, [Problem(text, "id")])
    return scene


def load_skill(path: str | Path) -> SkillDescription:
    """Loads the description of a skill, given by file."""
    return load_yaml(SkillDescription, Path(path))
