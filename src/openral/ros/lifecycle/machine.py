"""State machine of a managed node: states, transitions and where each outcome leads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntEnum

from openral.errors import LifecycleError, choices


class State(IntEnum):
    """State ids of lifecycle_msgs/msg/State."""

    UNCONFIGURED = 1
    INACTIVE = 2
    ACTIVE = 3
    FINALIZED = 4
    CONFIGURING = 10
    CLEANINGUP = 11
    SHUTTINGDOWN = 12
    ACTIVATING = 13
    DEACTIVATING = 14
    ERRORPROCESSING = 15

    @property
    def label(self) -> str:
        """ROS's name of the state."""
        return self.name.lower()


class Outcome(Enum):
    """The return value of a transition callback."""

    SUCCESS = 0
    FAILURE = 1
    """Refused or impossible now: the node returns to its previous state."""
    ERROR = 2
    """An unexpected error: error processing decides the next state."""


@dataclass(frozen=True)
class Transition:
    """One transition of the machine, from `start` to `goal`."""

    id: int
    label: str
    start: State
    goal: State


def _arrows(
    first: int, via: State, success: State, failure: State, error: State = State.ERRORPROCESSING
) -> list[Transition]:
    return [
        Transition(first, "transition_success", via, success),
        Transition(first + 1, "transition_failure", via, failure),
        Transition(first + 2, "transition_error", via, error),
    ]


S = State
REQUESTS = (
    Transition(1, "configure", S.UNCONFIGURED, S.CONFIGURING),
    Transition(2, "cleanup", S.INACTIVE, S.CLEANINGUP),
    Transition(3, "activate", S.INACTIVE, S.ACTIVATING),
    Transition(4, "deactivate", S.ACTIVE, S.DEACTIVATING),
    Transition(5, "shutdown", S.UNCONFIGURED, S.SHUTTINGDOWN),
    Transition(6, "shutdown", S.INACTIVE, S.SHUTTINGDOWN),
    Transition(7, "shutdown", S.ACTIVE, S.SHUTTINGDOWN),
)
OUTCOMES = (
    *_arrows(10, S.CONFIGURING, S.INACTIVE, S.UNCONFIGURED),
    *_arrows(20, S.CLEANINGUP, S.UNCONFIGURED, S.INACTIVE),
    *_arrows(30, S.ACTIVATING, S.ACTIVE, S.INACTIVE),
    *_arrows(40, S.DEACTIVATING, S.INACTIVE, S.ACTIVE),
    *_arrows(50, S.SHUTTINGDOWN, S.FINALIZED, S.FINALIZED),
    *_arrows(60, S.ERRORPROCESSING, S.UNCONFIGURED, S.FINALIZED, S.FINALIZED),
)
TRANSITIONS = (*REQUESTS, *OUTCOMES)

Run = Callable[[State, State], Outcome]
"""(transition state, previous state) → outcome of the node's callback."""


class LifecycleMachine:
    """Holds the state; calls `run` for outcomes and `entered` for every transition taken."""

    def __init__(self, run: Run, entered: Callable[[Transition], None]) -> None:
        self.state = State.UNCONFIGURED
        self._run = run
        self._entered = entered

    def available(self) -> list[Transition]:
        """Transitions that may be requested in the current state."""
        return [t for t in REQUESTS if t.start is self.state]

    def find(self, wanted: int | str) -> Transition:
        """The transition of this id or label; LifecycleError with the valid ones otherwise."""
        for transition in self.available():
            if wanted in (transition.id, transition.label):
                return transition
        names = [t.label for t in self.available()]
        raise LifecycleError(
            f"transition '{wanted}' is not possible in state {self.state.label}; "
            f"{choices(str(wanted), names, 'possible')}"
        )

    def trigger(self, wanted: int | str) -> Outcome:
        """Executes a transition and, on ERROR, error processing; returns its outcome."""
        transition = self.find(wanted)
        origin = self.state
        self._take(transition)
        outcome = self._run(self.state, origin)
        self._take(self._arrow(outcome))
        if self.state is State.ERRORPROCESSING:
            self._take(self._arrow(self._run(self.state, origin)))
        return outcome

    def _arrow(self, outcome: Outcome) -> Transition:
        arrows = [t for t in OUTCOMES if t.start is self.state]
        return arrows[outcome.value]

    def _take(self, transition: Transition) -> None:
        self.state = transition.goal
        self._entered(transition)
