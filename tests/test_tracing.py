"""One trace id from the policy to the motors, over a real OTLP receiver; free where none is."""

from __future__ import annotations

import gzip
import importlib.util
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from openral import tracing
from openral.graph import topics as safety_topics
from openral.ros.recording import BackgroundWriter, Recording, RecordingWriter
from openral.ros.recording.recorder import Recorder
from openral.skill import topics
from tests.ros.conftest import Graph, domain, graph, wait_until  # noqa: F401 - fixtures
from tests.skill.live_rig import RunnerGraphRig

needs_otel = pytest.mark.skipif(
    importlib.util.find_spec("opentelemetry") is None, reason="the extra 'otel' is not installed"
)


class Receiver:
    """Takes traces as an OpenTelemetry collector does: OTLP over HTTP."""

    def __init__(self) -> None:
        self.spans: list[tuple[str, Any]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                receiver.take(self.path, body)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *ignored: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def take(self, path: str, body: bytes) -> None:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
            ExportTraceServiceRequest,
        )

        assert path == "/v1/traces"
        request = ExportTraceServiceRequest.FromString(body)
        for resource in request.resource_spans:
            named = {a.key: a.value.string_value for a in resource.resource.attributes}
            for scope in resource.scope_spans:
                self.spans += [(named["service.name"], span) for span in scope.spans]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    made = Receiver()
    monkeypatch.setenv(tracing.ENDPOINT, made.endpoint)
    yield made
    tracing.stop()
    made.close()


@needs_otel
def test_a_span_says_what_it_was_told_and_belongs_to_the_action(receiver: Receiver) -> None:
    assert tracing.start("test")
    trace_id = bytes(range(16))
    with tracing.span("outer", trace_id, time.time_ns() - 10**9, mode="joint_position") as span:
        span.set(verdict="accepted", clearance=0.25)
    with pytest.raises(KeyError), tracing.span("broken"):
        raise KeyError("x")
    tracing.stop()
    assert not tracing.enabled()
    (service, outer), (_, broken) = receiver.spans
    assert (service, outer.name, outer.trace_id) == ("test", "outer", trace_id)
    assert outer.end_time_unix_nano - outer.start_time_unix_nano > 0.9e9
    told = {a.key: a.value for a in outer.attributes}
    assert told["mode"].string_value == "joint_position"
    assert told["clearance"].double_value == 0.25
    assert broken.events[0].name == "exception"
    assert broken.trace_id != trace_id


@needs_otel
def test_a_receiver_that_is_away_delays_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    monkeypatch.setenv(tracing.ENDPOINT, f"http://127.0.0.1:{port}")
    assert tracing.start("test")
    began = time.monotonic()
    for _ in range(3000):
        with tracing.span("lost", bytes(16)):
            pass
    assert time.monotonic() - began < 5.0
    tracing.stop()


def run(program: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout + done.stderr


def test_without_an_endpoint_nothing_is_imported_or_sent() -> None:
    program = """
import sys
from openral import tracing
assert not tracing.start("test")
with tracing.span("nothing", bytes(16), mode="x") as span:
    span.set(verdict="accepted")
assert tracing.span("a") is tracing.span("b", bytes(16), 1, c=2)
import openral.safety.node.kernel_node, openral.skill.runner.node, openral.hal.node
print([name for name in sys.modules if name.startswith(("opentelemetry", "requests"))])
"""
    assert run(program).strip() == "[]"


def test_an_endpoint_without_the_extra_is_told_and_harmless() -> None:
    program = """
import sys
sys.modules["opentelemetry"] = None
from openral import tracing
assert not tracing.start("test")
with tracing.span("nothing"):
    pass
"""
    told = run(program, **{tracing.ENDPOINT: "http://127.0.0.1:9"})
    assert "the extra 'otel' is not installed" in told


@needs_otel
def test_one_id_follows_an_action_from_policy_to_motor_and_stands_in_the_recording(
    graph: Graph,  # noqa: F811
    receiver: Receiver,
    tmp_path: Path,
) -> None:
    recorded = (topics.CANDIDATE, safety_topics.VERDICT, topics.APPLIED)
    rig = RunnerGraphRig(graph, "ur5e")
    node = graph.node("recorder", apart=True)
    sink = BackgroundWriter(RecordingWriter(tmp_path / "bag"))
    recorder = Recorder(node, sink, topics=list(recorded))
    try:
        rig.start_all("bare")

        def joined() -> bool:
            recorder.look()
            known = recorder.subscriptions
            return all(t in known and known[t].publisher_count for t in recorded)

        wait_until(joined)
        _, result = rig.run("home")
        assert result.success, result
        names = {"skill.step", "safety.check", "hal.send_action", "hal.read_state"}

        def traced() -> set[bytes]:
            found = {
                name: {s.trace_id for _, s in receiver.spans if s.name == name} for name in names
            }
            return set.intersection(*found.values())

        ids = wait_until(traced, 30.0)
    finally:
        rig.close()
        recorder.close()
        sink.close()
    services = {span.name: service for service, span in receiver.spans}
    assert services == {
        "skill.step": "openral.skill",
        "safety.check": "openral.safety",
        "hal.send_action": "openral.hal",
        "hal.read_state": "openral.hal",
    }
    check = next(s for _, s in receiver.spans if s.name == "safety.check" and s.trace_id in ids)
    told = {a.key: a.value for a in check.attributes}
    assert told["mode"].string_value == "joint_position"
    assert told["verdict"].string_value == "accepted"
    assert told["severity"].string_value == "info"
    assert told["clearance"].double_value > 0
    kept: dict[str, set[bytes]] = {topic: set() for topic in recorded}
    for record in Recording(tmp_path / "bag"):
        kept[record.topic].add(bytes(record.message.trace_id))
    assert ids & set.intersection(*kept.values())
