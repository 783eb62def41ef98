"""Services, parameters, lifecycle and actions between two real processes."""

from __future__ import annotations

import signal
import time
from typing import Any

import pytest

from openral.errors import GoalRejected, ServerGone, ServiceTimeout, ServiceUnavailable
from openral.ros.actions.client import ActionClient
from openral.ros.actions.goal import GoalStatus
from openral.ros.codec import types
from openral.ros.node.parameter_services import value_from_msg, value_to_msg
from openral.ros.qos import LATCHED

SKILL = "openral_msgs/action/ExecuteSkill"
LONG_S = 30.0


@pytest.fixture
def peer(graph: Any) -> Any:
    process = graph.program("peer.py")
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    return process


def call(node: Any, kind: str, name: str, **fields: Any) -> Any:
    client = node.create_client(kind, name)
    answer = client.call(client.request_class(**fields), LONG_S)
    node.destroy_client(client)
    return answer


def test_services(graph: Any, peer: Any) -> None:
    node = graph.node("caller")
    answer = call(node, "std_srvs/srv/SetBool", "/peer/negate", data=False)
    assert (answer.success, answer.message) == (True, "negated")


def test_a_thousand_concurrent_calls_lose_none(graph: Any, peer: Any) -> None:
    client = graph.node("caller").create_client("std_srvs/srv/SetBool", "/peer/negate")
    assert client.wait_for_service(LONG_S)
    questions = [bool(number % 3) for number in range(1000)]
    futures = [client.call_async(client.request_class(data=q)) for q in questions]
    assert [future.result(LONG_S).success for future in futures] == [not q for q in questions]


def test_first_calls_of_many_fresh_clients_are_answered(graph: Any, peer: Any) -> None:
    """The server must not answer before it has discovered where the client listens."""
    node = graph.node("caller")
    for _ in range(10):
        assert call(node, "std_srvs/srv/SetBool", "/peer/negate", data=False).success


def test_parameters(graph: Any, peer: Any) -> None:
    node = graph.node("caller")
    events: list[Any] = []
    subscription = node.create_subscription(
        "rcl_interfaces/msg/ParameterEvent", "/parameter_events", events.append
    )
    kind = "rcl_interfaces/srv"
    listed = call(node, f"{kind}/ListParameters", "/peer/list_parameters")
    assert listed.result.names == ["serial", "speed", "use_sim_time"]
    got = call(node, f"{kind}/GetParameters", "/peer/get_parameters", names=["speed", "absent"])
    assert [value_from_msg(v) for v in got.values] == [1.5, None]
    found = call(node, f"{kind}/GetParameterTypes", "/peer/get_parameter_types", names=["serial"])
    assert list(found.types) == [4]
    described = call(
        node, f"{kind}/DescribeParameters", "/peer/describe_parameters", names=["speed"]
    )
    assert described.descriptors[0].floating_point_range[0].to_value == 2.0

    def wanted(name: str, value: Any) -> Any:
        return types.new("rcl_interfaces/msg/Parameter", name=name, value=value_to_msg(value))

    deadline = time.monotonic() + LONG_S
    while not subscription.publisher_count and time.monotonic() < deadline:
        time.sleep(0.01)
    set_ = call(
        node,
        f"{kind}/SetParameters",
        "/peer/set_parameters",
        parameters=[wanted("speed", 2.0), wanted("speed", 9.0), wanted("serial", "B")],
    )
    assert [r.successful for r in set_.results] == [True, False, False]
    assert "9.0; valid: 0.0 to 2.0" in set_.results[1].reason
    both = call(
        node,
        f"{kind}/SetParametersAtomically",
        "/peer/set_parameters_atomically",
        parameters=[wanted("speed", 0.5), wanted("serial", "B")],
    )
    assert not both.result.successful
    got = call(node, f"{kind}/GetParameters", "/peer/get_parameters", names=["speed"])
    assert value_from_msg(got.values[0]) == 2.0
    while not events and time.monotonic() < deadline:
        time.sleep(0.01)
    assert [(e.node, e.changed_parameters[0].name) for e in events] == [("/peer", "speed")]


def test_lifecycle(graph: Any, peer: Any, until: Any) -> None:
    node = graph.node("caller")
    events: list[Any] = []
    subscription = node.create_subscription(
        "lifecycle_msgs/msg/TransitionEvent", "/peer/transition_event", events.append
    )
    until(lambda: subscription.publisher_count)
    kind = "lifecycle_msgs/srv"

    def change(label: str) -> bool:
        transition = types.new("lifecycle_msgs/msg/Transition", label=label)
        answer = call(node, f"{kind}/ChangeState", "/peer/change_state", transition=transition)
        return bool(answer.success)

    assert not change("activate")
    assert change("configure")
    assert change("activate")
    state = call(node, f"{kind}/GetState", "/peer/get_state").current_state
    assert (state.id, state.label) == (3, "active")
    available = call(node, f"{kind}/GetAvailableTransitions", "/peer/get_available_transitions")
    labels = [t.transition.label for t in available.available_transitions]
    assert labels == ["deactivate", "shutdown"]
    arrows = call(node, f"{kind}/GetAvailableTransitions", "/peer/get_transition_graph")
    assert len(arrows.available_transitions) == 25
    states = call(node, f"{kind}/GetAvailableStates", "/peer/get_available_states")
    assert len(states.available_states) == 11
    until(lambda: len(events) == 4)
    assert [e.goal_state.label for e in events] == [
        "configuring",
        "inactive",
        "activating",
        "active",
    ]


def test_action(graph: Any, peer: Any) -> None:
    client = ActionClient(graph.node("caller"), SKILL, "/peer/count")
    seen: list[int] = []

    def goal(n: int) -> Any:
        return types.new(f"{SKILL}_Goal", seed=n)

    handle = client.send_goal(goal(10), lambda feedback: seen.append(feedback.chunks), LONG_S)
    status, result = handle.get_result(LONG_S)
    assert (status, result.chunks) == (GoalStatus.SUCCEEDED, 10)
    assert seen == sorted(seen) and set(seen) <= set(range(10)) and seen
    long = client.send_goal(goal(999), timeout_s=LONG_S)
    assert long.cancel(LONG_S)
    status, result = long.get_result(LONG_S)
    assert status is GoalStatus.CANCELED and result.chunks < 999
    assert not long.cancel(LONG_S)
    with pytest.raises(GoalRejected, match="/peer/count"):
        client.send_goal(goal(5000), timeout_s=LONG_S)


def test_a_late_joiner_gets_the_latched_message_of_another_process(
    graph: Any, peer: Any, until: Any
) -> None:
    got: list[Any] = []
    graph.node("late").create_subscription(
        "std_msgs/msg/String", "/peer/greeting", got.append, LATCHED
    )
    assert until(lambda: got)[0].data == "hello"


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_server_that_dies_in_a_call_is_named_at_the_client(
    graph: Any, peer: Any, how: signal.Signals
) -> None:
    client = graph.node("caller").create_client("std_srvs/srv/Trigger", "/peer/never")
    assert client.wait_for_service(LONG_S)
    future = client.call_async(client.request_class())
    peer.send_signal(how)
    with pytest.raises(ServerGone, match="'/peer/never' went away"):
        future.result(LONG_S)
    with pytest.raises(ServiceUnavailable, match="/peer/never"):
        client.call(client.request_class(), 0.1)


def test_another_server_does_not_hide_that_the_one_asked_has_died(
    graph: Any, peer: Any, until: Any
) -> None:
    client = graph.node("caller").create_client("std_srvs/srv/Trigger", "/peer/never")
    assert client.wait_for_service(LONG_S)
    future = client.call_async(client.request_class())
    graph.node("substitute", apart=True).create_service(
        "std_srvs/srv/Trigger", "/peer/never", lambda request, response: response
    )
    until(lambda: client._reader.matched() == 2)
    peer.kill()
    with pytest.raises(ServerGone, match="'/peer/never' went away"):
        future.result(LONG_S)
    assert client.call(client.request_class(), LONG_S)


def test_a_server_that_does_not_answer_is_a_timeout(graph: Any, peer: Any) -> None:
    client = graph.node("caller").create_client("std_srvs/srv/Trigger", "/peer/never")
    assert client.wait_for_service(LONG_S)
    with pytest.raises(ServiceTimeout, match=r"'/peer/never' did not answer within 0\.2 s"):
        client.call(client.request_class(), 0.2)


def test_a_signal_cancels_goals_that_run(graph: Any, peer: Any, until: Any) -> None:
    client = ActionClient(graph.node("caller"), SKILL, "/peer/count")
    goal = client.send_goal(types.new(f"{SKILL}_Goal", seed=999), timeout_s=LONG_S)
    until(lambda: goal.status is GoalStatus.EXECUTING)
    peer.send_signal(signal.SIGTERM)
    until(lambda: goal.status is GoalStatus.CANCELED)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_node_cleanly(peer: Any, how: signal.Signals) -> None:
    peer.send_signal(how)
    output, errors = peer.communicate(timeout=LONG_S)
    assert output == "shut down from unconfigured\nleft cleanly\n"
    assert peer.returncode == 0
    assert "Traceback" not in errors
