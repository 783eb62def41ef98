"""Installed policies where everything waits for an answer: lock-step and `openral sim run`.

They are confined as in the graph; skills that ship with openral live in the caller's process.
"""

from __future__ import annotations

import math

from openral.errors import ConfigError
from openral.sim.rollout import Observation
from openral.skill.library import is_installed, make_skill
from openral.skill.policy.host import Answer, InlinePolicy, Loaded, PolicyHost, PolicyOrder
from openral.skill.policy.limits import PolicyLimits
from openral.skill.policy.process import PolicyProcess
from openral.skill.skill import Rows, Skill

_NEVER_S = math.inf
"""How fast the machine is must not decide: who waits for a policy that hangs ends it himself."""


class WaitedPolicy:
    """A PolicyHost for lock-step: `begin` and `ask` return once the answer is there."""

    def __init__(self, limits: PolicyLimits | None = None) -> None:
        self._limits = limits
        self._host: PolicyHost = InlinePolicy()
        self._reply: Loaded | Answer | None = None

    def begin(self, order: PolicyOrder, timeout_s: float) -> None:
        """Loads it."""
        self.close()
        self._host = self._process() if is_installed(order.entry_point) else InlinePolicy()
        self._host.begin(order, _NEVER_S)
        self._reply = self._answered()

    def _process(self) -> PolicyProcess:
        return PolicyProcess(self._limits)

    def reset(self, seed: int) -> None:
        """Begins an episode."""
        self._host.reset(seed)

    def ask(self, observation: Observation, timeout_s: float) -> None:
        """Thinks."""
        self._host.ask(observation, _NEVER_S)
        self._reply = self._answered()

    def _answered(self) -> Loaded | Answer | None:
        host = self._host
        return host.wait() if isinstance(host, PolicyProcess) else host.poll()

    def poll(self) -> Loaded | Answer | None:
        """What has come."""
        reply, self._reply = self._reply, None
        return reply

    def rest(self) -> None:
        """Lets it go: every goal begins alike."""
        self.close()

    def close(self) -> None:
        """Lets it go."""
        self._host.close()


class ConfinedSkill:
    """A Skill whose code runs in a confined process; close it."""

    def __init__(self, order: PolicyOrder) -> None:
        self._process = PolicyProcess()
        self._process.begin(order, _NEVER_S)
        try:
            loaded = self._process.wait()
        except BaseException:
            self.close()
            raise
        self.cameras = loaded.cameras if isinstance(loaded, Loaded) else ()

    def reset(self, seed: int) -> None:
        """Forgets the last episode."""
        self._process.reset(seed)

    def act(self, observation: Observation) -> Rows:
        """The next rows."""
        self._process.ask(observation, _NEVER_S, ends=False)
        answer = self._process.wait()
        if not isinstance(answer, Answer) or answer.rows is None:
            raise ConfigError("a skill answered without rows")
        rows: Rows = answer.rows
        return rows

    def close(self) -> None:
        """Ends its process."""
        self._process.close()


def waited_skill(order: PolicyOrder) -> Skill:
    """For an evaluation: a confined one, unless it ships with openral."""
    if is_installed(order.entry_point):
        return ConfinedSkill(order)
    return make_skill(order.entry_point, order.context, order.parameters)
