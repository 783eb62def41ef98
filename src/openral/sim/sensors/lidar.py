"""PlanarLidar: a laser scanner whose beams are cast into a MuJoCo model."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from openral.errors import ConfigError, choices
from openral.manifest import RobotDescription
from openral.manifest.sensor import Lidar
from openral.sim.rollout import Depth, Vector

_FULL_TURN = 2 * math.pi


def beam_angles(lidar: Lidar) -> Vector:
    """Angle of each beam about the scanner's z axis in rad; a full turn excludes its end."""
    first, last = lidar.angle_rad
    full = abs(last - first - _FULL_TURN) < 1e-9
    return np.linspace(first, last, lidar.beams, endpoint=not full)


class PlanarLidar:
    """Casts all beams at once; the robot's own bodies are transparent."""

    def __init__(
        self, robot: RobotDescription, model: mujoco.MjModel, name: str, own_bodies: range
    ) -> None:
        by_name = {lidar.name: lidar for lidar in robot.lidars}
        if name not in by_name:
            raise ConfigError(
                f"robot '{robot.id}' has no lidar '{name}'; {choices(name, by_name, 'lidars')}"
            )
        self.lidar = by_name[name]
        self._model = model
        self._site = int(model.site(name).id)
        angles = beam_angles(self.lidar)
        self._local = np.stack([np.cos(angles), np.sin(angles), np.zeros_like(angles)], axis=1)
        self._own = np.isin(model.geom_bodyid, np.arange(own_bodies.start, own_bodies.stop))
        # A geom group that contains only the robot need not be cast at all.
        others = set(model.geom_group[~self._own].tolist())
        self._groups = np.array([group in others for group in range(6)], np.uint8)

    def scan(self, data: mujoco.MjData) -> Depth:
        """Ranges (beams,) in m, first angle first; inf: out of range, -inf: too near (REP 117).

        Body poses must be up to date.
        """
        count, (near, far) = len(self._local), self.lidar.range_m
        directions = self._local @ data.site_xmat[self._site].reshape(3, 3).T
        start = np.array(data.site_xpos[self._site])
        ranges = self._cast(data, start, directions, far)
        out = np.full(count, np.inf, np.float32)
        hit = ranges >= 0
        out[hit] = np.where(ranges[hit] < near, -np.inf, ranges[hit])
        out[out > far] = np.inf
        return out

    def _cast(self, data: mujoco.MjData, start: Vector, directions: Vector, far: float) -> Vector:
        """Distance of the first geom that is not the robot's own, -1 where there is none."""
        total = np.full(len(directions), -1.0)
        open_beams = np.arange(len(directions))
        travelled = np.zeros(len(directions))
        # A beam that hits the robot continues from there; a few crossings reach the outside.
        for _ in range(16):
            if not len(open_beams):
                break
            geom, found = self._first(data, start, directions, open_beams, travelled, far)
            missed = geom < 0
            own = np.zeros_like(missed)
            own[~missed] = self._own[geom[~missed]]
            done = ~missed & ~own
            total[open_beams[done]] = travelled[open_beams[done]] + found[done]
            travelled[open_beams[own]] += found[own] + 1e-5
            open_beams = open_beams[own]
        return total

    def _first(
        self,
        data: mujoco.MjData,
        start: Vector,
        directions: Vector,
        beams: np.ndarray[tuple[int], np.dtype[np.int64]],
        travelled: Vector,
        far: float,
    ) -> tuple[np.ndarray[tuple[int], np.dtype[np.int32]], Vector]:
        geom = np.full(len(beams), -1, np.int32)
        found = np.full(len(beams), -1.0)
        fresh = travelled[beams] == 0
        if fresh.all():  # all beams start at one point: one call for all of them
            mujoco.mj_multiRay(
                self._model, data, start, directions[beams].ravel(), self._groups, 1, -1,
                geom, found, None, len(beams), far,
            )  # fmt: skip
            return geom, found
        one = np.zeros(1, np.int32)
        for i, beam in enumerate(beams):
            point = start + travelled[beam] * directions[beam]
            found[i] = mujoco.mj_ray(
                self._model, data, point, directions[beam], self._groups, 1, -1, one, None
            )
            geom[i] = one[0] if found[i] >= 0 else -1
        return geom, found
