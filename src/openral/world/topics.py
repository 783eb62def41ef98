"""Names of the topics and services that the world's node adds to the graph."""

from __future__ import annotations

VOXEL_POINTS = "/openral/world_voxels/points"
"""Centres of the occupied voxels, for RViz and Foxglove."""
WORLD_STATE = "/openral/world_state"
OBJECTS = "/openral/objects"
CLEAR = "/openral/clear_map"
"""The service that makes the whole map unknown again."""


def depth(sensor: str) -> str:
    """A depth camera's pictures."""
    return f"/openral/cameras/{sensor}/depth"


def points(sensor: str) -> str:
    """A depth camera's clouds."""
    return f"/openral/cameras/{sensor}/points"


def camera_info(sensor: str) -> str:
    """A camera's lens."""
    return f"/openral/cameras/{sensor}/camera_info"
