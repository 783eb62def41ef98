"""A local graph hears this machine alone, and no message takes all memory."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from openral.ros.node.context import Context
from openral.ros.transport.dds_config import MAX_SAMPLE_BYTES, Network
from openral.ros.transport.loopback_sockets import hear_loopback_only, receiving_sockets
from tests.deploy.test_other_graph import start_in, two_machines
from tests.ros.conftest import Graph, wait_until

LISTEN = """
import sys, time
from openral.ros.node.context import Context
from openral.ros.transport.dds_config import Network
from openral.ros.transport.loopback_sockets import hear_loopback_only, receiving_sockets
context = Context(Network.from_environment())
sockets = receiving_sockets(context.transport.domain)
print(*[made.getsockname()[1] for made in sockets], flush=True)
sys.stdin.read()
"""
SEND = """
import socket, sys
link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
link.settimeout(2)
heard = []
for port in sys.argv[2:]:
    link.connect((sys.argv[1], int(port)))
    link.send(b"RTPS")
    try:
        link.recv(10)
    except ConnectionRefusedError:
        heard.append("refused")
    except TimeoutError:
        heard.append("taken")
print(*heard)
"""


def test_all_receiving_sockets_are_tied_to_loopback(domain: int) -> None:
    with Context(Network(domain)):
        made = receiving_sockets(domain)
        assert len(made) >= 2  # the lender of domains for tests may hold one more
        for link in made:
            device = link.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16)
            assert device.rstrip(b"\0") == b"lo"
            link.close()


def test_looking_for_sockets_opens_nothing(domain: int) -> None:
    with Context(Network(domain)), Path("/dev/null").open() as _:
        before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(3):
            for link in receiving_sockets(domain):
                link.close()
        assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize(("network", "answer"), [("lo", "refused"), ("wire0", "taken")])
def test_a_datagram_from_another_machine_is_refused(network: str, answer: str) -> None:
    with two_machines() as (here, there):
        listener = start_in(here, LISTEN, network=network, stdin=subprocess.PIPE)
        try:
            assert listener.stdout is not None
            ports = listener.stdout.readline().split()
            assert len(ports) >= 2
            sender = start_in(there, SEND, "10.99.7.1", *ports, network=network)
            assert set(sender.communicate(timeout=60)[0].split()) == {answer}
        finally:
            listener.kill()
            listener.communicate()


FLOOD = """
import sys, time
from openral.ros.transport import dds_config
dds_config.MAX_SAMPLE_BYTES = 2**31 - 1
from openral.ros.node.context import Context
from openral.ros.transport.dds_config import Network
from openral.ros.node.node import Node
from openral.ros.codec import types
node = Node("flood", context=Context(Network.from_environment()))
out = node.create_publisher("std_msgs/msg/String", "/text")
while not out.has_subscribers:
    time.sleep(0.01)
def tell(size):
    out.publish_bytes(b"\\0\\1\\0\\0" + (size + 1).to_bytes(4, "little") + b"x" * size + b"\\0")
tell(1 << 20)
time.sleep(1.0)
tell(int(sys.argv[1]))
time.sleep(5.0)
tell(10)
time.sleep(5.0)
"""


def test_a_message_larger_than_any_may_be_is_not_put_together(graph: Graph) -> None:
    heard: list[int] = []
    node = graph.node("ear")
    node.create_subscription("std_msgs/msg/String", "/text", lambda m: heard.append(len(m.data)))
    before = rss()
    sender = subprocess.Popen(
        [sys.executable, "-c", FLOOD, str(MAX_SAMPLE_BYTES * 3)],
        env={**os.environ, "OPENRAL_DOMAIN": str(graph.domain)},
    )
    try:
        most = before
        while sender.poll() is None and len(heard) < 2:
            most = max(most, rss())
        wait_until(lambda: len(heard) > 1, 60.0)
    finally:
        sender.kill()
        sender.wait()
    assert heard == [1 << 20, 10]
    assert most - before < 2 * MAX_SAMPLE_BYTES


def rss() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_looking_for_sockets_leaves_no_descriptor_open(domain: int) -> None:
    """Copies of what was no socket stayed open, and doubled with every context."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        hear_loopback_only(domain)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
