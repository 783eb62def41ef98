"""Names of the topics and services that the world node adds to the graph."""

from __future__ import annotations

VOXEL_POINTS = "/openral/world_voxels/points"
"""Centres of the occupied voxels, for RViz and Foxglove."""
WORLD_STATE = "/openral/world_state"
OBJECTS = "/openral/objects"
CLEAR = "/openral/clear_map"
"""The service that makes the whole map unknown again."""


def depth(sensor: str) -> str:
    """Topic of a depth camera's images."""
    return f"/openral/cameras/{sensor}/depth"


def points(sensor: str) -> str:
    """Topic of a depth camera's point clouds."""
    return f"/openral/cameras/{sensor}/points"


def camera_info(sensor: str) -> str:
    """Topic of a camera's intrinsics."""
    return f"/openral/cameras/{sensor}/camera_info"
