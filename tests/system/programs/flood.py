"""Sends the same candidate again and again: `flood.py DOMAIN HZ old|fresh`, its bytes on the input.

The rate is one of the graph's time, which waits for this program where it waits for anybody;
elsewhere this program runs before ordinary ones, if that is allowed. `fresh` ones are stamped with
the graph's time as they are sent. Prints how many were sent so far, after the graph's time at which
that was so, until it is ended.
"""

from __future__ import annotations

import contextlib
import os
import struct
import sys
import time

from openral.graph import topics
from openral.graph.time_lease import LeaseHolder
from openral.ros.clock import NS
from openral.ros.node.context import Context
from openral.ros.node.executor import Executor
from openral.ros.node.node import Node
from openral.ros.transport.dds_config import Network
from tests.ros.conftest import wait_until

TELL_S = 0.02
_STAMP, _AT = struct.Struct("<iI"), 4
_BURST = 25
_LEASE_S = 0.02
_BEHIND_NS = NS // 10
"""What was missed longer ago is not made up for: a flood has a rate, not bursts of seconds."""


def main() -> None:
    domain, hertz, fresh = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3] == "fresh"
    payload = bytearray(sys.stdin.buffer.read())
    context = Context(Network(domain))
    node = Node("flood", context=context, parameters={"use_sim_time": True})
    lease = LeaseHolder(node, _LEASE_S)
    executor = Executor(context)
    executor.add_node(node)
    executor.start()
    out = node.create_publisher("openral_msgs/msg/ActionChunk", topics.CANDIDATE, topics.COMMAND)
    wait_until(lambda: out.has_subscribers and node.clock.ready)
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    sent, due, told = 0, node.now(), 0
    while True:
        now = node.now()
        lease.extend()
        if now < due:
            time.sleep(0.001)
            continue
        if fresh:
            _STAMP.pack_into(payload, _AT, *divmod(now, NS))
        whole = bytes(payload)
        for _ in range(_BURST):
            out.publish_bytes(whole)
        sent += _BURST
        if now - told >= TELL_S * NS:
            print(f"{now / NS} {sent}", flush=True)
            told = now
        due = max(due + round(_BURST / hertz * NS), now - _BEHIND_NS)


if __name__ == "__main__":
    main()
