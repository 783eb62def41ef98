"""The skills hold, home and random, which need no camera."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from openral.errors import ConfigError, choices
from openral.manifest import RobotDescription
from openral.manifest.base import Model, Positive
from openral.sim.rollout import Observation
from openral.skill.skill import Rows, SkillContext

_SPEED = 0.3  # of each joint's limit
_ARRIVED = 0.03  # rad or m: position error that a servo under load may leave


class HoldParameters(Model):
    """Parameters of hold."""


class Hold:
    """Holds the joint positions of the first observation."""

    cameras: tuple[str, ...] = ()

    def __init__(self, context: SkillContext, parameters: HoldParameters) -> None:
        _need_joint_rows(context)
        self._target: Rows | None = None

    def reset(self, seed: int) -> None:
        """Forgets the hold position."""
        self._target = None

    def act(self, observation: Observation) -> Rows:
        """Returns one row, shape (1, dof): the hold position."""
        if self._target is None:
            self._target = observation.joint_positions.copy()
        return self._target[None].copy()


class HomeParameters(Model):
    """Parameters of home."""


class Home:
    """Moves to the manifest's home pose along a straight line in joint space, and stays there."""

    cameras: tuple[str, ...] = ()

    def __init__(self, context: SkillContext, parameters: HomeParameters) -> None:
        _need_joint_rows(context)
        robot = context.robot
        self._home = np.array(robot.home_position)
        limits = [joint.limits.velocity for joint in robot.driven if joint.limits is not None]
        self._step = _SPEED * np.array(limits) / context.rate_hz
        self._went = False

    def reset(self, seed: int) -> None:
        """Forgets that it has moved."""
        self._went = False

    def finished(self, observation: Observation) -> bool:
        """Whether it has moved and arrived at home."""
        return self._went and bool(
            np.abs(observation.joint_positions - self._home).max(initial=0.0) < _ARRIVED
        )

    def act(self, observation: Observation) -> Rows:
        """Returns the whole path home, shape (n, dof)."""
        self._went = True
        start = observation.joint_positions
        count = int(np.ceil(np.max(np.abs(self._home - start) / self._step, initial=1.0)))
        share = np.linspace(0, 1, max(count, 1) + 1)[1:, None]
        return np.asarray(start + share * (self._home - start))


class RandomParameters(Model):
    """Parameters of random."""

    amplitude: Positive = 0.2
    """How far from home a joint may wander, over half its range."""
    speed: Annotated[float, Field(gt=0.0, le=1.0)] = _SPEED
    """Of each joint's limit."""
    rows: int = 10
    """Rows in one answer."""
    joints: tuple[str, ...] = ()
    """Those that wander; empty: all. The others stay at home."""


class Random:
    """Moves at random around home; the same seed gives the same motion."""

    cameras: tuple[str, ...] = ()

    def __init__(self, context: SkillContext, parameters: RandomParameters) -> None:
        _need_joint_rows(context)
        robot = context.robot
        self._rows = parameters.rows
        self._home = np.array(robot.home_position)
        low, high = np.array([joint.position_range for joint in robot.driven]).T
        low = np.where(np.isfinite(low), low, self._home - np.pi)
        high = np.where(np.isfinite(high), high, self._home + np.pi)
        reach = parameters.amplitude * (high - low) / 2
        reach = np.where(_chosen(robot, parameters.joints), reach, 0.0)
        self._low = np.maximum(low, self._home - reach)
        self._high = np.minimum(high, self._home + reach)
        limits = [joint.limits.velocity for joint in robot.driven if joint.limits is not None]
        self._step = parameters.speed * np.array(limits) / context.rate_hz
        self._rng = np.random.default_rng(0)
        self._last: Rows | None = None

    def reset(self, seed: int) -> None:
        """Restarts the random sequence from a seed."""
        self._rng = np.random.default_rng(seed)
        self._last = None

    def act(self, observation: Observation) -> Rows:
        """Returns rows (n, dof) towards a random pose, within the joints' speed limits."""
        row = observation.joint_positions if self._last is None else self._last
        target = self._rng.uniform(self._low, self._high)
        rows = []
        for _ in range(self._rows):
            row = row + np.clip(target - row, -self._step, self._step)
            rows.append(row)
        self._last = row
        return np.array(rows)


def _chosen(robot: RobotDescription, joints: tuple[str, ...]) -> list[bool]:
    names = [joint.name for joint in robot.driven]
    for name in joints:
        if name not in names:
            raise ConfigError(f"no joint '{name}'; {choices(name, names, 'joints')}")
    return [not joints or name in joints for name in names]


def _need_joint_rows(context: SkillContext) -> None:
    joints = len(context.robot.driven)
    if context.action_dim != joints:
        raise ConfigError(
            f"this skill answers with {joints} joint positions, "
            f"the scene takes {context.action_dim} numbers"
        )
