"""Conversion between rotation vectors and matrices, fast for a single rotation."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def rotation_vector(matrix: Matrix) -> Vector:
    """The rotation vector (3,) in rad of a rotation matrix (3, 3)."""
    (_, b, c), (d, _, f), (g, h, _) = matrix.tolist()
    x, y, z = (h - f) / 2.0, (c - g) / 2.0, (d - b) / 2.0
    sine = math.sqrt(x * x + y * y + z * z)
    cosine = (float(np.trace(matrix)) - 1.0) / 2.0
    if sine < 1e-3 and cosine < 0.0:  # near half a turn this formula loses the axis
        return np.asarray(Rotation.from_matrix(matrix).as_rotvec())
    scale = 1.0 if sine < 1e-12 else math.atan2(sine, cosine) / sine
    return np.array([x * scale, y * scale, z * scale])


def rotation_matrix(vector: Vector) -> Matrix:
    """The rotation matrix (3, 3) of a rotation vector (3,) in rad."""
    x, y, z = (float(v) for v in vector)
    angle = math.sqrt(x * x + y * y + z * z)
    if angle < 1e-12:
        return np.array([[1.0, -z, y], [z, 1.0, -x], [-y, x, 1.0]])
    sine = math.sin(angle) / angle
    versine = (1.0 - math.cos(angle)) / (angle * angle)
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + sine * skew + versine * (skew @ skew))
