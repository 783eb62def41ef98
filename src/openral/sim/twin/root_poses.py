"""RootPoses: a snapshot of body poses, transformed to a robot's root frame on access."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import mujoco
import numpy as np

from openral.sim.rollout import Vector


class RootPoses(Mapping[str, Vector]):
    """Poses (7,) by name: x y z, quaternion w x y z; computed lazily: most steps need none.

    The snapshot takes ownership of the given arrays, which are in the world frame.
    """

    __slots__ = ("_names", "_positions", "_quaternions", "_to_root")

    def __init__(
        self, names: tuple[str, ...], positions: Vector, quaternions: Vector, to_root: Vector
    ) -> None:
        self._names, self._to_root = names, to_root
        self._positions, self._quaternions = positions, quaternions

    def __getitem__(self, name: str) -> Vector:
        if name not in self._names:
            raise KeyError(name)
        index = self._names.index(name)
        out, turn = np.empty(7), np.empty(4)
        out[:3] = self._to_root[:3, :3] @ self._positions[index] + self._to_root[:3, 3]
        mujoco.mju_mat2Quat(turn, self._to_root[:3, :3].ravel())
        mujoco.mju_mulQuat(out[3:], turn, self._quaternions[index])
        return out

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
