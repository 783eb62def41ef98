"""Recording a live graph: every topic with its promises, from its first message on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from openral.ros import msg
from openral.ros.qos import LATCHED, SENSOR, QoS
from openral.ros.recording import BackgroundWriter, Recording, RecordingWriter
from openral.ros.recording.recorder import Recorder


def follow(recorder: Recorder, until: Callable[..., Any], *topics: str) -> None:
    """Looks until the topics are subscribed and their publishers have found us."""

    def joined() -> bool:
        recorder.look()
        known = recorder.subscriptions
        return all(t in known and known[t].publisher_count for t in topics)

    until(joined)


def test_all_topics_are_recorded_latched_and_late_ones_too(
    graph: Any, until: Any, tmp_path: Path
) -> None:
    robot = graph.node("robot", apart=True)
    description = robot.create_publisher(msg.String, "/robot_description", LATCHED)
    description.publish(msg.String("urdf"))
    node = graph.node("recorder", apart=True)
    sink = BackgroundWriter(RecordingWriter(tmp_path / "bag"))
    recorder = Recorder(node, sink, exclude="^/(rosout|parameter_events)$")
    follow(recorder, until, "/robot_description")
    until(lambda: sink.writer.count == 1)
    images = robot.create_publisher(msg.Image, "/image", SENSOR)
    follow(recorder, until, "/image")
    until(lambda: images.publish(msg.Image(data=[1, 2])) or sink.writer.count > 1)
    recorder.close()
    sink.close()
    bag = Recording(tmp_path / "bag")
    assert {t.name: t.qos for t in bag.topics.values()} == {
        "/image": SENSOR,
        "/robot_description": LATCHED,
    }
    first = next(iter(bag))
    assert first.message == msg.String("urdf") and first.log_time > 0


def test_only_what_is_asked_for_and_what_never_came_is_told(
    graph: Any, until: Any, tmp_path: Path
) -> None:
    robot = graph.node("robot", apart=True)
    wanted = robot.create_publisher(msg.String, "/wanted")
    robot.create_publisher(msg.String, "/other")
    node = graph.node("recorder", apart=True)
    sink = BackgroundWriter(RecordingWriter(tmp_path / "bag"))
    recorder = Recorder(node, sink, topics=["wanted", "/never"], now=lambda: 42)
    follow(recorder, until, "/wanted")
    until(lambda: wanted.publish(msg.String("x")) or sink.writer.count)
    assert recorder.missing == ["/never"] and list(recorder.subscriptions) == ["/wanted"]
    recorder.close()
    sink.close()
    assert {r.log_time for r in Recording(tmp_path / "bag")} == {42}


def test_what_has_arrived_when_the_node_leaves_its_loop_is_recorded(
    graph: Any, until: Any, tmp_path: Path
) -> None:
    """On a busy machine the last verdict of a run was missing from its recording."""
    out = graph.node("robot", apart=True).create_publisher(msg.String, "/chat", QoS(depth=1000))
    node = graph.node("recorder", apart=True)
    with BackgroundWriter(RecordingWriter(tmp_path / "bag")) as sink:
        recorder = Recorder(node, sink, topics=["/chat"])
        follow(recorder, until, "/chat")
        node.detach()
        for number in range(200):
            out.publish(msg.String(str(number)))
        until(lambda: recorder.take_rest() or sink.writer.count == 200)
        recorder.close()
    assert [r.message.data for r in Recording(tmp_path / "bag")] == [str(n) for n in range(200)]


def test_a_weaker_publisher_that_joins_is_heard_too(graph: Any, until: Any, tmp_path: Path) -> None:
    node = graph.node("recorder", apart=True)
    strong = graph.node("strong", apart=True).create_publisher(msg.String, "/chat")
    with BackgroundWriter(RecordingWriter(tmp_path / "bag")) as sink:
        recorder = Recorder(node, sink, topics=["/chat"])
        follow(recorder, until, "/chat")
        assert recorder.subscriptions["/chat"].qos.reliable
        weak = graph.node("weak", apart=True).create_publisher(msg.String, "/chat", SENSOR)
        until(lambda: recorder.look() or not recorder.subscriptions["/chat"].qos.reliable)

        def both_heard() -> bool:
            strong.publish(msg.String("strong"))
            weak.publish(msg.String("weak"))
            return sink.writer.count > 50

        until(both_heard)
        recorder.close()
    assert {r.message.data for r in Recording(tmp_path / "bag")} == {"strong", "weak"}
