"""Nodes of one process without a wire: topics, services, latching, and nothing left pending."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from openral.ros.codec import types
from openral.ros.graph import Graph
from openral.ros.node.context import Context
from openral.ros.node.executor import Executor
from openral.ros.node.node import Node
from openral.ros.qos import LATCHED
from openral.ros.transport.memory_transport import MemoryTransport

TEXT = "std_msgs/msg/String"


@pytest.fixture
def context() -> Iterator[Context]:
    with Context(transport=MemoryTransport()) as made:
        yield made


def text(data: str) -> Any:
    return types.new(TEXT, data=data)


def test_messages_reach_other_nodes_in_order(context: Context) -> None:
    speaker, hearer = Node("speaker", context=context), Node("hearer", context=context)
    executor = Executor(context)
    heard: list[str] = []
    hearer.create_subscription(TEXT, "/talk", lambda message: heard.append(message.data))
    publisher = speaker.create_publisher(TEXT, "/talk")
    for node in (speaker, hearer):
        executor.add_node(node)
    for number in range(5):
        publisher.publish(text(str(number)))
    executor.spin_until_idle()
    assert heard == ["0", "1", "2", "3", "4"]
    executor.shutdown()


def test_idle_means_that_what_follows_is_done_too(context: Context) -> None:
    node = Node("ping", context=context)
    executor = Executor(context)
    executor.add_node(node)
    heard: list[str] = []
    back = node.create_publisher(TEXT, "/back")

    def answer(message: Any) -> None:
        if len(message.data) < 4:
            back.publish(text(message.data + "x"))
        heard.append(message.data)

    node.create_subscription(TEXT, "/back", answer)
    back.publish(text("x"))
    executor.spin_until_idle()
    assert heard == ["x", "xx", "xxx", "xxxx"]
    executor.shutdown()


def test_late_joiners_get_what_is_latched(context: Context) -> None:
    node = Node("speaker", context=context)
    executor = Executor(context)
    executor.add_node(node)
    node.create_publisher(TEXT, "/state", LATCHED).publish(text("kept"))
    heard: list[str] = []
    node.create_subscription(TEXT, "/state", lambda message: heard.append(message.data), LATCHED)
    executor.spin_until_idle()
    assert heard == ["kept"]
    executor.shutdown()


def test_services_are_answered(context: Context) -> None:
    server, client = Node("server", context=context), Node("client", context=context)
    executor = Executor(context)
    executor.add_node(server)

    def negate(request: Any, response: Any) -> Any:
        response.success = not request.data
        return response

    server.create_service("std_srvs/srv/SetBool", "/negate", negate)
    caller = client.create_client("std_srvs/srv/SetBool", "/negate")
    assert caller.service_is_ready()
    future = caller.call_async(caller.request_class(data=False))
    assert executor.spin_until(future, 20.0)
    assert future.result().success
    executor.shutdown()


def test_a_call_fails_when_its_server_leaves(context: Context) -> None:
    server, client = Node("server", context=context), Node("client", context=context)
    server.create_service("std_srvs/srv/SetBool", "/negate", lambda request, response: response)
    caller = client.create_client("std_srvs/srv/SetBool", "/negate")
    future = caller.call_async(caller.request_class(data=False))
    server.destroy()
    assert "went away" in str(future.exception(20.0))


def test_the_graph_shows_who_is_there(context: Context) -> None:
    node = Node("speaker", context=context)
    node.create_publisher(TEXT, "/talk")
    graph = Graph(context)
    assert [entry.full_name for entry in graph.nodes()] == ["/speaker"]
    assert "/talk" in [entry.name for entry in graph.topics()]
    graph.close()


def test_two_contexts_do_not_hear_each_other(context: Context) -> None:
    with Context(transport=MemoryTransport()) as other:
        here, there = Node("here", context=context), Node("there", context=other)
        publisher = here.create_publisher(TEXT, "/talk")
        there.create_subscription(TEXT, "/talk", lambda message: None)
        assert publisher.subscriber_count == 0
