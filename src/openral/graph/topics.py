"""Names and QoS profiles of the topics and services between nodes."""

from __future__ import annotations

from openral.ros import qos

COMMAND, LATCHED, SENSOR, STATE = qos.COMMAND, qos.LATCHED, qos.SENSOR, qos.STATE

# Motion: from a proposer by way of the kernel to the HAL
CANDIDATE = "/openral/candidate_action"
VERDICT = "/openral/verdict"
SAFE_ACTION = "/openral/safe_action"
APPLIED = "/openral/applied_action"
EXECUTE_SKILL = "/openral/execute_skill"
STEPS = "/openral/skill_steps"
CMD_VEL = "/cmd_vel"

# Safety
SAFETY_STATE = "/openral/safety_state"
ESTOP = "/openral/estop"
"""The topic of stop events, and the service that stops and reports the outcome."""
RESET = "/openral/reset"
RECOVER = "/openral/recover"
REFUSAL = "/openral/last_refusal"
"""The verdict that latched the last stop, kept for late subscribers."""

# The robot
HAL_STATE = "/openral/hal_state"
JOINT_STATES = "/joint_states"
ODOM = "/odom"
SCAN = "/scan"
ROBOT_DESCRIPTION = "/robot_description"

# The world
WORLD = "/openral/world_collision"
VOXELS = "/openral/world_voxels"
VOXEL_POINTS = "/openral/world_voxels/points"
"""Centres of the occupied voxels, for RViz and Foxglove."""
WORLD_STATE = "/openral/world_state"
OBJECTS = "/openral/objects"
"""The task's objects with their true poses: simulation only, not an input of the kernel."""
CLEAR_MAP = "/openral/clear_map"
"""The service that makes the whole map unknown again."""
WORLD_FRAME = "world"

# The scene, the run and its faults
EPISODE = "/openral/episode"
RESET_SCENE = "/openral/reset_scene"
TIME_LEASE = "/openral/time_lease"
DIAGNOSTICS = "/diagnostics"


def failure(source: str) -> str:
    """Where a node reports what went wrong: hal, safety, skill, world or recorder."""
    return f"/openral/failure/{source}"


FAILURE_HAL = failure("hal")
FAILURE_RECORDER = failure("recorder")
FAILURE_SAFETY = failure("safety")
FAILURE_SKILL = failure("skill")


def camera(sensor: str, what: str) -> str:
    """A camera's topic: image, camera_info, depth or points."""
    return f"/openral/cameras/{sensor}/{what}"


def lidar(sensor: str) -> str:
    """A lidar's own topic, for robots with several."""
    return f"/openral/lidars/{sensor}/scan"


def reset_to_pose(robot_id: str) -> str:
    """The service that moves a robot to a pose."""
    return f"/openral/{robot_id}/reset_to_pose"
