"""What the graph shows of our nodes, to us and to the `openral` command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from openral.cli import app
from openral.ros.codec import types
from openral.ros.graph import Graph
from openral.ros.qos import LATCHED, SENSOR

LONG = ("--wait", "20")
PEER = Path(__file__).parent / "programs" / "peer.py"


def test_nodes_topics_and_services_by_name(graph: Any, until: Any) -> None:
    watcher = graph.node("watcher", apart=True)
    arm = graph.node("arm", namespace="left")
    arm.create_publisher("sensor_msgs/msg/JointState", "joint_states", SENSOR)
    arm.create_service("std_srvs/srv/Trigger", "~/home", lambda request, response: response)
    viewer = graph.node("viewer")
    viewer.create_subscription("sensor_msgs/msg/JointState", "/left/joint_states", print, SENSOR)
    client = viewer.create_client("std_srvs/srv/Trigger", "/left/arm/home")
    view = Graph(watcher.context)

    def entry(name: str) -> Any:
        return next((n for n in view.nodes() if n.full_name == name), None)

    until(lambda: entry("/left/arm") and entry("/left/arm").servers)
    until(lambda: entry("/viewer") and entry("/viewer").clients and entry("/viewer").subscriptions)
    published = {e.name: e.type_name for e in entry("/left/arm").publishers}
    assert published["/left/joint_states"] == "sensor_msgs/msg/JointState"
    served = {e.name: e.type_name for e in entry("/left/arm").servers}
    assert served["/left/arm/home"] == "std_srvs/srv/Trigger"
    assert len([n for n in served if n.startswith("/left/arm/")]) == 7
    topic = next(t for t in view.topics() if t.name == "/left/joint_states")
    assert [(e.node, e.qos) for e in topic.publishers] == [("/left/arm", SENSOR)]
    assert [e.node for e in topic.subscriptions] == ["/viewer"]
    service = next(s for s in view.services() if s.name == "/left/arm/home")
    assert [e.node for e in service.publishers] == ["/viewer"]
    viewer.destroy_client(client)
    until(lambda: not entry("/viewer").clients)
    viewer.destroy()
    until(lambda: entry("/viewer") is None)
    view.close()


def test_a_killed_process_disappears(graph: Any, until: Any) -> None:
    process = graph.program("peer.py")
    view = Graph(graph.node("watcher").context)

    def names() -> list[str]:
        return [n.full_name for n in view.nodes()]

    until(lambda: "/peer" in names())
    process.kill()
    until(lambda: "/peer" not in names(), 30.0)
    view.close()


def test_logs_reach_rosout(graph: Any, until: Any) -> None:
    got: list[Any] = []
    graph.node("listener", apart=True).create_subscription(
        "rcl_interfaces/msg/Log", "/rosout", got.append, 100
    )
    node = graph.node("talker")
    until(lambda: node.log.sink and node._publishers[0].has_subscribers)
    node.log.warning("battery low", volts=11.1)
    until(lambda: [m for m in got if m.name == "/talker"])
    message = next(m for m in got if m.name == "/talker")
    assert (message.level, message.msg) == (30, "battery low volts=11.1")


@pytest.fixture(scope="module")
def run(domain: int) -> Iterator[Any]:
    """Runs `openral ...` beside a living peer."""
    environment = {**os.environ, "OPENRAL_DOMAIN": str(domain)}
    peer = subprocess.Popen([sys.executable, str(PEER)], env=environment, stdout=subprocess.PIPE)
    assert peer.stdout is not None and peer.stdout.readline() == b"ready\n"
    runner = CliRunner(env={"OPENRAL_DOMAIN": str(domain)})
    yield lambda *arguments: runner.invoke(app, list(arguments))
    peer.send_signal(signal.SIGTERM)
    peer.communicate(timeout=30)


def ok(result: Any) -> Any:
    assert result.exit_code == 0, (result.output, result.stderr, result.exception)
    return json.loads(result.stdout)


def test_cli_lists(run: Any) -> None:
    assert ok(run("node", "list", "--json")) == ["/peer"]
    topics = ok(run("topic", "list", "--json"))
    assert topics["/peer/greeting"] == "std_msgs/msg/String"
    assert ok(run("service", "list", "--json"))["/peer/negate"] == "std_srvs/srv/SetBool"
    info = ok(run("node", "info", "/peer", "--json", *LONG))
    assert info["services"]["/peer/change_state"] == "lifecycle_msgs/srv/ChangeState"
    info = ok(run("topic", "info", "/peer/greeting", "--json", *LONG))
    assert info["publishers"] == [{"node": "/peer", "qos": "reliable, latched, depth 1"}]


def test_cli_calls(run: Any) -> None:
    answer = ok(run("service", "call", "/peer/negate", "{data: false}", "--json", *LONG))
    assert answer == {"success": True, "message": "negated"}
    wrong = run("service", "call", "/peer/negate", "{dita: false}")
    assert wrong.exit_code != 0 and "did you mean 'data'" in str(wrong.exception)


def test_cli_parameters(run: Any) -> None:
    assert run("param", "set", "/peer", "speed", "1").exit_code == 0
    assert ok(run("param", "get", "/peer", "speed", "--json", *LONG)) == {"speed": 1.0}
    assert ok(run("param", "list", "/peer", "--json", *LONG))["serial"] == "A1"
    refused = run("param", "set", "/peer", "speed", "3.5")
    assert (refused.exit_code, "valid: 0.0 to 2.0" in refused.stderr) == (1, True)
    assert run("param", "get", "/peer", "absent").exit_code == 1


def test_cli_lifecycle(run: Any) -> None:
    assert ok(run("lifecycle", "get", "/peer", "--json", *LONG))["state"] == "unconfigured"
    refused = run("lifecycle", "set", "/peer", "activate")
    assert (refused.exit_code, "is unconfigured" in refused.stderr) == (1, True)
    assert run("lifecycle", "set", "/peer", "configure").stdout == "inactive\n"
    assert run("lifecycle", "set", "/peer", "cleanup").stdout == "unconfigured\n"


def test_cli_echo_and_what_is_absent(run: Any, domain: int) -> None:
    assert ok(run("topic", "echo", "/peer/greeting", "--once", "--json", *LONG)) == {
        "data": "hello"
    }
    runner = CliRunner(env={"OPENRAL_DOMAIN": str(domain)})
    absent = runner.invoke(app, ["topic", "echo", "/peer/greting", "--wait", "0.3"])
    assert absent.exit_code == 1
    assert "no topic '/peer/greting' in the graph; did you mean '/peer/greeting'?" in absent.stderr


def test_cli_hz_and_pub(run: Any, graph: Any, until: Any) -> None:
    node = graph.node("ticker")
    publisher = node.create_publisher("std_msgs/msg/String", "/tick", SENSOR)
    node.create_timer(0.02, lambda: publisher.publish(types.new("std_msgs/msg/String")))
    measured = ok(run("topic", "hz", "/tick", "--seconds", "2", "--json", *LONG))
    assert 40 < measured["hz"] < 60
    got: list[Any] = []
    graph.node("listener").create_subscription("std_msgs/msg/String", "/said", got.append, LATCHED)
    said = run(
        "topic", "pub", "/said", "std_msgs/msg/String", "{data: hi}", "--once", "--qos", "latched"
    )
    assert said.exit_code == 0
    until(lambda: got)
    assert got[0].data == "hi"
    nobody = run("topic", "pub", "/void", "std_msgs/msg/String", "--once", "--wait", "0.2")
    assert (nobody.exit_code, "nobody hears '/void'" in nobody.stderr) == (1, True)
