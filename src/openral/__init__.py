"""Run any robot that one robot.yaml describes, every motion proven clear before it is applied.

The names below are the public API: `from openral import load_robot, make_rollout, Kernel`. Each is
imported from its module on first use, so that `import openral` itself costs next to nothing.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# MuJoCo chooses its renderer when it is first imported; without a display it must be EGL.
if not os.environ.get("DISPLAY"):
    os.environ.setdefault("MUJOCO_GL", "egl")

# public name -> module that defines it
_MODULES = {
    # manifests
    "ControlMode": "openral.manifest.control",
    "Kinematics": "openral.manifest.kinematics",
    "RobotDescription": "openral.manifest.robot",
    "SceneDescription": "openral.manifest.scene",
    "SkillDescription": "openral.manifest.skill",
    "load_robot": "openral.manifest.library",
    "load_scene": "openral.manifest.library",
    "load_skill": "openral.manifest.library",
    "robot_ids": "openral.manifest.library",
    "scene_ids": "openral.manifest.library",
    # simulation
    "GymEnv": "openral.sim.gym_env",
    "Observation": "openral.sim.rollout",
    "SceneType": "openral.sim.building.scene_type",
    "SimRollout": "openral.sim.rollout",
    "Step": "openral.sim.rollout",
    "check_robot": "openral.sim.twin.robot_check",
    "make_rollout": "openral.sim.registry",
    # skills
    "Skill": "openral.skill.skill",
    "SkillContext": "openral.skill.skill",
    "make_skill": "openral.skill.library",
    "run_episode": "openral.skill.evaluation.episode",
    "skill_context": "openral.skill.evaluation.episode",
    # safety
    "Gate": "openral.safety.kernel",
    "Kernel": "openral.safety.kernel",
    "Verdict": "openral.safety.kernel",
    "VoxelGrid": "openral.graph.obstacles",
    # hardware
    "HAL": "openral.hal.protocols",
    "JointDriver": "openral.hal.drivers.streamed",
    "StreamedHAL": "openral.hal.drivers.streamed",
    "build_hal": "openral.hal.build",
    # errors
    "CapabilityMismatch": "openral.errors",
    "ConfigError": "openral.errors",
    "ManifestError": "openral.errors",
    "OpenralError": "openral.errors",
    "SafetyViolation": "openral.errors",
}

if TYPE_CHECKING:  # the same names, for type checkers and editors
    from openral.errors import (
        CapabilityMismatch,
        ConfigError,
        ManifestError,
        OpenralError,
        SafetyViolation,
    )
    from openral.graph.obstacles import VoxelGrid
    from openral.hal.build import build_hal
    from openral.hal.drivers.streamed import JointDriver, StreamedHAL
    from openral.hal.protocols import HAL
    from openral.manifest.control import ControlMode
    from openral.manifest.kinematics import Kinematics
    from openral.manifest.library import load_robot, load_scene, load_skill, robot_ids, scene_ids
    from openral.manifest.robot import RobotDescription
    from openral.manifest.scene import SceneDescription
    from openral.manifest.skill import SkillDescription
    from openral.safety.kernel import Gate, Kernel, Verdict
    from openral.sim.building.scene_type import SceneType
    from openral.sim.gym_env import GymEnv
    from openral.sim.registry import make_rollout
    from openral.sim.rollout import Observation, SimRollout, Step
    from openral.sim.twin.robot_check import check_robot
    from openral.skill.evaluation.episode import run_episode, skill_context
    from openral.skill.library import make_skill
    from openral.skill.skill import Skill, SkillContext

__all__ = [
    "HAL",
    "CapabilityMismatch",
    "ConfigError",
    "ControlMode",
    "Gate",
    "GymEnv",
    "JointDriver",
    "Kernel",
    "Kinematics",
    "ManifestError",
    "Observation",
    "OpenralError",
    "RobotDescription",
    "SafetyViolation",
    "SceneDescription",
    "SceneType",
    "SimRollout",
    "Skill",
    "SkillContext",
    "SkillDescription",
    "Step",
    "StreamedHAL",
    "Verdict",
    "VoxelGrid",
    "__version__",
    "build_hal",
    "check_robot",
    "load_robot",
    "load_scene",
    "load_skill",
    "make_rollout",
    "make_skill",
    "robot_ids",
    "run_episode",
    "scene_ids",
    "skill_context",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'openral' has no attribute '{name}'")
    value = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
