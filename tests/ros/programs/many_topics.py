"""Opens many topics of one type in two contexts, with little memory to do it in."""

from __future__ import annotations

import resource

from cyclonedds.builtin import BuiltinDataReader, BuiltinTopicDcpsPublication

from openral.ros.qos import DEFAULT
from openral.ros.transport.dds_transport import DdsTransport
from openral.ros.transport.transport import EndpointSpec

resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
transports = [DdsTransport() for _ in range(3)]
writers = [
    transport.writer(EndpointSpec(f"rt/t{number}", "a::msg::dds_::X_", DEFAULT))
    for number in range(100)
    for transport in transports
]
reader = BuiltinDataReader(transports[0]._participant, BuiltinTopicDcpsPublication)
found = [sample for sample in reader.read(1000) if sample.topic_name.startswith("rt/t")]
structured = [sample for sample in found if sample.type_id is not None]
print(f"{len(found)} topics, {len(structured)} with a structure")
for transport in transports:
    transport.close()
