from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from openral.hal.execution.so3 import rotation_matrix, rotation_vector

vectors = st.tuples(*[st.floats(-3.0, 3.0)] * 3)


@given(vectors)
def test_matrices_equal_scipy(vector: Any) -> None:
    assert np.allclose(rotation_matrix(np.array(vector)), Rotation.from_rotvec(vector).as_matrix())


@given(vectors)
def test_vectors_come_back_as_the_same_turn(vector: Any) -> None:
    matrix = Rotation.from_rotvec(vector).as_matrix()
    back = rotation_vector(matrix)
    assert np.linalg.norm(back) <= np.pi + 1e-9
    assert np.allclose(Rotation.from_rotvec(back).as_matrix(), matrix, atol=1e-7)
