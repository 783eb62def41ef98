"""Services on the wire, byte for byte as a real rmw_cyclonedds puts them there."""

from __future__ import annotations

from typing import Any

import pytest

from openral.ros import names
from openral.ros.codec import types
from openral.ros.node import service_wire
from openral.ros.node.parameter_services import value_to_msg
from openral.ros.qos import SERVICE
from openral.ros.transport.dds_config import Network
from openral.ros.transport.dds_transport import DdsTransport
from openral.ros.transport.transport import EndpointSpec

TRIGGER = "std_srvs/srv/Trigger"
CLIENT = b"clientid=1.10.f0;typehash=RIHS01_0;"


def golden(services: Any, topic: str) -> bytes:
    found = [s["hex"] for s in services["rmw_cyclonedds"] if s["topic"] == topic]
    return bytes.fromhex(found[0])


@pytest.fixture
def ros(domain: int) -> Any:
    transport = DdsTransport(Network(domain))
    yield transport
    transport.close()


def specs(name: str, kind: str, user_data: bytes) -> tuple[EndpointSpec, EndpointSpec]:
    return (
        EndpointSpec(
            names.request_on_wire(name), types.dds_type_name(f"{kind}_Request"), SERVICE, user_data
        ),
        EndpointSpec(
            names.reply_on_wire(name), types.dds_type_name(f"{kind}_Response"), SERVICE, user_data
        ),
    )


def test_a_captured_request_gets_the_captured_reply(
    graph: Any, services: Any, until: Any, ros: DdsTransport
) -> None:
    def handler(request: Any, response: Any) -> Any:
        response.success, response.message = True, "hello from rclpy"
        return response

    graph.node("server").create_service(TRIGGER, "/ros_trigger", handler)
    request, reply = specs("/ros_trigger", TRIGGER, CLIENT)
    writer, reader = ros.writer(request), ros.reader(reply)
    until(lambda: writer.matched() and reader.matched())
    writer.write(golden(services, "rq/ros_triggerRequest"))
    answer = until(reader.take)[0].payload
    assert answer == golden(services, "rr/ros_triggerReply")


def test_a_captured_parameter_request_gets_the_captured_reply(
    graph: Any, services: Any, until: Any, ros: DdsTransport
) -> None:
    graph.node("ros_peer")
    kind, name = "rcl_interfaces/srv/GetParameters", "/ros_peer/get_parameters"
    request, reply = specs(name, kind, CLIENT)
    writer, reader = ros.writer(request), ros.reader(reply)
    until(lambda: writer.matched() and reader.matched())
    writer.write(golden(services, f"rq{name}Request"))
    answer = until(reader.take)[0].payload
    captured = golden(services, f"rr{name}Reply")
    assert answer[:20] == captured[:20]
    response = types.decode(f"{kind}_Response", answer, service_wire.HEADER)
    assert response == types.decode(f"{kind}_Response", captured, service_wire.HEADER)
    assert response.values[0] == value_to_msg(False)


def test_our_request_is_shaped_like_the_captured_one(
    graph: Any, services: Any, until: Any, ros: DdsTransport
) -> None:
    client = graph.node("caller").create_client(TRIGGER, "/ros_trigger")
    request, reply = specs("/ros_trigger", TRIGGER, b"serviceid=1;")
    reader, writer = ros.reader(request), ros.writer(reply)
    until(client.service_is_ready)
    until(lambda: reader.matched() and writer.matched())
    future = client.call_async(client.request_class())
    sample = until(reader.take)[0]
    captured = golden(services, "rq/ros_triggerRequest")
    assert len(sample.payload) == len(captured)
    assert sample.payload[12:] == captured[12:]  # the first sequence number and the body
    answer = golden(services, "rr/ros_triggerReply")
    writer.write(answer)  # for another client: not ours
    writer.write(answer[:4] + sample.payload[4:20] + answer[20:])
    assert future.result(20.0).message == "hello from rclpy"


def test_both_endpoints_of_a_side_carry_the_same_id(graph: Any, until: Any, ros: Any) -> None:
    node = graph.node("both")
    node.create_service(TRIGGER, "/go", lambda request, response: response)
    node.create_client(TRIGGER, "/go")

    def found() -> Any:
        return [e for e in ros.endpoints() if names.service_of_wire(e.topic) == "/go"]

    until(lambda: len(found()) == 4)
    for role, is_request_writer in (("serviceid", False), ("clientid", True)):
        tags = {
            service_wire.find_tag(e.user_data, role)
            for e in found()
            if e.is_writer == (is_request_writer == e.topic.startswith("rq"))
        }
        assert len(tags) == 1 and tags != {b""}
    hash_ = types.type_hash(TRIGGER).encode()
    assert all(hash_ in e.user_data for e in found())
