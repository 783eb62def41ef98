"""Whatever arrives, a node lives on, counts it and names the peer once."""

from __future__ import annotations

import random
import resource
import socket
import struct
from typing import Any

import pytest

from openral.ros import names
from openral.ros.codec import types
from openral.ros.graph import Graph
from openral.ros.node import service_wire
from openral.ros.node.presence import presence_spec
from openral.ros.qos import DEFAULT, QoS
from openral.ros.transport.dds_config import Network
from openral.ros.transport.dds_transport import DdsTransport
from openral.ros.transport.transport import EndpointSpec, Writer

DEEP = QoS(depth=1000)
HEADER = b"\0\1\0\0"
FASTDDS_TRIGGER = bytes.fromhex("0001000000000000")
FASTDDS_GET_PARAMETERS = bytes.fromhex("00010000010000000d0000007573655f73696d5f74696d6500000000")


@pytest.fixture
def attacker(domain: int) -> Any:
    transport = DdsTransport(Network(domain))
    yield transport
    transport.close()


def topic_writer(transport: DdsTransport, topic: str, type_name: str) -> Writer:
    spec = EndpointSpec(names.topic_on_wire(topic), types.dds_type_name(type_name), DEEP)
    return transport.writer(spec)


def joint_state() -> bytes:
    return types.encode(
        types.new(
            "sensor_msgs/msg/JointState",
            name=["shoulder", "elbow", "wrist"],
            position=[0.1, 0.2, 0.3],
            velocity=[0.0, 0.0, 0.0],
        )
    )


def attacks() -> list[bytes]:
    good = joint_state()
    dice = random.Random(20240917)
    found = [good[:size] for size in range(5, len(good) - 4, 4)]
    found += [HEADER + struct.pack("<iII", 0, 0, claim) for claim in (2**32 - 1, 2**31, 2**24)]
    found += [HEADER + b"\0" * 8 + struct.pack("<I", 4) + b"\xff\xfe\xfd\0" + bytes(16)]
    found += [b"\0\7\0\0" + good[4:], b"\xff" * 64, HEADER + b"\xff" * 64]
    found += [types.encode(types.new("sensor_msgs/msg/Image", data=bytes(3000)))]
    for _ in range(300):
        mutated = bytearray(good)
        for _ in range(dice.randint(1, 6)):
            mutated[dice.randrange(4, len(good))] = dice.randrange(256)
        found.append(bytes(mutated))
    return found


def decodes(payload: bytes) -> bool:
    try:
        types.decode("sensor_msgs/msg/JointState", payload)
    except Exception:
        return False
    return True


def test_a_topic(
    graph: Any, attacker: DdsTransport, until: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    node = graph.node("listener")
    got: list[Any] = []
    subscription = node.create_subscription(
        "sensor_msgs/msg/JointState", "/joint_states", got.append, DEEP
    )
    writer = topic_writer(attacker, "/joint_states", "sensor_msgs/msg/JointState")
    until(writer.matched)
    payloads = attacks()
    bad = sum(not decodes(payload) for payload in payloads)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for payload in payloads:
        writer.write(payload)
    until(lambda: len(got) + subscription.faults.count == len(payloads))
    assert subscription.faults.count == bad > 50
    assert node.callback_errors == 0
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kib < 64 * 1024, "a claimed length was believed"
    writer.write(joint_state())
    until(lambda: got and list(got[-1].name) == ["shoulder", "elbow", "wrist"])
    reports = capfd.readouterr().err.count("message ignored")
    assert reports == 1


def test_a_topic_attacked_from_another_process(graph: Any, until: Any) -> None:
    node = graph.node("listener")
    got: list[Any] = []
    kind, topic = "sensor_msgs/msg/JointState", "/joint_states"
    subscription = node.create_subscription(kind, topic, got.append, DEEP)
    # What is not even plain CDR by its header is dropped by DDS before it gets to us.
    payloads = [payload for payload in attacks() if payload.startswith(HEADER)]
    process = graph.program("attacker.py", topic, kind, *(payload.hex() for payload in payloads))
    until(lambda: len(got) + subscription.faults.count == len(payloads), 60.0)
    assert subscription.faults.count == sum(not decodes(payload) for payload in payloads)
    assert process.wait(60.0) == 0


def test_a_peer_with_an_unknown_encoding_does_not_disturb_others(
    graph: Any, until: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    got: list[Any] = []
    kind, topic = "std_msgs/msg/String", "/chat"
    subscription = graph.node("listener").create_subscription(kind, topic, got.append)
    graph.program("attacker.py", topic, kind, (b"\xff" * 64).hex())
    until(lambda: subscription.publisher_count == 1)
    publisher = graph.node("honest").create_publisher(kind, topic)
    publisher.publish(types.new(kind, data="hi"))
    until(lambda: got)
    until(lambda: subscription.publisher_count == 1)
    assert "malformed" not in capfd.readouterr().err


def test_every_peer_is_reported_once(
    graph: Any, attacker: DdsTransport, until: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    node = graph.node("listener")
    subscription = node.create_subscription("std_msgs/msg/String", "/chat", lambda m: None, DEEP)
    for _ in range(3):
        writer = topic_writer(attacker, "/chat", "std_msgs/msg/String")
        until(writer.matched)
        known = subscription.faults.count
        for _ in range(5):
            writer.write(b"\xff" * 16)
        until(lambda known=known: subscription.faults.count == known + 5)
    error = capfd.readouterr().err
    assert error.count("message ignored") == 3
    assert writer.guid.hex() in error


def test_another_type_on_the_topic_does_not_reach_us(
    graph: Any, attacker: DdsTransport, until: Any
) -> None:
    got: list[Any] = []
    subscription = graph.node("listener").create_subscription(
        "std_msgs/msg/String", "/chat", got.append
    )
    wrong = topic_writer(attacker, "/chat", "std_msgs/msg/Bool")
    wrong.write(types.encode(types.new("std_msgs/msg/Bool")))
    second = DdsTransport(attacker.network)
    right = topic_writer(second, "/chat", "std_msgs/msg/String")
    until(right.matched)
    right.write(types.encode(types.new("std_msgs/msg/String", data="hi")))
    until(lambda: got)
    assert (len(got), subscription.faults.count, wrong.matched()) == (1, 0, 0)
    second.close()


@pytest.mark.parametrize("payload", [FASTDDS_TRIGGER, FASTDDS_GET_PARAMETERS])
def test_requests_without_an_id_are_ignored_and_explained(
    graph: Any,
    attacker: DdsTransport,
    until: Any,
    capfd: pytest.CaptureFixture[str],
    payload: bytes,
) -> None:
    node = graph.node("server")
    calls: list[Any] = []
    kind, name = "rcl_interfaces/srv/GetParameters", "/server/ask"
    service = node.create_service(kind, name, lambda request, response: calls.append(request))
    request = types.dds_type_name(f"{kind}_Request")
    writer = attacker.writer(EndpointSpec(names.request_on_wire(name), request, DEFAULT))
    until(writer.matched)
    for _ in range(4):
        writer.write(payload)
    until(lambda: service.faults.count == 4)
    error = capfd.readouterr().err
    assert error.count("message ignored") == 1
    assert "RMW_IMPLEMENTATION=rmw_cyclonedds_cpp" in error
    assert not calls


def test_a_service_and_its_client(graph: Any, attacker: DdsTransport, until: Any) -> None:
    kind, name = "std_srvs/srv/SetBool", "/flip"

    def flip(request: Any, response: Any) -> Any:
        response.success = not request.data
        return response

    service = graph.node("server").create_service(kind, name, flip)
    client = graph.node("caller").create_client(kind, name)
    requests = attacker.writer(
        EndpointSpec(
            names.request_on_wire(name),
            types.dds_type_name(f"{kind}_Request"),
            DEEP,
            b"clientid=1;",
        )
    )
    replies = attacker.writer(
        EndpointSpec(names.reply_on_wire(name), types.dds_type_name(f"{kind}_Response"), DEEP)
    )
    until(lambda: requests.matched() and replies.matched())
    dice = random.Random(7)
    for _ in range(100):
        junk = dice.randbytes(dice.randrange(5, 60))
        requests.write(junk)
        replies.write(junk)
    requests.write(HEADER + bytes(service_wire.HEADER) + b"\xff" * 40)
    until(lambda: service.faults.count > 50 and client.faults.count > 10)
    assert client.call(client.request_class(data=False), 20.0).success is True


def test_the_graph_view(graph: Any, attacker: DdsTransport, until: Any) -> None:
    node = graph.node("honest")
    view = Graph(node.context)
    writer = attacker.writer(presence_spec())
    until(writer.matched)
    for size in range(5, 80, 5):
        writer.write(random.Random(size).randbytes(size))
    until(lambda: "/honest" in [n.full_name for n in view.nodes()])
    view.close()


def test_datagrams_that_are_no_dds_at_all(graph: Any, until: Any, domain: int) -> None:
    got: list[Any] = []
    graph.node("listener").create_subscription("std_msgs/msg/String", "/chat", got.append)
    publisher = graph.node("talker", apart=True).create_publisher("std_msgs/msg/String", "/chat")
    until(lambda: publisher.has_subscribers)
    dice = random.Random(11)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for port in range(7400 + 250 * domain + 10, 7400 + 250 * domain + 18):
            for _ in range(20):
                junk = dice.choice([b"", b"RTPS\2\1\1\x10"]) + dice.randbytes(
                    dice.randrange(1, 200)
                )
                sender.sendto(junk, ("127.0.0.1", port))
    publisher.publish(types.new("std_msgs/msg/String", data="still here"))
    assert until(lambda: got)[0].data == "still here"
