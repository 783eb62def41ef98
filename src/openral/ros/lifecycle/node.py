"""LifecycleNode: a managed node that is configured, activated and shut down by request."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from openral.errors import LifecycleError, OpenralError
from openral.ros import msg
from openral.ros.codec.types import Message
from openral.ros.lifecycle.machine import TRANSITIONS, LifecycleMachine, Outcome, State, Transition
from openral.ros.node.node import USE_SIM_TIME, Node, TypeName, interface_name
from openral.ros.node.publisher import Publisher
from openral.ros.parameters.store import Parameter, SetResult
from openral.ros.qos import DEFAULT, QoS, as_qos

_PACKAGE = "lifecycle_msgs"
_HOOKS = {
    State.CONFIGURING: "on_configure",
    State.CLEANINGUP: "on_cleanup",
    State.ACTIVATING: "on_activate",
    State.DEACTIVATING: "on_deactivate",
    State.SHUTTINGDOWN: "on_shutdown",
    State.ERRORPROCESSING: "on_error",
}


class LifecycleNode(Node):
    """Override the `on_...` hooks; an OpenralError in a hook is FAILURE, other errors ERROR."""

    clock_wait_s = 30.0
    """Wall time in s that activation waits for /clock under `use_sim_time` before it fails."""

    def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(name, *args, **kwargs)
        self.failure_reason = ""
        """Why the last transition did not succeed."""
        self.on_broken: Callable[[], None] = lambda: None
        """Called by the node when it can never continue; its program then ends."""
        self._machine = LifecycleMachine(self._run_hook, self._announce)
        self._transition_lock = threading.Lock()
        self.add_on_set_parameters_callback(self._keep_clock)
        self.before_destroy(self._shut_down)
        with self.context.presence.batch_announcements():
            self._events = self.create_publisher(
                f"{_PACKAGE}/msg/TransitionEvent", "~/transition_event"
            )
            serve = self.create_service
            serve(f"{_PACKAGE}/srv/ChangeState", "~/change_state", self._change)
            serve(f"{_PACKAGE}/srv/GetState", "~/get_state", self._get_state)
            serve(f"{_PACKAGE}/srv/GetAvailableStates", "~/get_available_states", self._states)
            kind = f"{_PACKAGE}/srv/GetAvailableTransitions"
            serve(kind, "~/get_available_transitions", self._available)
            serve(kind, "~/get_transition_graph", self._graph)

    @property
    def state(self) -> State:
        """The current lifecycle state."""
        return self._machine.state

    def _keep_clock(self, parameters: Sequence[Parameter]) -> SetResult:
        """Rejects changes of `use_sim_time` once the node is configured.

        The node itself may still change it with `tell_parameter`.
        """
        changes = any(
            parameter.name == USE_SIM_TIME
            and parameter.value != self.get_parameter(USE_SIM_TIME).value
            for parameter in parameters
        )
        if changes and self.state is not State.UNCONFIGURED:
            reason = f"'{USE_SIM_TIME}' is fixed while {self.full_name} is {self.state.label}"
            return SetResult(False, reason)
        return SetResult(True)

    def on_configure(self, previous: State) -> Outcome:
        """Acquire the node's resources."""
        return Outcome.SUCCESS

    def on_cleanup(self, previous: State) -> Outcome:
        """Release what `on_configure` acquired."""
        return Outcome.SUCCESS

    def on_activate(self, previous: State) -> Outcome:
        """Start operating."""
        return Outcome.SUCCESS

    def on_deactivate(self, previous: State) -> Outcome:
        """Stop operating."""
        return Outcome.SUCCESS

    def on_shutdown(self, previous: State) -> Outcome:
        """Release everything; also called if the node is destroyed before it was shut down."""
        return Outcome.SUCCESS

    def _shut_down(self) -> None:
        """Shuts down a node that is destroyed, e.g. by a signal, so that it releases everything."""
        if self.state is not State.FINALIZED:
            self.trigger("shutdown")

    def on_error(self, previous: State) -> Outcome:
        """Recover from an error: SUCCESS leads to unconfigured, anything else to finalized."""
        return Outcome.FAILURE

    def create_lifecycle_publisher(
        self, msg_type: TypeName, topic: str, qos: QoS | int = DEFAULT
    ) -> LifecyclePublisher:
        """Creates a publisher that sends only while the node is active."""
        publisher = LifecyclePublisher(
            self, interface_name(msg_type), self.resolve(topic), as_qos(qos)
        )
        self._publishers.append(publisher)
        self.context.presence.announce()
        return publisher

    def trigger(self, transition: int | str) -> Outcome:
        """Executes a transition on this thread, by label (`configure`, `activate`, ...) or id."""
        if not self._transition_lock.acquire(blocking=False):
            raise LifecycleError(
                f"'{transition}' requested while {self.full_name} is {self.state.label}"
            )
        try:
            return self._machine.trigger(transition)
        finally:
            self._transition_lock.release()

    def _run_hook(self, state: State, previous: State) -> Outcome:
        if state is State.ACTIVATING and not self.clock.wait_ready(self.clock_wait_s):
            return self._failed(
                Outcome.FAILURE, "use_sim_time is set and /clock was never heard", state
            )
        try:
            outcome = getattr(self, _HOOKS[state])(previous)
        except OpenralError as error:
            return self._failed(Outcome.FAILURE, str(error), state)
        except Exception as error:
            self.callback_errors += 1
            self.log.exception("transition broke", state=state.label, error=repr(error))
            return self._failed(Outcome.ERROR, repr(error), state)
        if not isinstance(outcome, Outcome):
            reason = f"{_HOOKS[state]} returned {outcome!r}; it must return an Outcome"
            return self._failed(Outcome.ERROR, reason, state)
        return outcome

    def _failed(self, outcome: Outcome, reason: str, state: State) -> Outcome:
        self.failure_reason = reason
        self.log.error("transition failed", state=state.label, reason=reason)
        return outcome

    def _announce(self, transition: Transition) -> None:
        self._events.publish(
            lambda: msg.TransitionEvent(
                timestamp=time.time_ns(),
                transition=_transition_msg(transition),
                start_state=_state_msg(transition.start),
                goal_state=_state_msg(transition.goal),
            )
        )

    def _change(self, request: Any, response: Any) -> Any:
        wanted = request.transition.label or request.transition.id
        try:
            response.success = self.trigger(wanted) is Outcome.SUCCESS
        except LifecycleError as error:
            self.failure_reason = str(error)
            self.log.warning("transition refused", reason=str(error))
            response.success = False
        return response

    def _get_state(self, request: Any, response: Any) -> Any:
        response.current_state = _state_msg(self.state)
        return response

    def _states(self, request: Any, response: Any) -> Any:
        unknown = msg.State(id=0, label="unknown")
        response.available_states = [unknown, *(_state_msg(state) for state in State)]
        return response

    def _available(self, request: Any, response: Any) -> Any:
        response.available_transitions = _descriptions(self._machine.available())
        return response

    def _graph(self, request: Any, response: Any) -> Any:
        response.available_transitions = _descriptions(TRANSITIONS)
        return response


class LifecyclePublisher(Publisher):
    """Publishes only while its node is active."""

    node: LifecycleNode

    def publish(self, message: Any) -> None:
        """Like `Publisher.publish`; while the node is not active, nothing is built or sent."""
        if self.node.state is State.ACTIVE:
            super().publish(message)


def _state_msg(state: State) -> msg.State:
    return msg.State(id=int(state), label=state.label)


def _transition_msg(transition: Transition) -> msg.Transition:
    return msg.Transition(id=transition.id, label=transition.label)


def _descriptions(transitions: Iterable[Transition]) -> list[Message]:
    return [
        msg.TransitionDescription(
            transition=_transition_msg(t),
            start_state=_state_msg(t.start),
            goal_state=_state_msg(t.goal),
        )
        for t in transitions
    ]
