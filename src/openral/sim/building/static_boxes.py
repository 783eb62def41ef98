"""Static boxes around a robot and extents of bodies, read from a compiled model."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from openral.sim.rollout import StaticBox


def static_boxes(model: mujoco.MjModel, root_pose: NDArray[np.float64]) -> tuple[StaticBox, ...]:
    """The colliding boxes of the world body, in the robot's root frame."""
    to_root = np.linalg.inv(root_pose)
    found = []
    for geom in range(model.ngeom):
        box = int(model.geom_type[geom]) == int(mujoco.mjtGeom.mjGEOM_BOX)
        if not box or int(model.geom_bodyid[geom]) != 0 or not model.geom_contype[geom]:
            continue
        place = np.eye(4)
        quat = Rotation.from_quat(model.geom_quat[geom], scalar_first=True)
        place[:3, :3], place[:3, 3] = quat.as_matrix(), model.geom_pos[geom]
        seen = to_root @ place
        turn = Rotation.from_matrix(seen[:3, :3]).as_quat(scalar_first=True)
        half = tuple(float(v) for v in model.geom_size[geom])
        pose = np.concatenate([seen[:3, 3], turn])
        found.append(StaticBox(model.geom(geom).name, pose, (half[0], half[1], half[2])))
    return tuple(found)


def body_half(model: mujoco.MjModel, body: int) -> tuple[float, float, float]:
    """Half extents in m of the box around a body's geometry, along the body's own axes."""
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    first = int(model.body_geomadr[body])
    for geom in range(first, first + int(model.body_geomnum[body])):
        centre, half = model.geom_aabb[geom, :3], model.geom_aabb[geom, 3:]
        turn = Rotation.from_quat(model.geom_quat[geom], scalar_first=True).as_matrix()
        middle = model.geom_pos[geom] + turn @ centre
        reach = np.abs(turn) @ half
        low, high = np.minimum(low, middle - reach), np.maximum(high, middle + reach)
    if not np.isfinite(low).all():
        return (0.0, 0.0, 0.0)
    x, y, z = np.maximum(np.abs(low), np.abs(high)).tolist()
    return (x, y, z)
