"""PolicyHost: where a policy runs. Everything here returns at once; answers are polled for."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from openral.errors import OpenralError, PolicyFailed
from openral.sim.rollout import Observation
from openral.skill.library import make_skill
from openral.skill.skill import Finishing, Skill, SkillContext


@dataclass(frozen=True)
class PolicyOrder:
    """What is to be made."""

    entry_point: str
    """Name of the skill in `skill.library`."""
    context: SkillContext
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Loaded:
    """The policy is ready."""

    cameras: tuple[str, ...]
    """Keys of the cameras that it needs."""


@dataclass(frozen=True)
class Answer:
    """What it answered to an observation."""

    rows: Any
    """As the policy gave them; None: it is done."""
    seconds: float
    """That it took."""


class PolicyHost(Protocol):
    """One policy, somewhere. After PolicyFailed it is of no use any more."""

    def begin(self, order: PolicyOrder, timeout_s: float) -> None:
        """Starts to load it."""

    def reset(self, seed: int) -> None:
        """Begins an episode."""

    def ask(self, observation: Observation, timeout_s: float) -> None:
        """Starts to think."""

    def poll(self) -> Loaded | Answer | None:
        """What has come since; raises PolicyFailed, or what loading refused with."""

    def rest(self) -> None:
        """A goal has ended; the next one may be for the same policy."""

    def close(self) -> None:
        """Lets it go, also in the middle of a thought."""


class InlinePolicy:
    """Runs the policy on the caller's thread: for lock-step, where nothing else may happen."""

    def __init__(self) -> None:
        self._skill: Skill | None = None
        self._reply: Loaded | Answer | None = None

    def begin(self, order: PolicyOrder, timeout_s: float) -> None:
        """Loads it."""
        self._skill = load(order)
        self._reply = Loaded(tuple(self._skill.cameras))

    def reset(self, seed: int) -> None:
        """Begins an episode."""
        assert self._skill is not None
        self._skill.reset(seed)

    def ask(self, observation: Observation, timeout_s: float) -> None:
        """Thinks."""
        assert self._skill is not None
        self._reply = think(self._skill, observation)

    def poll(self) -> Loaded | Answer | None:
        """What has come."""
        reply, self._reply = self._reply, None
        return reply

    def rest(self) -> None:
        """Lets it go: every goal begins alike."""
        self.close()

    def close(self) -> None:
        """Lets it go."""
        self._skill = None


def load(order: PolicyOrder) -> Skill:
    """Makes the skill; what it refuses stays an OpenralError, all else is a PolicyFailed."""
    try:
        return make_skill(order.entry_point, order.context, order.parameters)
    except OpenralError:
        raise
    except Exception as error:
        raise PolicyFailed(f"skill '{order.entry_point}' cannot be made: {error!r}") from error


def think(skill: Skill, observation: Observation) -> Answer:
    """One answer; whatever the policy raises is a PolicyFailed."""
    began = time.perf_counter()
    try:
        done = isinstance(skill, Finishing) and skill.finished(observation)
        rows = None if done else skill.act(observation)
    except Exception as error:
        raise PolicyFailed(f"the policy raised {error!r}") from error
    return Answer(rows, time.perf_counter() - began)
