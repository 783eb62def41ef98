"""Sends what no node of the run has sent, to every input of kernel and HAL.

`garbage.py DOMAIN COUNT`: forged, random and oversized messages, as fast as they are taken. Nothing
that anybody may ask for is among them: no stop, and no new proposal.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from functools import partial

from openral.graph import topics
from openral.graph.run_key import RunKey
from openral.graph.seal import Seal
from openral.graph.sealed import TYPE as SEALED
from openral.graph.sealed import Sealer, sealed_topic
from openral.graph.topics import APPLIED, TIME_LEASE
from openral.ros.codec import types
from openral.ros.node.context import Context
from openral.ros.node.executor import Executor
from openral.ros.node.node import Node
from openral.ros.node.node_clock import CLOCK_TYPE
from openral.ros.node.publisher import Publisher
from openral.ros.qos import CLOCK, QoS
from openral.ros.transport.dds_config import Network
from tests.hal.chunks import joint_chunk
from tests.ros.conftest import wait_until

MSGS = "openral_msgs/msg"
BIG_BYTES, BIG_EVERY = 300_000, 400
SEALED_TOPICS: dict[str, tuple[str, QoS]] = {
    topics.JOINT_STATES: ("sensor_msgs/msg/JointState", topics.SENSOR),
    topics.HAL_STATE: (f"{MSGS}/HalState", topics.SENSOR),
    topics.SAFETY_STATE: (f"{MSGS}/SafetyState", topics.LATCHED),
    topics.WORLD: (f"{MSGS}/WorldCollision", topics.LATCHED),
    topics.VOXELS: (f"{MSGS}/OccupancyVoxels", topics.SENSOR),
    TIME_LEASE: (f"{MSGS}/TimeLease", topics.STATE),
    "/clock": (CLOCK_TYPE, CLOCK),
}
UNREAD = {APPLIED: (f"{MSGS}/AppliedAction", topics.STATE)}
"""Known to the run's nodes as what they say, not as what they hear."""


def main() -> None:
    domain, count = int(sys.argv[1]), int(sys.argv[2])
    chance, key = random.Random(7), RunKey.create()
    context = Context(Network(domain))
    node, executor = Node("garbage", context=context), Executor(context)
    executor.add_node(node)
    executor.start()
    send: list[Callable[[], None]] = []
    outs = []

    def garbage() -> bytes:
        return b"\0\1\0\0" + chance.randbytes(chance.randrange(8, 400))

    def tell(out: Publisher, payload: Callable[[], bytes]) -> None:
        out.publish_bytes(payload())

    def aim(kind: str, topic: str, qos: QoS, *payloads: Callable[[], bytes]) -> None:
        out = node.create_publisher(kind, topic, qos)
        outs.append(out)
        send.extend(partial(tell, out, payload) for payload in payloads)

    def empty(kind: str) -> bytes:
        return types.encode(types.new(kind))

    for topic, (kind, qos) in SEALED_TOPICS.items():
        sealer, honest = Sealer(key, topic), empty(kind)
        aim(SEALED, sealed_topic(topic), qos, partial(sealer.seal, honest), garbage)
    for topic, (kind, qos) in (SEALED_TOPICS | UNREAD).items():
        if topic not in (topics.WORLD, "/clock", TIME_LEASE):
            aim(kind, topic, qos, partial(empty, kind), garbage)
    aim(f"{MSGS}/WorldCollision", topics.WORLD, topics.LATCHED, garbage)
    aim(f"{MSGS}/TimeLease", TIME_LEASE, topics.STATE, garbage)
    seal, chunk = Seal(key, 2**63), types.encode(joint_chunk([[0.0] * 6] * 3))
    aim(
        f"{MSGS}/SafeAction",
        topics.SAFE_ACTION,
        topics.COMMAND,
        lambda: seal.seal(chunk, 0, 2**60),
        garbage,
    )
    aim(f"{MSGS}/ActionChunk", topics.CANDIDATE, topics.COMMAND, lambda: chunk)  # long ago
    safe = next(out for out in outs if out.topic == topics.SAFE_ACTION)
    wait_until(lambda: safe.has_subscribers)
    big = b"\0\1\0\0" + bytes(BIG_BYTES)
    print("begins", flush=True)
    for number in range(count):
        if number % BIG_EVERY == 0:
            chance.choice(outs).publish_bytes(big)
        else:
            chance.choice(send)()
    print("sent", flush=True)
    context.close()


if __name__ == "__main__":
    main()
