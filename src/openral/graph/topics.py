"""Names and QoS of the topics and services between proposers, kernel and HAL."""

from openral.ros.qos import COMMAND, LATCHED, SENSOR, STATE

CANDIDATE = "/openral/candidate_action"
SAFE_ACTION = "/openral/safe_action"
SAFETY_STATE = "/openral/safety_state"
ESTOP = "/openral/estop"
"""The topic of stop events, and the service that stops and reports the outcome."""
RESET = "/openral/reset"
RECOVER = "/openral/recover"
VERDICT = "/openral/verdict"
REFUSAL = "/openral/last_refusal"
"""The verdict that latched the last stop, kept for late subscribers."""
FAILURE = "/openral/failure/safety"
HAL_STATE = "/openral/hal_state"
JOINT_STATES = "/joint_states"
ODOM = "/odom"
WORLD = "/openral/world_collision"
VOXELS = "/openral/world_voxels"

__all__ = [
    "CANDIDATE",
    "COMMAND",
    "ESTOP",
    "FAILURE",
    "HAL_STATE",
    "JOINT_STATES",
    "LATCHED",
    "ODOM",
    "RECOVER",
    "REFUSAL",
    "RESET",
    "SAFETY_STATE",
    "SAFE_ACTION",
    "SENSOR",
    "STATE",
    "VERDICT",
    "VOXELS",
    "WORLD",
]
