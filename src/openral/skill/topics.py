"""Names of the topics that the skill runner uses beyond those of the safety kernel."""

from openral.graph.topics import CANDIDATE, HAL_STATE, JOINT_STATES, SAFETY_STATE, VERDICT, WORLD

APPLIED = "/openral/applied_action"
OBJECTS = "/openral/objects"
WORLD_STATE = "/openral/world_state"
EPISODE = "/openral/episode"
STEPS = "/openral/skill_steps"
EXECUTE_SKILL = "/openral/execute_skill"
FAILURE = "/openral/failure/skill"
WORLD_FRAME = "world"


def image_topic(sensor: str) -> str:
    """The topic of a camera's images."""
    return f"/openral/cameras/{sensor}/image"


__all__ = [
    "APPLIED",
    "CANDIDATE",
    "EPISODE",
    "EXECUTE_SKILL",
    "FAILURE",
    "HAL_STATE",
    "JOINT_STATES",
    "OBJECTS",
    "SAFETY_STATE",
    "STEPS",
    "VERDICT",
    "WORLD",
    "WORLD_FRAME",
    "WORLD_STATE",
    "image_topic",
]
