from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from openral.ros.tf import Rigid

coordinate = st.floats(-10, 10)
component = st.floats(-1, 1)


def _rigid(parts: tuple[list[float], list[float]]) -> Rigid:
    translation, quaternion = parts
    return Rigid(np.array(translation), Rotation.from_quat(quaternion))


rigids = st.tuples(
    st.lists(coordinate, min_size=3, max_size=3),
    st.lists(component, min_size=4, max_size=4).filter(lambda q: np.linalg.norm(q) > 0.1),
).map(_rigid)


def close(first: Rigid, second: Rigid, tolerance: float = 1e-9) -> bool:
    return bool(np.allclose(first.matrix(), second.matrix(), atol=tolerance))
