"""Where callbacks run, and how running ends."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any

import pytest

from openral.errors import ConfigError
from openral.ros.codec import types
from openral.ros.node.executor import Executor
from openral.ros.node.node import Node


def test_a_node_has_one_executor_of_its_own_context(graph: Any) -> None:
    node = graph.node("busy")
    with pytest.raises(ConfigError, match="'/busy' already has an executor"):
        Executor(node.context).add_node(node)
    stranger = Node("stranger", context=graph.context())
    with pytest.raises(ConfigError, match="'/stranger' is of another context"):
        Executor(node.context).add_node(stranger)


def test_spin_until_runs_callbacks_until_a_future_is_done(graph: Any) -> None:
    context = graph.context()
    node = Node("waiter", context=context)
    executor = Executor(context)
    executor.add_node(node)
    never: Future[None] = Future()
    assert not executor.spin_until(never, 0.05)
    server = Node("server", context=context)
    executor.add_node(server)
    server.create_service("std_srvs/srv/Trigger", "/go", lambda request, response: response)
    client = node.create_client("std_srvs/srv/Trigger", "/go")
    assert client.wait_for_service(20.0)
    assert executor.spin_until(client.call_async(client.request_class()), 20.0)
    executor.shutdown()


def test_a_call_within_a_callback_does_not_deadlock(graph: Any, until: Any) -> None:
    graph.node("server").create_service(
        "std_srvs/srv/Trigger", "/go", lambda request, response: response
    )
    node = graph.node("caller")
    client = node.create_client("std_srvs/srv/Trigger", "/go")
    assert client.wait_for_service(20.0)
    answers: list[Any] = []
    node.create_subscription(
        "std_msgs/msg/String",
        "/chat",
        lambda message: answers.append(client.call(client.request_class(), 20.0)),
    )
    publisher = node.create_publisher("std_msgs/msg/String", "/chat")
    publisher.publish(types.new("std_msgs/msg/String"))
    until(lambda: answers)


def test_a_call_that_would_wait_for_itself_is_refused(graph: Any, until: Any) -> None:
    ready = threading.Event()

    def handler(request: Any, response: Any) -> Any:
        ready.wait(20.0)
        return response

    graph.node("server").create_service("std_srvs/srv/Trigger", "/go", handler)
    client = graph.node("caller").create_client("std_srvs/srv/Trigger", "/go")
    assert client.wait_for_service(20.0)
    refused: list[BaseException] = []

    def again(done: Future[Any]) -> None:
        try:
            client.call(client.request_class(), 1.0)
        except ConfigError as error:
            refused.append(error)

    client.call_async(client.request_class()).add_done_callback(again)
    ready.set()
    until(lambda: refused)
    assert "'/go' called from a reply callback" in str(refused[0])


def test_closing_the_context_ends_a_background_executor(graph: Any) -> None:
    context = graph.context()
    executor = Executor(context)
    executor.add_node(Node("brief", context=context))
    executor.start()
    context.close()
    thread = executor._thread
    assert thread is not None
    thread.join(20.0)
    assert not thread.is_alive()
    context.close()


def test_timers_survive_what_their_callbacks_raise(graph: Any, until: Any) -> None:
    node = graph.node("fragile")
    calls: list[int] = []

    def fail() -> None:
        calls.append(1)
        raise RuntimeError("again")

    timer = node.create_timer(0.001, fail)
    until(lambda: node.callback_errors >= 3)
    timer.cancel()
    seen = len(calls)
    assert node.in_executor(threading.get_ident).result(20.0) != threading.get_ident()
    assert len(calls) <= seen + 1


def test_a_service_whose_handler_fails_answers_the_next_call(graph: Any, until: Any) -> None:
    def handler(request: Any, response: Any) -> Any:
        if request.data:
            raise ValueError("no")
        response.success = True
        return response

    server = graph.node("server")
    server.create_service("std_srvs/srv/SetBool", "/maybe", handler)
    client = graph.node("caller").create_client("std_srvs/srv/SetBool", "/maybe")
    assert client.wait_for_service(20.0)
    unanswered = client.call_async(client.request_class(data=True))
    assert client.call(client.request_class(data=False), 20.0).success
    assert not unanswered.done()
    assert server.callback_errors == 1
