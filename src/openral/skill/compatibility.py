"""Whether a skill fits a robot: all that can be checked before the first motion."""

from __future__ import annotations

from collections.abc import Collection

from openral.errors import CapabilityMismatch, choices
from openral.manifest import ControlMode, RobotDescription, SkillDescription
from openral.manifest.sensor import Camera
from openral.manifest.skill import CameraNeed
from openral.skill.spaces.action_space import ActionSpace
from openral.skill.spaces.state_vector import StateVector


def require_fit(
    skill: SkillDescription, robot: RobotDescription, modes: Collection[ControlMode] | None
) -> None:
    """Raises CapabilityMismatch with everything that does not fit.

    `modes` are the control modes that the HAL reports; None skips that check.
    """
    problems = [*_embodiment(skill, robot), *_cameras(skill, robot)]
    space: ActionSpace | None = None
    try:
        space = ActionSpace(skill, robot)
    except CapabilityMismatch as error:
        problems.append(f"action: {error}")
    try:
        StateVector(skill, robot)
    except CapabilityMismatch as error:
        problems.append(f"state: {error}")
    problems += _starting_pose(skill, robot)
    if space is not None and modes is not None:
        problems += _modes(space, modes)
    if problems:
        listed = "; ".join(problems)
        raise CapabilityMismatch(f"skill '{skill.id}' does not fit robot '{robot.id}': {listed}")


def camera_of(robot: RobotDescription, feature_key: str) -> Camera | None:
    """The colour camera with this feature key, full or short; its name where it has none."""
    for camera in robot.cameras:
        known = (camera.vla_feature_key or camera.name, camera.key)
        if isinstance(camera, Camera) and feature_key in known:
            return camera
    return None


def _embodiment(skill: SkillDescription, robot: RobotDescription) -> list[str]:
    tags = {robot.id, *robot.embodiment_tags}
    if not skill.embodiment_tags or tags & set(skill.embodiment_tags):
        return []
    made_for = ", ".join(skill.embodiment_tags)
    return [f"it was made for {made_for}; the robot's embodiments are {', '.join(sorted(tags))}"]


def _cameras(skill: SkillDescription, robot: RobotDescription) -> list[str]:
    return [problem for need in skill.cameras if (problem := _camera(need, robot))]


def _camera(need: CameraNeed, robot: RobotDescription) -> str:
    camera = camera_of(robot, need.vla_feature_key)
    if camera is None:
        keys = [c.vla_feature_key or c.name for c in robot.cameras if isinstance(c, Camera)]
        hint = choices(need.vla_feature_key, keys, "cameras")
        return f"no camera carries '{need.vla_feature_key}'; {hint}"
    if need.resolution is not None and camera.resolution != need.resolution:
        return (
            f"camera '{camera.name}' ({need.vla_feature_key}) has "
            f"{_size(camera.resolution)} pixels, the policy takes {_size(need.resolution)}"
        )
    return ""


def _starting_pose(skill: SkillDescription, robot: RobotDescription) -> list[str]:
    names = robot.joint_names
    return [
        f"starting pose: no joint '{name}'; {choices(name, names, 'joints')}"
        for name in skill.starting_pose or {}
        if name not in names
    ]


def _modes(space: ActionSpace, modes: Collection[ControlMode]) -> list[str]:
    able = [str(mode) for mode in ControlMode if mode in modes]
    return [
        f"the HAL cannot execute {mode}; {choices(str(mode), able, 'it can execute')}"
        for mode in ControlMode
        if mode in space.modes and mode not in modes
    ]


def _size(resolution: tuple[int, int]) -> str:
    return f"{resolution[0]}×{resolution[1]}"
