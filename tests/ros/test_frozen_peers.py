"""A process that stood still for longer than DDS waits is found again, by both sides."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import Any

from openral.ros.codec import types
from openral.ros.qos import QoS
from tests.ros.conftest import wait_until

AGAIN_S = 5.0
PEER = """
import sys, time
from openral.ros.codec import types
from openral.ros.node.context import Context
from openral.ros.transport.dds_config import Network
from openral.ros.node.executor import Executor
from openral.ros.node.node import Node
from openral.ros.qos import QoS
context = Context(Network(int(sys.argv[1])))
node, executor, heard = Node("peer", context=context), Executor(context), []
node.create_subscription("std_msgs/msg/String", "/there", heard.append, QoS(depth=1))
out = node.create_publisher("std_msgs/msg/String", "/back", QoS(depth=1))
executor.add_node(node)
executor.start()
while True:
    out.publish(types.new("std_msgs/msg/String", data=str(len(heard))))
    time.sleep(0.02)
"""


def test_one_that_froze_is_heard_again(graph: Any) -> None:
    """Cyclone announces a participant seldom, and forgets whom it has given up."""
    node, back = graph.node("test"), list[int]()
    out = node.create_publisher("std_msgs/msg/String", "/there", QoS(depth=1))
    node.create_wall_timer(0.02, lambda: out.publish(types.new("std_msgs/msg/String", data="x")))
    node.create_subscription(
        "std_msgs/msg/String", "/back", lambda said: back.append(int(said.data)), QoS(depth=1)
    )
    with subprocess.Popen([sys.executable, "-c", PEER, str(graph.domain)]) as peer:
        try:
            wait_until(lambda: back and back[-1] > 20)
            time.sleep(1.0)  # what is announced more often at first is over
            peer.send_signal(signal.SIGSTOP)
            wait_until(lambda: not out.has_subscribers)
            time.sleep(1.0)
            peer.send_signal(signal.SIGCONT)
            began, told = time.monotonic(), back[-1]
            wait_until(lambda: back[-1] > told + 20)
            assert time.monotonic() - began < AGAIN_S
        finally:
            peer.kill()
