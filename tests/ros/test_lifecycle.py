"""The managed node's state machine against ROS 2's published rules."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from openral.errors import ConfigError, LifecycleError
from openral.ros.codec import types
from openral.ros.lifecycle.machine import (
    REQUESTS,
    TRANSITIONS,
    LifecycleMachine,
    Outcome,
    State,
    Transition,
)
from openral.ros.lifecycle.node import LifecycleNode

LABELS = st.sampled_from(["configure", "cleanup", "activate", "deactivate", "shutdown", "dance"])
OUTCOMES = st.sampled_from(list(Outcome))

# Written out by hand from the ROS 2 design page, not derived from the code.
EXPECTED = {
    ("unconfigured", "configure"): {"SUCCESS": "inactive", "FAILURE": "unconfigured"},
    ("inactive", "cleanup"): {"SUCCESS": "unconfigured", "FAILURE": "inactive"},
    ("inactive", "activate"): {"SUCCESS": "active", "FAILURE": "inactive"},
    ("active", "deactivate"): {"SUCCESS": "inactive", "FAILURE": "active"},
    ("unconfigured", "shutdown"): {"SUCCESS": "finalized", "FAILURE": "finalized"},
    ("inactive", "shutdown"): {"SUCCESS": "finalized", "FAILURE": "finalized"},
    ("active", "shutdown"): {"SUCCESS": "finalized", "FAILURE": "finalized"},
}


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.outcomes: list[Outcome] = []
        self.taken: list[Transition] = []
        self.machine = LifecycleMachine(
            lambda state, origin: self.outcomes.pop(0), self.taken.append
        )
        self.state = "unconfigured"

    @rule(label=LABELS, first=OUTCOMES, second=OUTCOMES)
    def request(self, label: str, first: Outcome, second: Outcome) -> None:
        self.outcomes = [first, second]
        self.taken.clear()
        results = EXPECTED.get((self.state, label))
        if results is None:
            with pytest.raises(LifecycleError, match=f"'{label}' is not possible in {'state'}"):
                self.machine.trigger(label)
            assert not self.taken
            return
        assert self.machine.trigger(label) is first
        if first is Outcome.ERROR:
            self.state = "unconfigured" if second is Outcome.SUCCESS else "finalized"
            assert len(self.taken) == 3
        else:
            self.state = results[first.name]
            assert len(self.taken) == 2

    @invariant()
    def rests_in_a_primary_state(self) -> None:
        assert self.machine.state.label == self.state
        assert self.machine.state <= State.FINALIZED

    @invariant()
    def arrows_are_connected(self) -> None:
        for before, after in zip(self.taken, self.taken[1:], strict=False):
            assert before.goal is after.start

    @invariant()
    def only_possible_transitions_are_offered(self) -> None:
        offered = {t.label for t in self.machine.available()}
        assert offered == {label for state, label in EXPECTED if state == self.state}


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=80, stateful_step_count=20, deadline=None)


def test_numbers_are_those_of_lifecycle_msgs() -> None:
    message = types.message_class("lifecycle_msgs/msg/Transition")
    for transition in REQUESTS:
        constant = f"TRANSITION_{transition.label.upper()}"
        if transition.label == "shutdown":
            constant = f"TRANSITION_{transition.start.name}_SHUTDOWN"
        assert getattr(message, constant) == transition.id
    states = types.message_class("lifecycle_msgs/msg/State")
    for state in State:
        names = (f"PRIMARY_STATE_{state.name}", f"TRANSITION_STATE_{state.name}")
        assert state in [getattr(states, name, None) for name in names]
    assert len({t.id for t in TRANSITIONS}) == len(TRANSITIONS) == 25


class Fragile(LifecycleNode):
    """Fails the way it is told to."""

    raises: BaseException | None = None
    gives: Any = Outcome.SUCCESS
    mends = Outcome.SUCCESS

    def on_configure(self, previous: State) -> Outcome:
        if self.raises is not None:
            raise self.raises
        return self.gives  # type: ignore[no-any-return]

    def on_error(self, previous: State) -> Outcome:
        return self.mends


def test_our_errors_are_failures_with_a_reason_and_can_be_tried_again(graph: Any) -> None:
    node = graph.node("fragile", kind=Fragile)
    node.raises = ConfigError("robot_yaml is missing")
    assert node.trigger("configure") is Outcome.FAILURE
    assert node.state is State.UNCONFIGURED
    assert node.failure_reason == "robot_yaml is missing"
    node.raises = None
    assert node.trigger("configure") is Outcome.SUCCESS


@pytest.mark.parametrize("mends", [Outcome.SUCCESS, Outcome.FAILURE])
def test_other_errors_go_through_error_processing(graph: Any, mends: Outcome) -> None:
    node = graph.node("fragile", kind=Fragile)
    node.raises, node.mends = RuntimeError("boom"), mends
    assert node.trigger("configure") is Outcome.ERROR
    expected = State.UNCONFIGURED if mends is Outcome.SUCCESS else State.FINALIZED
    assert node.state is expected
    assert "boom" in node.failure_reason


def test_a_hook_that_returns_nonsense_is_an_error(graph: Any) -> None:
    node = graph.node("fragile", kind=Fragile)
    node.gives = None
    assert node.trigger("configure") is Outcome.ERROR
    assert "on_configure returned None" in node.failure_reason


def test_lifecycle_publishers_are_silent_unless_active(graph: Any, until: Any) -> None:
    node = graph.node("managed", kind=LifecycleNode)
    got: list[str] = []
    graph.node("listener").create_subscription(
        "std_msgs/msg/String", "/chat", lambda message: got.append(message.data)
    )
    publisher = node.create_lifecycle_publisher("std_msgs/msg/String", "/chat")
    publisher.publish(lambda: pytest.fail("made for nobody"))
    node.trigger("configure")
    node.trigger("activate")
    publisher.publish(types.new("std_msgs/msg/String", data="active"))
    node.trigger("deactivate")
    publisher.publish(types.new("std_msgs/msg/String", data="inactive"))
    until(lambda: got)
    assert got == ["active"]


def test_a_transition_within_a_transition_is_refused(graph: Any) -> None:
    class Impatient(LifecycleNode):
        def on_configure(self, previous: State) -> Outcome:
            self.trigger("activate")
            return Outcome.SUCCESS

    node = graph.node("impatient", kind=Impatient)
    assert node.trigger("configure") is Outcome.FAILURE
    assert "while /impatient is configuring" in node.failure_reason
