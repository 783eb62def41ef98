"""Options of a deployment, validated before anything starts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from openral.errors import ConfigError
from openral.manifest import RobotDescription, SceneDescription, load_robot, load_scene
from openral.manifest.sensor import DepthCamera
from openral.skill.compatibility import require_fit
from openral.skill.library import describe


@dataclass(frozen=True)
class DeployOptions:
    """Options of one run. `check` raises ConfigError for invalid combinations."""

    mode: Literal["sim", "real"] = "sim"
    robot_ref: str = ""
    """Id, folder or file of the robot; empty: the scene's robot."""
    scene_ref: str = ""
    """Id or file of the scene; empty: the robot's twin alone."""
    skill: str = ""
    """The skill to run; empty: the robot does not move until a client sends a goal."""
    skill_parameters: Mapping[str, Any] = field(default_factory=dict)
    instruction: str = ""
    """Instruction in natural language; empty: the scene's task."""
    episodes: int = 1
    """How many times the skill runs, each time in a reset scene."""
    seed: int | None = None
    """Seed of the first episode; None: the scene's seed."""
    duration_s: float = 0.0
    """Duration in s of the graph's clock; 0: until the skill has ended, or Ctrl-C."""
    rtf: float = 1.0
    """Real-time factor: simulated seconds per second of wall time; 0: as fast as possible."""
    wall_clock: bool = False
    real_time: bool = False
    """Use wall-clock deadlines, as on hardware, although simulated time could wait."""
    lockstep: bool = False
    view: bool = False
    warn_only: bool = False
    transport: Mapping[str, Any] = field(default_factory=dict)
    """Options of the HAL's driver, such as a port."""
    external_map: bool = False
    """Another program publishes the voxel map."""
    unknown_blocks: bool = False
    """Space that no camera has observed counts as an obstacle."""
    record: Path | None = None
    """Folder for the recording."""

    @cached_property
    def scene(self) -> SceneDescription | None:
        """The scene's manifest."""
        return load_scene(self.scene_ref) if self.scene_ref else None

    @cached_property
    def robot_name(self) -> str:
        """The robot reference given by the user or by the scene."""
        named = self.robot_ref or (self.scene.robot if self.scene else None)
        if not named:
            where = f"scene '{self.scene_ref}' takes any robot" if self.scene_ref else "no scene"
            raise ConfigError(f"which robot? {where}: name one with --robot")
        return named

    @cached_property
    def robot(self) -> RobotDescription:
        """The robot's manifest."""
        return load_robot(self.robot_name)

    @property
    def maps(self) -> bool:
        """Whether the voxel map is built from the robot's own depth cameras."""
        seeing = any(isinstance(sensor, DepthCamera) for sensor in self.robot.sensors)
        return seeing and not self.external_map

    def check(self) -> None:
        """Loads the manifests; ConfigError for options that cannot be combined."""
        if self.mode == "real":
            self._check_real()
        others = ("wall_clock", "real_time", "view")
        if self.lockstep and (given := [name for name in others if getattr(self, name)]):
            other = "--" + given[0].replace("_", "-")
            raise ConfigError(f"--lockstep runs on simulated time without windows; drop {other}")
        if self.lockstep and not (self.skill or self.duration_s):
            raise ConfigError("--lockstep needs --skill or --duration: nobody could end it")
        if self.episodes > 1 and not self.scene_ref:
            raise ConfigError(f"--episodes {self.episodes} needs a scene to start anew: --config")
        if self.record is not None and self.record.exists():
            raise ConfigError(f"{self.record} exists already; give --record another name")
        robot = self.robot  # raises if its manifest is invalid
        if self.unknown_blocks and not (self.maps or self.external_map):
            raise ConfigError(
                f"--unknown-blocks needs a map: '{robot.id}' has no depth camera; with one of "
                "another program's, add --external-map"
            )
        if self.skill:
            require_fit(describe(self.skill, robot, 1.0), robot, None)

    def _check_real(self) -> None:
        refused = {
            "a scene": self.scene_ref,
            "warn_only": self.warn_only,
            "a real-time factor": self.rtf != 1.0,
            "lock-step": self.lockstep,
        }
        for what, given in refused.items():
            if given:
                raise ConfigError(f"hardware takes no simulation: {what} goes with `deploy sim`")
        if not self.robot_ref:
            raise ConfigError("which robot? hardware is named with --robot")
        if self.robot.hal.real is None:
            raise ConfigError(
                f"'{self.robot.id}' has no hardware driver: set hal.real in its robot.yaml"
            )

    @property
    def first_seed(self) -> int:
        """The seed of the first episode, from the options, else from the scene, else 0."""
        if self.seed is not None:
            return self.seed
        return self.scene.task.seed if self.scene and self.scene.task else 0

    @property
    def transport_text(self) -> str:
        """The driver options as JSON, for the HAL's `transport` parameter; empty if none."""
        return json.dumps(dict(self.transport)) if self.transport else ""
