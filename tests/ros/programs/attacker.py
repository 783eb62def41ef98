"""Writes payloads, given in hex, to a topic."""

from __future__ import annotations

import sys
import time

from openral.ros import names
from openral.ros.codec import types
from openral.ros.qos import QoS
from openral.ros.transport.dds_transport import DdsTransport
from openral.ros.transport.transport import EndpointSpec

topic, kind, *payloads = sys.argv[1:]
transport = DdsTransport()
spec = EndpointSpec(names.topic_on_wire(topic), types.dds_type_name(kind), QoS(depth=1000))
writer = transport.writer(spec)
while not writer.matched():
    time.sleep(0.01)
for payload in payloads:
    writer.write(bytes.fromhex(payload))
time.sleep(1.0)
transport.close()
