"""Between nodes of one process the object itself arrives; bytes exist only for others."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from openral.errors import ConfigError, InvalidMessage
from openral.ros.codec import types
from openral.ros.qos import LATCHED, SENSOR, QoS

STRING = "std_msgs/msg/String"


def text(data: Any) -> Any:
    return types.new(STRING, data=data)


def test_local_subscribers_get_the_very_object_once(graph: Any, until: Any) -> None:
    got: list[Any] = []
    graph.node("listener").create_subscription(STRING, "/chat", got.append)
    publisher = graph.node("talker").create_publisher(STRING, "/chat")
    message = text("hi")
    publisher.publish(message)
    publisher.publish(text("end"))
    until(lambda: got and got[-1].data == "end")
    assert len(got) == 2
    assert got[0] is message


def test_nothing_is_serialised_for_local_subscribers(graph: Any, until: Any) -> None:
    got: list[Any] = []
    graph.node("listener").create_subscription(STRING, "/chat", got.append)
    publisher = graph.node("talker").create_publisher(STRING, "/chat")
    unserialisable = text(object())
    publisher.publish(unserialisable)
    assert until(lambda: got)[0] is unserialisable


def test_a_subscription_tells_its_publishers_apart(graph: Any, until: Any) -> None:
    got: list[tuple[str, int]] = []
    heard = graph.node("listener").create_subscription(
        STRING, "/chat", lambda message: got.append((message.data, heard.source)), 50
    )
    near = [graph.node(name).create_publisher(STRING, "/chat", 50) for name in ("one", "two")]
    far = graph.node("three", apart=True).create_publisher(STRING, "/chat", 50)
    until(lambda: far.subscriber_count == 1)
    for _ in range(5):
        for number, publisher in enumerate([*near, far]):
            publisher.publish(text(str(number)))
    until(lambda: len(got) == 15)
    sources = [{source for data, source in got if data == str(number)} for number in range(3)]
    assert [len(found) for found in sources] == [1, 1, 1]
    assert len(set.union(*sources)) == 3


def test_remote_subscribers_get_bytes(graph: Any, until: Any) -> None:
    near: list[Any] = []
    far: list[Any] = []
    graph.node("near").create_subscription(STRING, "/chat", near.append, 50)
    graph.node("far", apart=True).create_subscription(STRING, "/chat", far.append, 50)
    publisher = graph.node("talker").create_publisher(STRING, "/chat", 50)
    until(lambda: publisher.subscriber_count == 2)
    with pytest.raises(InvalidMessage, match="data"):
        publisher.publish(text(object()))
    for number in range(20):
        publisher.publish(text(str(number)))
    wanted = [str(number) for number in range(20)]
    until(lambda: [m.data for m in far] == wanted and [m.data for m in near] == wanted)


def test_a_message_nobody_hears_is_never_made(graph: Any, until: Any) -> None:
    publisher = graph.node("camera").create_publisher("sensor_msgs/msg/Image", "/image", SENSOR)

    def render() -> Any:
        raise AssertionError("rendered for nobody")

    assert not publisher.has_subscribers
    publisher.publish(render)
    got: list[Any] = []
    graph.node("viewer", apart=True).create_subscription(
        "sensor_msgs/msg/Image", "/image", got.append, SENSOR
    )
    until(lambda: publisher.has_subscribers)
    publisher.publish(lambda: types.new("sensor_msgs/msg/Image", height=2))
    assert until(lambda: got)[0].height == 2


@pytest.mark.parametrize("apart", [False, True])
def test_a_late_joiner_gets_the_latched_message(graph: Any, until: Any, apart: bool) -> None:
    publisher = graph.node("robot").create_publisher(STRING, "/robot_description", LATCHED)
    publisher.publish(text("old"))
    publisher.publish(text("<robot/>"))
    got: list[Any] = []
    graph.node("late", apart=apart).create_subscription(
        STRING, "/robot_description", got.append, LATCHED
    )
    until(lambda: got)
    assert [m.data for m in got] == ["<robot/>"]


@pytest.mark.parametrize("apart", [False, True])
def test_a_reliable_subscription_does_not_hear_best_effort(
    graph: Any, until: Any, apart: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    strict: list[Any] = []
    lenient: list[Any] = []
    listener = graph.node("listener", apart=apart)
    listener.create_subscription(STRING, "/chat", strict.append, QoS(reliable=True))
    listener.create_subscription(STRING, "/chat", lenient.append, SENSOR)
    publisher = graph.node("talker").create_publisher(STRING, "/chat", SENSOR)
    until(lambda: publisher.has_subscribers)
    publisher.publish(text("hi"))
    until(lambda: lenient)
    assert publisher.subscriber_count == 1
    assert not strict
    logged = ""

    def told() -> bool:
        nonlocal logged
        logged += capfd.readouterr().err
        return "a publisher offers less than this subscription asks for" in logged

    until(told)
    assert "reliability" in logged and "/chat" in logged


def test_a_blocked_executor_keeps_only_the_newest(graph: Any, until: Any) -> None:
    got: list[str] = []
    blocked, release = threading.Event(), threading.Event()

    def hear(message: Any) -> None:
        blocked.set()
        release.wait(20.0)
        got.append(message.data)

    graph.node("slow").create_subscription(STRING, "/chat", hear, SENSOR)
    publisher = graph.node("talker").create_publisher(STRING, "/chat", SENSOR)
    publisher.publish(text("first"))
    assert blocked.wait(20.0)
    for number in range(100):
        publisher.publish(text(str(number)))
    release.set()
    until(lambda: got[-1:] == ["99"])
    assert got == ["first", "95", "96", "97", "98", "99"]


def test_raw_subscriptions_get_the_same_bytes_from_near_and_far(graph: Any, until: Any) -> None:
    near: list[bytes] = []
    far: list[bytes] = []
    graph.node("near").create_subscription(STRING, "/chat", near.append, raw=True)
    graph.node("far", apart=True).create_subscription(STRING, "/chat", far.append, raw=True)
    publisher = graph.node("talker").create_publisher(STRING, "/chat")
    until(lambda: publisher.subscriber_count == 2)
    publisher.publish(text("hello"))
    until(lambda: near and far)
    assert near == far == [types.encode(text("hello"))]


def test_a_wrong_type_is_refused_by_name(graph: Any) -> None:
    node = graph.node("talker")
    publisher = node.create_publisher(STRING, "/chat")
    graph.node("listener").create_subscription(STRING, "/chat", lambda message: None)
    with pytest.raises(ConfigError, match=r"'/chat' carries .*String, not .*Bool"):
        publisher.publish(types.new("std_msgs/msg/Bool"))
    with pytest.raises(ConfigError, match="one topic has one type"):
        node.create_publisher("std_msgs/msg/Bool", "/chat")


def test_what_a_callback_raises_is_reported_and_contained(
    graph: Any, until: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    got: list[str] = []

    def fragile(message: Any) -> None:
        got.append(message.data)
        raise ValueError("out of cheese")

    node = graph.node("fragile")
    node.create_subscription(STRING, "/chat", fragile)
    publisher = graph.node("talker").create_publisher(STRING, "/chat")
    publisher.publish(text("one"))
    publisher.publish(text("two"))
    until(lambda: node.callback_errors == 2)
    assert got == ["one", "two"]
    error = capfd.readouterr().err
    assert "/fragile" in error and "out of cheese" in error
