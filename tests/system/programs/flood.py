"""Sends the same candidate again and again: `flood.py DOMAIN HZ old|fresh`, its bytes on the input.

`fresh` ones are stamped with the graph's time as they are sent. Prints how many were sent so far,
after the (monotonic) time at which that was so, until it is ended.
"""

from __future__ import annotations

import struct
import sys
import time

from openral.ros.context import Context
from openral.ros.dds_config import Network
from openral.ros.executor import Executor
from openral.ros.node import Node
from openral.safety import topics
from tests.ros.conftest import wait_until

_STAMP, _AT = struct.Struct("<iI"), 4
_BURST = 25
_TELL_S = 0.02
_BEHIND_S = 0.1
"""What was missed longer ago is not made up for: a flood has a rate, not bursts of seconds."""


def main() -> None:
    domain, hertz, fresh = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3] == "fresh"
    payload = bytearray(sys.stdin.buffer.read())
    context = Context(Network(domain))
    node = Node("flood", context=context, parameters={"use_sim_time": fresh})
    executor = Executor(context)
    executor.add_node(node)
    executor.start()
    out = node.create_publisher("openral_msgs/msg/ActionChunk", topics.CANDIDATE, topics.COMMAND)
    wait_until(lambda: out.has_subscribers and node.clock.ready)
    sent, due, told = 0, time.monotonic(), 0.0
    while True:
        if fresh:
            _STAMP.pack_into(payload, _AT, *divmod(node.now(), 10**9))
        whole = bytes(payload)
        for _ in range(_BURST):
            out.publish_bytes(whole)
        sent += _BURST
        now = time.monotonic()
        if now - told >= _TELL_S:
            print(f"{now} {sent}", flush=True)
            told = now
        due = max(due + _BURST / hertz, now - _BEHIND_S)
        time.sleep(max(0.0, due - now))


if __name__ == "__main__":
    main()
