"""The arm driven at the counter: one scene a seed, in every mode, with the gate and without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import mujoco
import numpy as np

from openral.manifest import RobotDescription
from tests.world.counter_streams import ARM, into_the_counter, stream, tucked
from tests.world.kitchen_rig import ROBOT, Kitchen, at_counter

COUNTER = ("counter_north", "counter_north_top")
ACCELERATION = np.array([900.0, 400.0, 1000.0, 750.0, 400.0, 350.0, 200.0])
"""More than all motors together at full effort do to a joint of the twin's, in any pose."""


class Veto(NamedTuple):
    """What the last verdict said."""

    status: str
    mode: str
    latched: bool
    text: str


@dataclass(frozen=True)
class Run:
    """How one drive at the counter went."""

    mode: str
    seed: int
    gated: bool
    contacts: tuple[tuple[str, str], ...]
    """What of the robot touched what of the kitchen."""
    accepted: int
    slowest: float
    """Least share of its speed that a chunk was let pass at."""
    last: Veto | None
    """None without the gate."""
    gap_m: float
    """Between the kitchen and the links of the arm that the kernel checks, in the end."""
    finger_gap_m: float
    """The same for its fingers, which have no geometry for the kernel."""
    same_on_wall_clock: bool
    """Whether every verdict was the same under wall time."""

    @property
    def hit_the_counter(self) -> bool:
        return any(name in COUNTER for pair in self.contacts for name in pair)


def torque_robot() -> RobotDescription:
    """The robot with what its motors can do stated, without which no torque is proven."""
    data = ROBOT.model_dump()
    for joint in data["joints"]:
        if joint["name"] in ARM:
            joint["limits"]["acceleration"] = float(ACCELERATION[ARM.index(joint["name"])])
    return RobotDescription.model_validate(data)


class CounterDrives:
    """All drives of a seed: a place in front of the counter and a way into it."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        start = at_counter(rng)
        self.seed, self.way = seed, into_the_counter(start, rng)
        self.kitchen = Kitchen(start, tucked(), robot=torque_robot(), gated=False, seed=seed)

    def __enter__(self) -> CounterDrives:
        return self

    def __exit__(self, *error: object) -> None:
        self.kitchen.close()

    def run(self, mode: str, gated: bool) -> Run:
        kitchen = self.kitchen
        kitchen.begin(gated)
        if gated:
            kitchen.step(0.6)  # three looks before anything moves
        kitchen.drive(stream(mode, self.way, kitchen.joints), self.way.seconds + 2.0, 0.04)
        return Run(
            mode,
            self.seed,
            gated,
            tuple(sorted(kitchen.contacts)),
            sum(v.accepted for v in kitchen.verdicts),
            min((v.speed_factor for v in kitchen.verdicts if v.accepted), default=1.0),
            _veto(kitchen.verdicts[-1]) if gated else None,
            *self._gaps(),
            all(map(_alike, kitchen.verdicts, kitchen.wall_verdicts)),
        )

    def _gaps(self) -> tuple[float, float]:
        """From the arm, and from its fingers, to what stands or lies in the kitchen."""
        model, data = self.kitchen.rollout.model, self.kitchen.rollout.data
        mujoco.mj_forward(model, data)
        solid = (model.geom_contype | model.geom_conaffinity) != 0
        own = self.kitchen.rollout._own_geoms[: model.ngeom]
        gaps = {True: 1.0, False: 1.0}
        things = [i for i in np.flatnonzero(solid & ~own) if model.geom(i).name != "floor"]
        for i in np.flatnonzero(solid & own):
            name = model.geom(i).name
            if name.startswith(("base", "mast")):
                continue
            for thing in things:
                away = mujoco.mj_geomDistance(model, data, i, thing, 1.0, None)
                gaps["finger" in name] = min(gaps["finger" in name], float(away))
        return gaps[False], gaps[True]


def _veto(verdict: Any) -> Veto:
    return Veto(verdict.status, verdict.mode, verdict.latched, str(verdict))


def _alike(sim: Any, wall: Any) -> bool:
    return bool(
        sim.status == wall.status
        and sim.speed_factor == wall.speed_factor
        and str(sim) == str(wall)
    )
