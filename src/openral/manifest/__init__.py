"""Manifests of robots, scenes and skills: documented models, and loaders with precise errors."""

from openral.manifest.collision import collision_pairs
from openral.manifest.control import ControlMode
from openral.manifest.kinematics import Kinematics
from openral.manifest.library import (
    load_robot,
    load_scene,
    load_skill,
    robot_ids,
    robot_path,
    scene_ids,
    scene_path,
    shipped_robots,
    user_robots,
)
from openral.manifest.robot import RobotDescription
from openral.manifest.scene import SceneDescription
from openral.manifest.skill import SkillDescription
from openral.manifest.yaml_file import dump_yaml, load_yaml, parse_yaml

__all__ = [
    "ControlMode",
    "Kinematics",
    "RobotDescription",
    "SceneDescription",
    "SkillDescription",
    "collision_pairs",
    "dump_yaml",
    "load_robot",
    "load_scene",
    "load_skill",
    "load_yaml",
    "parse_yaml",
    "robot_ids",
    "robot_path",
    "scene_ids",
    "scene_path",
    "shipped_robots",
    "user_robots",
]
