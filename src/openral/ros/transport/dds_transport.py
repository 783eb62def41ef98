"""DdsTransport: ROS 2's wire protocol on the pip package `cyclonedds`, carrying raw CDR."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

from cyclonedds.builtin import (
    BuiltinDataReader,
    BuiltinTopicDcpsParticipant,
    BuiltinTopicDcpsPublication,
    BuiltinTopicDcpsSubscription,
)
from cyclonedds.core import DDSException, Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.pub import DataWriter, Publisher
from cyclonedds.sub import DataReader, Subscriber
from cyclonedds.topic import Topic

from openral.errors import ConfigError, TransportError
from openral.ros.transport import dds_domain
from openral.ros.transport.dds_config import Network
from openral.ros.transport.dds_endpoints import DdsReader, DdsWriter, remote_endpoint
from openral.ros.transport.dds_poller import DdsPoller
from openral.ros.transport.dds_qos import to_cyclone
from openral.ros.transport.dds_types import LOCK, create_topic, delete_topics
from openral.ros.transport.transport import EndpointSpec, RemoteEndpoint

_MANY = 100_000


class DdsTransport:
    """Implements `transport.Transport`: one participant, shared by all nodes of a context."""

    def __init__(self, network: Network | None = None) -> None:
        self.network = network or Network.from_environment()
        self.domain = self.network.domain
        dds_domain.acquire(self.network)
        self._participant = self._join()
        self.guid: bytes = self._participant.guid.bytes
        self._publisher = Publisher(self._participant)
        self._subscriber = Subscriber(self._participant)
        self._topics: dict[str, Topic[Any]] = {}
        self._uses: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._discovery: list[tuple[BuiltinDataReader, bool]] = []
        self._people: BuiltinDataReader | None = None
        self._closed = False

    def _join(self) -> DomainParticipant:
        try:
            return DomainParticipant(self.domain, Qos(Policy.Userdata(b"enclave=/;")))
        except DDSException as error:
            dds_domain.release(self.network)
            raise TransportError(
                f"cannot join DDS domain {self.domain}: {error}; a machine holds at most 100 "
                "processes per domain, OPENRAL_DOMAIN chooses another"
            ) from error

    def writer(self, spec: EndpointSpec) -> DdsWriter:
        """See `transport.Transport`."""
        with LOCK:
            entity: DataWriter[Any] = DataWriter(
                self._publisher, self._topic(spec), qos=to_cyclone(spec, False)
            )
            self._uses[spec.topic] += 1
        return DdsWriter(entity, spec.topic, lambda: self._release(spec.topic))

    def reader(self, spec: EndpointSpec) -> DdsReader:
        """See `transport.Transport`."""
        with LOCK:
            entity: DataReader[Any] = DataReader(
                self._subscriber, self._topic(spec), qos=to_cyclone(spec, True)
            )
            self._uses[spec.topic] += 1
        return DdsReader(entity, lambda: self._release(spec.topic))

    def poller(self) -> DdsPoller:
        """See `transport.Transport`."""
        return DdsPoller(self._participant)

    def _topic(self, spec: EndpointSpec) -> Topic[Any]:
        topic = self._topics.get(spec.topic)
        if topic is None:
            topic = create_topic(self._participant, spec.topic, spec.type_name)
            self._topics[spec.topic] = topic
        known = topic.data_type.__idl__.idl_transformed_typename
        if known != spec.type_name:
            raise ConfigError(
                f"topic '{spec.topic}' already carries '{known}' in this process, "
                f"not '{spec.type_name}'; one topic has one type"
            )
        return topic

    def _release(self, name: str) -> None:
        """Deletes a topic, and with it its type, when its last endpoint has closed."""
        with LOCK:
            self._uses[name] -= 1
            if not self._uses[name] and name in self._topics:
                topic = self._topics.pop(name)
                delete_topics(self.domain, [topic], lambda: dds_domain.delete(topic))

    def endpoints(self) -> list[RemoteEndpoint]:
        """See `transport.Transport`."""
        with self._lock:
            if not self._discovery:
                self._discovery = [
                    (BuiltinDataReader(self._participant, BuiltinTopicDcpsPublication), True),
                    (BuiltinDataReader(self._participant, BuiltinTopicDcpsSubscription), False),
                ]
            return [
                remote_endpoint(sample, is_writer)
                for reader, is_writer in self._discovery
                for sample in reader.read(_MANY)
                if sample.sample_info.valid_data and sample.sample_info.instance_state == 16
            ]

    def participants(self) -> dict[bytes, str]:
        """See `transport.Transport`."""
        with self._lock:
            if self._people is None:
                self._people = BuiltinDataReader(self._participant, BuiltinTopicDcpsParticipant)
            samples = self._people.read(_MANY)
        return {
            sample.key.bytes[:12]: place
            for sample in samples
            if sample.sample_info.valid_data and (place := _place(sample.qos))
        }

    def close(self) -> None:
        """See `transport.Transport`."""
        if not self._closed:
            self._closed = True
            with LOCK:
                topics, self._topics = [*self._topics.values()], {}
                delete_topics(self.domain, topics, lambda: dds_domain.delete(self._participant))
            dds_domain.release(self.network)


def _place(qos: Qos) -> str:
    """Host and process as a participant reports them: for display only, not to be trusted."""
    told = {policy.key: policy.value for policy in qos if isinstance(policy, Policy.Property)}
    host, pid = told.get("__Hostname", ""), told.get("__Pid", "")
    words = (f"host {host}" if host else "", f"process {pid}" if pid else "")
    return ", ".join(word for word in words if word).encode("ascii", "replace").decode()[:80]
