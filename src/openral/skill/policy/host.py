"""PolicyHost: the interface to a policy, wherever it runs; its replies are polled."""

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
    """The policy to load."""

    entry_point: str
    """Name of the skill in `skill.library`."""
    context: SkillContext
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Loaded:
    """Reply: the policy is loaded."""

    cameras: tuple[str, ...]
    """Keys of the cameras that the policy needs."""


@dataclass(frozen=True)
class Answer:
    """Reply: the policy's output for one observation."""

    rows: Any
    """As the policy returned them, unchecked; None: the skill is done."""
    seconds: float
    """Inference time."""


class PolicyHost(Protocol):
    """One policy; calls do not wait for it unless it runs inline. Unusable after PolicyFailed."""

    def begin(self, order: PolicyOrder, timeout_s: float) -> None:
        """Starts to load the policy."""

    def reset(self, seed: int) -> None:
        """Begins an episode."""

    def ask(self, observation: Observation, timeout_s: float) -> None:
        """Starts inference on an observation."""

    def poll(self) -> Loaded | Answer | None:
        """The next reply, None if there is none; raises PolicyFailed or the error of loading."""

    def rest(self) -> None:
        """Called when a goal has ended; the next one may use the same policy."""

    def close(self) -> None:
        """Releases the policy, also during inference."""


class InlinePolicy:
    """Runs the policy on the caller's thread: for lock-step, where nothing runs concurrently."""

    def __init__(self) -> None:
        self._skill: Skill | None = None
        self._reply: Loaded | Answer | None = None

    def begin(self, order: PolicyOrder, timeout_s: float) -> None:
        """Loads the policy."""
        self._skill = load(order)
        self._reply = Loaded(tuple(self._skill.cameras))

    def reset(self, seed: int) -> None:
        """Begins an episode."""
        assert self._skill is not None
        self._skill.reset(seed)

    def ask(self, observation: Observation, timeout_s: float) -> None:
        """Runs inference."""
        assert self._skill is not None
        self._reply = think(self._skill, observation)

    def poll(self) -> Loaded | Answer | None:
        """The last reply, once."""
        reply, self._reply = self._reply, None
        return reply

    def rest(self) -> None:
        """Releases the policy, so that every goal starts from the same state."""
        self.close()

    def close(self) -> None:
        """Releases the policy."""
        self._skill = None


def load(order: PolicyOrder) -> Skill:
    """Makes the skill; an OpenralError is passed on, any other exception is a PolicyFailed."""
    try:
        return make_skill(order.entry_point, order.context, order.parameters)
    except OpenralError:
        raise
    except Exception as error:
        raise PolicyFailed(f"skill '{order.entry_point}' cannot be made: {error!r}") from error


def think(skill: Skill, observation: Observation, ends: bool = True) -> Answer:
    """Runs inference once; exceptions of the policy are PolicyFailed. `ends`: it may be done."""
    began = time.perf_counter()
    try:
        done = ends and isinstance(skill, Finishing) and skill.finished(observation)
        rows = None if done else skill.act(observation)
    except Exception as error:
        raise PolicyFailed(f"the policy raised {error!r}") from error
    return Answer(rows, time.perf_counter() - began)
