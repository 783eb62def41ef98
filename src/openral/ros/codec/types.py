"""The registry of all ROS types, standard and openral's own, with their encoder and decoder.

Types go by their ROS names (`sensor_msgs/msg/JointState`, `std_srvs/srv/Trigger_Request`); standard
messages come from rosbags' Jazzy definitions, services and openral's types from interface files.
`openral.ros.msg`, `.srv` and `.action` offer the classes by their short names.
"""

from __future__ import annotations

import struct
import threading
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from openral.errors import CorruptMessage, InvalidMessage
from openral.ros.codec.catalogue import Catalogue
from openral.ros.codec.decoder import Decode, build_decoder
from openral.ros.codec.definitions import dds_type_name, ros_type_name
from openral.ros.codec.encoder import ENCAPSULATION, Encode, build_encoder
from openral.ros.codec.explain import explain
from openral.ros.codec.hashing import type_hash as _type_hash
from openral.ros.codec.message import Message, build_class

__all__ = [
    "Message",
    "Registry",
    "dds_type_name",
    "decode",
    "encode",
    "hash_tag",
    "message_class",
    "new",
    "registry",
    "ros_type_name",
    "type_hash",
    "type_name",
]

Buffer = bytes | bytearray | memoryview
M = TypeVar("M", bound=Message)


@dataclass(frozen=True)
class _Codec:
    encode: Encode
    decode: Decode


class Registry:
    """Definitions by ROS name; classes, codecs and hashes are built on first use."""

    def __init__(self, standard: bool = True) -> None:
        """With `standard` false it starts empty, for types defined only in a recording."""
        self._lock = threading.RLock()
        self._catalogue = Catalogue()
        self._classes: dict[str, type[Message]] = {}
        self._codecs: dict[str, _Codec] = {}
        self._big_endian: dict[str, Decode] = {}
        self._hashes: dict[str, str] = {}
        self.definition = self._catalogue.get
        self.add = self._catalogue.add
        self.add_definition = self._catalogue.add_definition
        self.add_package = self._catalogue.add_package
        if standard:
            self._catalogue.add_standard()

    def names(self, kind: str = "msg") -> list[str]:
        """All names of a kind (msg, srv, action), with the messages of services and actions."""
        return sorted(name for name in self._catalogue.names() if f"/{kind}/" in name)

    def message_class(self, name: str) -> Any:
        """The Python class of a type (Any, because its fields depend on the name)."""
        found = self._classes.get(name)
        if found is None:
            with self._lock:
                found = self._classes.get(name) or build_class(
                    self.definition(name), self.message_class
                )
                found.__rebuild__ = staticmethod(_rebuild)
                self._classes[name] = found
        return found

    def type_hash(self, name: str) -> str:
        """The RIHS01 hash of a message, service or action type."""
        if name not in self._hashes:
            self._hashes[name] = _type_hash(self.definition(name), self.definition)
        return self._hashes[name]

    def encode(self, message: Message, prefix: bytes = b"") -> bytes:
        """Encodes as little-endian CDR with its 4-byte header, padded to a multiple of 4 bytes.

        `prefix` goes between header and message (the ids of a service call); its length must be
        a multiple of 8, so that CDR's alignment of the message stays valid.
        """
        name = message.__ros_type__
        codec = self._codecs.get(name) or self._codec(name)
        try:
            return codec.encode(message, ENCAPSULATION + prefix)
        except (struct.error, TypeError, ValueError, AttributeError, InvalidMessage) as error:
            raise InvalidMessage(explain(message, error)) from error

    @overload
    def decode(self, kind: type[M], buffer: Buffer, skip: int = 0) -> M: ...
    @overload
    def decode(self, kind: str, buffer: Buffer, skip: int = 0) -> Any: ...

    def decode(self, kind: str | type[M], buffer: Buffer, skip: int = 0) -> Any:
        """Decodes a CDR buffer; malformed bytes raise CorruptMessage.

        `kind` is a message class or a ROS name. `skip` is the number of bytes to pass over after
        the header, a multiple of 8 (see `encode`). Arrays are views of the buffer: read-only if
        the buffer is, and possibly unaligned. Copy one to modify it or to pass it to C.
        """
        name = kind if isinstance(kind, str) else kind.__ros_type__
        codec = self._codecs.get(name) or self._codec(name)
        if not isinstance(buffer, bytes):
            buffer = memoryview(buffer).cast("B")
        size = len(buffer)
        if size < 4 + skip or buffer[0] or buffer[1] > 1:
            raise CorruptMessage(name, _header_fault(buffer, skip))
        reader = codec.decode if buffer[1] else self._big_endian_decoder(name)
        try:
            message, end = reader(buffer, size, 4 + skip)
        except (struct.error, ValueError) as error:
            raise CorruptMessage(name, str(error)) from error
        if end > size or size - end > 3:
            fault = f"the message ends at byte {end} of {size}"
            raise CorruptMessage(name, fault)
        return message

    def _codec(self, name: str) -> _Codec:
        with self._lock:
            if name not in self._codecs:
                definition = self.definition(name)
                self._codecs[name] = _Codec(
                    build_encoder(definition, self.definition),
                    build_decoder(definition, self.definition, self.message_class),
                )
            return self._codecs[name]

    def _big_endian_decoder(self, name: str) -> Decode:
        with self._lock:
            if name not in self._big_endian:
                self._big_endian[name] = build_decoder(
                    self.definition(name), self.definition, self.message_class, ">"
                )
            return self._big_endian[name]


def _header_fault(buffer: Buffer, skip: int) -> str:
    if len(buffer) < 4 + skip:
        return f"{len(buffer)} bytes are too few for the {4 + skip}-byte header"
    return f"encoding {bytes(buffer[:2]).hex()} is not plain CDR (0000 or 0001)"


registry = Registry()
message_class = registry.message_class
encode = registry.encode
decode = registry.decode
type_hash = registry.type_hash


def _rebuild(name: str, fields: tuple[Any, ...]) -> Message:
    """For pickle and copy: messages of the standard registry."""
    message: Message = message_class(name)(*fields)
    return message


def new(name: str, /, **fields: Any) -> Any:
    """A message by its type's name: `new("sensor_msgs/msg/JointState", name=["elbow"])`."""
    return registry.message_class(name)(**fields)


def hash_tag(name: str) -> bytes:
    """The user data with which an endpoint advertises its type hash to ROS peers."""
    return f"typehash={type_hash(name)};".encode()


def type_name(of: str | Message | type[Message]) -> str:
    """The ROS type name of a message, a message class or a name (which must exist)."""
    if isinstance(of, str):
        return registry.definition(of).name
    return of.__ros_type__
