"""openral's C++ core."""

import numpy as np
from numpy.typing import NDArray

class Tree:
    """Forward kinematics of a tree of links."""

    @staticmethod
    def make(
        kinds: NDArray[np.int32],
        parents: NDArray[np.int32],
        origins: NDArray[np.float64],
        axes: NDArray[np.float64],
        coordinates: NDArray[np.int32],
        multipliers: NDArray[np.float64],
        offsets: NDArray[np.float64],
        dof: int,
    ) -> Tree: ...
    def forward(self, q: NDArray[np.float64]) -> NDArray[np.float64]: ...
