"""The wire itself: isolation, configuration, and bytes that arrive as they were sent."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from cyclonedds.builtin import BuiltinDataReader, BuiltinTopicDcpsPublication
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openral.errors import ConfigError
from openral.ros.codec.types import new
from openral.ros.node.node import Node
from openral.ros.qos import DEFAULT, LATCHED, SENSOR, SERVICE
from openral.ros.transport import dds_config
from openral.ros.transport.dds_config import DEFAULT_DOMAIN, Network, cyclone_xml
from openral.ros.transport.dds_transport import DdsTransport
from openral.ros.transport.transport import EndpointSpec

SPEC = EndpointSpec("rt/x", "a::msg::dds_::X_", DEFAULT, b"typehash=RIHS01_0;")


@pytest.fixture(scope="module")
def pair(domain: int) -> Any:
    transports = DdsTransport(Network(domain)), DdsTransport(Network(domain))
    yield transports
    for transport in transports:
        transport.close()


def receive(reader: Any, until: Any) -> bytes:
    return bytes(until(reader.take)[0].payload)


@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(body=st.binary(min_size=1, max_size=200_000))
def test_bytes_arrive_padded_to_four(pair: Any, until: Any, body: bytes) -> None:
    writer, reader = pair[0].writer(SPEC), pair[1].reader(SPEC)
    until(lambda: writer.matched() and reader.matched())
    payload = b"\0\1\0\0" + body
    writer.write(payload)
    received = receive(reader, until)
    assert received[: len(payload)] == payload
    assert len(received) == -(-len(payload) // 4) * 4
    writer.close()
    reader.close()


def test_a_reader_knows_its_peer(pair: Any, until: Any) -> None:
    writer, reader = pair[0].writer(SPEC), pair[1].reader(SPEC)
    until(lambda: writer.matched() and reader.matched())
    writer.write(b"\0\1\0\0abcd")
    sample = until(reader.take)[0]
    peer = reader.peer(sample.source)
    assert (peer.guid, peer.participant) == (writer.guid, pair[0].guid)
    assert (peer.topic, peer.type_name) == (SPEC.topic, SPEC.type_name)
    assert (peer.user_data, peer.qos) == (SPEC.user_data, DEFAULT)
    assert reader.peer(12345) is None
    writer.close()
    reader.close()
    writer.close()


@pytest.mark.parametrize("qos", [DEFAULT, SENSOR, LATCHED, SERVICE])
def test_discovery_shows_what_was_offered(pair: Any, until: Any, qos: Any) -> None:
    spec = EndpointSpec(f"rt/{qos.depth}_{qos.reliable}", "a::msg::dds_::X_", qos, b"tag;")
    writer = pair[0].writer(spec)

    def seen() -> Any:
        return [e for e in pair[1].endpoints() if e.guid == writer.guid]

    found = until(seen)[0]
    assert (found.topic, found.qos, found.user_data, found.is_writer) == (
        spec.topic,
        qos,
        b"tag;",
        True,
    )
    writer.close()
    until(lambda: not seen())


def test_no_type_information_is_advertised(pair: Any, until: Any) -> None:
    """ROS's own implementations send none, and some refuse to match a structure not theirs."""
    writer = pair[0].writer(SPEC)
    reader = BuiltinDataReader(pair[1]._participant, BuiltinTopicDcpsPublication)
    found = until(lambda: [s for s in reader.read(1000) if s.key.bytes == writer.guid])
    assert found[0].type_id is None
    writer.close()


def test_many_topics_of_one_type_cost_no_memory(graph: Any) -> None:
    """Cyclone's table of types grows without end if it meets too many of the same name."""
    process = graph.program("many_topics.py")
    output, errors = process.communicate(timeout=120)
    assert (output, process.returncode) == ("300 topics, 0 with a structure\n", 0), errors


def test_a_topic_can_have_another_type_when_nobody_uses_it_any_more(pair: Any) -> None:
    first = pair[0].writer(EndpointSpec("rt/reused", "a::msg::dds_::X_", DEFAULT))
    other = EndpointSpec("rt/reused", "a::msg::dds_::Y_", DEFAULT)
    with pytest.raises(ConfigError, match="already carries 'a::msg::dds_::X_'"):
        pair[0].reader(other)
    first.close()
    pair[0].reader(other).close()


def test_topics_and_contexts_can_be_made_anew_at_once(domain: int, pair: Any) -> None:
    """Cyclone forgets what was deleted only a little later."""
    for number in range(60):
        writer = pair[0].writer(SPEC)
        reader = pair[1].reader(SPEC) if number % 3 else None
        writer.close()
        if reader is not None:
            reader.close()
        brief = DdsTransport(Network(domain))
        brief.writer(SPEC)
        brief.close()


def test_endpoints_come_and_go_while_everything_talks(graph: Any, until: Any) -> None:
    near, far = graph.node("near"), graph.node("far", apart=True)
    stop = threading.Event()
    failures: list[BaseException] = []
    heard: list[str] = []

    def worker(work: Any) -> threading.Thread:
        def run() -> None:
            try:
                while not stop.is_set():
                    work()
            except BaseException as error:
                failures.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    publisher = near.create_publisher("std_msgs/msg/String", "/chat")
    client = far.create_client("rcl_interfaces/srv/ListParameters", "/near/list_parameters")
    assert client.wait_for_service(20.0)

    def talk() -> None:
        publisher.publish(new("std_msgs/msg/String", data="x"))
        time.sleep(0.0005)

    def churn(node: Any) -> None:
        subscription = node.create_subscription(
            "std_msgs/msg/String", "/chat", lambda m: heard.append(m.data)
        )
        service = node.create_service("std_srvs/srv/Trigger", "~/go", lambda a, b: b)
        time.sleep(0.01)
        node.destroy_subscription(subscription)
        node.destroy_service(service)

    threads = [
        worker(talk),
        worker(lambda: churn(near)),
        worker(lambda: churn(far)),
        worker(lambda: client.call(client.request_class(), 20.0)),
        worker(lambda: Node("brief", context=far.context).destroy()),
    ]
    until(lambda: len(heard) > 100 or failures)
    time.sleep(1.0)
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert near.callback_errors == far.callback_errors == 0


def test_domains_do_not_hear_each_other(graph: Any, other_domain: int, until: Any) -> None:
    got: list[str] = []
    listener = graph.node("listener", apart=True, domain=other_domain)
    listener.create_subscription("std_msgs/msg/String", "/chat", lambda m: got.append(m.data))
    here = graph.node("here").create_publisher("std_msgs/msg/String", "/chat")
    there = graph.node("there", apart=True, domain=other_domain).create_publisher(
        "std_msgs/msg/String", "/chat"
    )
    until(lambda: there.has_subscribers)
    assert not here.has_subscribers
    here.publish(new("std_msgs/msg/String", data="here"))
    there.publish(new("std_msgs/msg/String", data="there"))
    until(lambda: got)
    assert got == ["there"]


def test_loopback_and_our_own_domain_are_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENRAL_DOMAIN", raising=False)
    monkeypatch.delenv("OPENRAL_NETWORK", raising=False)
    monkeypatch.setenv("ROS_DOMAIN_ID", "5")
    network = Network.from_environment()
    assert network == Network(DEFAULT_DOMAIN, "lo") and network.domain != 0
    assert 'name="lo"' in cyclone_xml(network)
    assert "<AllowMulticast>false" in cyclone_xml(network)


@pytest.mark.parametrize(
    ("variable", "interface"), [("1", None), ("auto", None), ("eth7", "eth7"), ("0", "lo")]
)
def test_opening_the_network_is_explicit(
    monkeypatch: pytest.MonkeyPatch, variable: str, interface: str | None
) -> None:
    monkeypatch.setenv("OPENRAL_NETWORK", variable)
    monkeypatch.setenv("OPENRAL_DOMAIN", "12")
    assert Network.from_environment() == Network(12, interface)
    assert Network.from_environment(7, "off") == Network(7, "lo")


@pytest.mark.parametrize("text", ["x", "-1", "233", "1.5"])
def test_a_wrong_domain_is_named(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("OPENRAL_DOMAIN", text)
    with pytest.raises(ConfigError, match=f"domain '{text}' is not a DDS domain; valid: 0 to 232"):
        Network.from_environment()


def test_one_process_cannot_open_a_domain_twice_differently(pair: Any, domain: int) -> None:
    with pytest.raises(ConfigError, match=f"domain {domain} is already open on interface 'lo'"):
        DdsTransport(Network(domain, "eth0"))


def test_a_small_receive_buffer_is_told_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    limit = tmp_path / "rmem_max"
    limit.write_text("212992\n")
    monkeypatch.setattr(dds_config, "_RMEM_MAX", limit)
    monkeypatch.setattr(dds_config, "_warned", False)
    assert dds_config.warn_if_buffer_small()
    assert dds_config.warn_if_buffer_small()
    text = capsys.readouterr().err
    assert text.count("receive buffer too small") == 1
    assert "sudo sysctl -w net.core.rmem_max=4194304" in text
    limit.write_text("4194304\n")
    assert not dds_config.warn_if_buffer_small()
