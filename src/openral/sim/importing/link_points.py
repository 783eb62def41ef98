"""Points of a link's geometry: mesh vertices, and samples of primitives."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

Points = NDArray[np.float64]

_TURN = np.linspace(0, 2 * np.pi, 24, endpoint=False)
_RISE = np.linspace(-np.pi / 2, np.pi / 2, 13)


def body_points(model: mujoco.MjModel, body: int) -> Points:
    """All geometry points (n, 3) of a body in its own frame, in m; n = 0 without geometry."""
    parts = [
        _geom_points(model, geom) for geom in range(model.ngeom) if model.geom_bodyid[geom] == body
    ]
    return np.concatenate(parts) if parts else np.zeros((0, 3))


def _geom_points(model: mujoco.MjModel, geom: int) -> Points:
    local = _local_points(model, geom)
    turn = Rotation.from_quat(model.geom_quat[geom], scalar_first=True)
    return np.asarray(turn.apply(local) + model.geom_pos[geom]) if len(local) else local


def _local_points(model: mujoco.MjModel, geom: int) -> Points:
    kind = int(model.geom_type[geom])
    size = model.geom_size[geom]
    # A polygon inscribed in a circle is smaller; widening it makes the samples enclose the shape.
    wide = 1 / np.cos(np.pi / len(_TURN))
    ring = np.stack([np.cos(_TURN), np.sin(_TURN)], 1) * wide
    if kind == int(mujoco.mjtGeom.mjGEOM_MESH):
        mesh = int(model.geom_dataid[geom])
        first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
        return np.asarray(model.mesh_vert[first : first + count], float)
    if kind == int(mujoco.mjtGeom.mjGEOM_BOX):
        corners = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
        return np.asarray(corners * size)
    if kind == int(mujoco.mjtGeom.mjGEOM_CYLINDER):
        return np.concatenate(
            [np.c_[ring * size[0], np.full(len(ring), z)] for z in (-size[1], size[1])]
        )
    sphere = np.concatenate(
        [np.c_[ring * np.cos(rise), np.full(len(ring), np.sin(rise))] for rise in _RISE]
    )
    if kind == int(mujoco.mjtGeom.mjGEOM_SPHERE):
        return np.asarray(sphere * size[0])
    if kind == int(mujoco.mjtGeom.mjGEOM_ELLIPSOID):
        return np.asarray(sphere * size)
    if kind == int(mujoco.mjtGeom.mjGEOM_CAPSULE):
        ball = sphere * size[0]
        return np.concatenate([ball + np.array([0, 0, z]) for z in (-size[1], size[1])])
    return np.zeros((0, 3))  # planes and height fields belong to the world
