"""ChunkExecutor: executes chunks row by row, holds and stops; used by every HAL."""

from __future__ import annotations

import threading
from collections.abc import Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openral.errors import SafetyViolation
from openral.graph.states import HalStatus
from openral.hal.execution.chunk_plan import ChunkPlan, Planner
from openral.hal.snapshot import CommandedMotion, frozen
from openral.manifest import ControlMode, RobotDescription
from openral.manifest.joint import JointRole

Vector = NDArray[np.float64]

_NS = 1e-9
# A joint may lag its target by this time at full speed; beyond that something blocks the joint, and
# the target must not run away from it.
_WINDUP_S = 0.25
_END = 1e-9
# A brake ends when the joint is slow or the time is up.
_BRAKE_SLOW = 0.01
_BRAKE_LONGEST_S = 0.4
_STANDING = 0.05
# A target this far from a joint at rest is one that it cannot reach; less is the servo's sag.
_AWAY = 0.01


@dataclass(frozen=True, slots=True)
class Command:
    """The servos' command for one tick."""

    positions: Vector
    """Position targets of all joints, (dof,) in rad or m."""
    torques: Vector | None
    """Torques of the torque-controlled joints, NaN for all others; None: there are none."""
    motion: CommandedMotion
    path: bool = False
    """Whether the targets of successive ticks are a path that the joints must track."""


class ChunkExecutor:
    """Turns chunks into a stream of servo targets without jumps.

    Any thread may call `submit`, `hold`, `stop` and `clear`; they act at the next `tick`, which is
    called by the thread that drives the robot. A newer chunk replaces the rest of an older one;
    after the last row the robot holds position; no joint is commanded faster than its limit.
    """

    def __init__(
        self,
        robot: RobotDescription,
        modes: Set[ControlMode],
        longest_gap_s: float = 0.25,
        brake_s: Vector | float = 0.0,
        ramp_s: float = 0.0,
    ) -> None:
        """Ticks further apart than `longest_gap_s` end a chunk: its timing is lost.

        A stop first leads all joints to a standstill together within `ramp_s`, along the rows that
        they are on: what was proven is that path. One that moves on is told a place behind it,
        `brake_s` times its speed away, so that its servo slows it down at once instead of letting
        it run on and pulling it back.
        """
        self._brake_s, self._ramp_s = brake_s, ramp_s
        self._ramp_from: tuple[Vector, Vector] | None = None
        self._ending: ChunkPlan | None = None  # whose rows a stop goes on along
        self._planner = Planner(robot, modes)
        self._gap = longest_gap_s
        self._speed = np.array([_speed(joint) for joint in robot.driven])
        ranges = np.array([joint.position_range for joint in robot.driven], float).reshape(-1, 2)
        self._low, self._high = ranges.T
        self._grips = np.array(
            [joint.role in (JointRole.GRIPPER, JointRole.HAND) for joint in robot.driven], bool
        )
        self._lock = threading.Lock()
        self._told = np.array(robot.home_position, float)
        self._goal = self._told.copy()
        self._plan: ChunkPlan | None = None
        self._elapsed = 0.0
        self._waiting: tuple[ChunkPlan, int | None] | None = None
        self._stopped: str | None = None
        self._braking = np.zeros(self._told.size, dtype=bool)
        self._braked_s = 0.0
        self._motion = CommandedMotion(applied=frozen(self._told))

    @property
    def stopped(self) -> bool:
        """Whether an e-stop is latched."""
        return self._stopped is not None

    @property
    def busy(self) -> bool:
        """Whether a chunk is executed or waiting, or joints still brake or a gripper moves."""
        moving = self._braking.any() or not np.array_equal(self._goal, self._told)
        return self._plan is not None or self._waiting is not None or bool(moving)

    @property
    def braking(self) -> bool:
        """Whether joints are being braked."""
        return bool(self._braking.any())

    @property
    def waiting(self) -> bool:
        """Whether a chunk waits for the next tick."""
        return self._waiting is not None

    @property
    def motion(self) -> CommandedMotion:
        """The command of the last tick."""
        return self._motion

    def seed(self, positions: Vector, reason: str = "connected") -> None:
        """Drops everything and holds `positions`: after connecting, or after a scene reset."""
        with self._lock:
            self._told = np.array(positions, float)
            self._goal = self._told.copy()
            self._plan = self._waiting = self._ending = None
            self._braking[:] = False
            self._rest(reason)

    def submit(self, chunk: Any, expires_ns: int | None = None) -> None:
        """Executes a chunk from the next tick on, unless that is later than `expires_ns`."""
        plan = self._planner.plan(chunk)
        with self._lock:
            if self._stopped is not None:
                raise SafetyViolation(f"stopped ({self._stopped}); clear the stop before moving")
            self._waiting = (plan, expires_ns)

    def hold(self, reason: str) -> None:
        """Drops all chunks and brakes the joints if one was in execution."""
        with self._lock:
            if self._plan is not None:
                self._brake()
            self._drop(reason)

    def stop(self, reason: str) -> None:
        """Latches a stop: from the next tick on all joints brake, then hold position."""
        with self._lock:
            if self._stopped is None:
                self._stopped = reason
                self._brake()
            self._drop(f"estop: {self._stopped}")

    def clear(self) -> None:
        """Clears a stop: holds the joints' position at the next tick."""
        with self._lock:
            if self._stopped is not None:
                self._stopped = None
                self._brake()
                self._drop("estop cleared")

    def tick(self, start_ns: int, end_ns: int, measured: Vector, velocities: Vector) -> Command:
        """The servos' command from `start_ns` to `end_ns`.

        `measured` and `velocities`: the present joint state, (dof,), in rad, m and s.
        """
        seconds = (end_ns - start_ns) * _NS
        with self._lock:
            self._take(start_ns, measured)
            if self._plan is not None and not 0.0 < seconds <= self._gap:
                self._brake()
                self._drop("stalled" if seconds > 0.0 else "clock went back")
            if self._braking.any() and self._braked_s == 0.0:
                self._spare_the_standing(measured, velocities)
            ramping = self._braking.any() and self._braked_s < self._ramp_s
            if ramping:
                self._ramp_down(max(seconds, 0.0), measured, velocities)
            elif self._braking.any():
                self._slow_down(max(seconds, 0.0), measured, velocities)
            return self._advance(min(max(seconds, 0.0), self._gap), measured, bool(ramping))

    def _take(self, now_ns: int, measured: Vector) -> None:
        if self._waiting is None:
            return
        (plan, expires_ns), self._waiting = self._waiting, None
        if expires_ns is not None and now_ns > expires_ns:
            self._drop("expired")
            return
        slack = _WINDUP_S * self._speed
        near = np.clip(self._told, measured - slack, measured + slack)
        self._told = np.where(self._grips, self._told, near)
        self._goal = np.where(self._grips, self._goal, self._told)
        self._braking[:] = False
        self._ending = None
        self._plan, self._elapsed = plan, 0.0
        for part in plan.parts:
            part.begin(self._told)

    def _brake(self) -> None:
        if self._plan is None and self._ending is not None and self._braking.any():
            return  # on its way to a standstill already
        self._ending = self._plan
        self._braking = ~self._grips
        self._braked_s = 0.0
        self._ramp_from = None

    def _spare_the_standing(self, measured: Vector, velocities: Vector) -> None:
        """Does not brake a robot at rest: each joint keeps its target unless it is out of reach."""
        if (np.abs(velocities) >= _STANDING)[self._braking].any():
            return
        away = self._braking & (np.abs(self._told - measured) > _AWAY)
        self._told = np.where(away, measured, self._told)
        self._goal = np.where(self._braking, self._told, self._goal)
        self._braking[:] = False

    def _ramp_down(self, seconds: float, measured: Vector, velocities: Vector) -> None:
        """All joints along the way that they are on, slower and slower.

        Those that follow rows go on along these; others, and those driven by torque, straight on.
        """
        if self._ramp_from is None:
            self._ramp_from = measured, np.clip(velocities, -self._speed, self._speed)
        place, speed = self._ramp_from
        before = self._ramp_way()
        self._braked_s += seconds
        way = self._ramp_way()
        place = place + speed * way
        if self._ending is not None:
            self._elapsed = min(self._elapsed + way - before, self._ending.seconds)
            for part in self._ending.parts:
                if not part.torque:
                    place[part.columns] = part.values(
                        self._elapsed, self._told, self._speed * seconds
                    )
        place = np.clip(place, self._low, self._high)
        self._told = np.where(self._braking, place, self._told)
        self._goal = np.where(self._braking, place, self._goal)

    def _ramp_way(self) -> float:
        """Seconds at full speed that a speed which falls in a straight line has made so far."""
        left = max(0.0, 1.0 - self._braked_s / self._ramp_s)
        return 0.5 * self._ramp_s * (1.0 - left * left)

    def _slow_down(self, seconds: float, measured: Vector, velocities: Vector) -> None:
        slow = (np.abs(velocities) < _BRAKE_SLOW) | (self._braked_s > _BRAKE_LONGEST_S)
        behind = np.where(slow, 0.0, self._brake_s) * velocities
        place = np.clip(measured - behind, self._low, self._high)
        self._told = np.where(self._braking, place, self._told)
        self._goal = np.where(self._braking, place, self._goal)
        self._braking &= ~slow
        self._braked_s += seconds

    def _advance(self, seconds: float, measured: Vector, ramping: bool) -> Command:
        reach = self._speed * seconds
        torques = None
        plan = self._plan
        if plan is not None:
            torques = self._row(plan, seconds, measured, reach)
        self._told = self._within(self._goal, reach)
        applied = frozen(self._told)
        if plan is None:
            return Command(applied, None, self._rest(self._motion.reason), ramping)
        row = min(int(self._elapsed / plan.dt - _END), plan.rows - 1)
        shown = torques is not None or any(part.cartesian for part in plan.parts)
        requested = frozen([]) if shown else frozen(self._goal)
        self._motion = CommandedMotion(
            HalStatus.EXECUTING, "", plan.sequence, plan.trace_id, row, requested, applied
        )
        command = Command(applied, torques, self._motion, torques is None)
        if self._elapsed >= plan.seconds - _END:
            if torques is not None:  # torque-controlled joints may still move
                self._brake()
            self._drop("finished")
        return command

    def _row(
        self, plan: ChunkPlan, seconds: float, measured: Vector, reach: Vector
    ) -> Vector | None:
        """Sets the goals of a tick; returns the torques if the plan has any."""
        self._elapsed = min(self._elapsed + seconds, plan.seconds)
        torques = None
        for part in plan.parts:
            values = part.values(self._elapsed, self._told, reach)
            if part.torque:
                torques = np.full(self._told.size, np.nan) if torques is None else torques
                torques[part.columns] = values
                # Position control that follows torque control starts at the measured position.
                self._told[part.columns] = measured[part.columns]
                self._goal[part.columns] = measured[part.columns]
            else:
                self._goal[part.columns] = values
        return torques

    def _within(self, goal: Vector, reach: Vector) -> Vector:
        """A step towards the goal within speed and range; a joint out of range may return."""
        told = self._told
        inside = np.clip(goal, np.minimum(self._low, told), np.maximum(self._high, told))
        return np.asarray(told + np.clip(inside - told, -reach, reach))

    def _drop(self, reason: str) -> None:
        self._plan = self._waiting = None
        self._goal = np.where(self._grips & (self._stopped is None), self._goal, self._told)
        self._rest(reason)

    def _rest(self, reason: str) -> CommandedMotion:
        last = self._motion
        status = HalStatus.HOLDING if self._stopped is None else HalStatus.STOPPED
        applied = frozen(self._told)
        self._motion = CommandedMotion(
            status, reason, last.sequence, last.trace_id, -1, applied, applied
        )
        return self._motion


def _speed(joint: Any) -> float:
    assert joint.limits is not None
    return float(joint.limits.velocity)
