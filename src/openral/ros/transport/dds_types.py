"""DDS types that carry any CDR bytes under any type name, without advertising a structure."""

from __future__ import annotations

import contextlib
import ctypes
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.metadata import version
from typing import Any

from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import make_idl_struct
from cyclonedds.idl.types import uint8
from cyclonedds.internal import DDS
from cyclonedds.topic import Topic

from openral.log import logger

KNOWN_VERSION = "11.0.1"
_SEARCHED_WORDS = 32
_INFO_WORD, _MAP_WORD = 3, 5
"""Offsets of the two size fields, in 8-byte words after the Python class in the C sertype."""


# What Cyclone derives, slowly, for a struct of one uint8; fits every topic, as it is withheld.
_INFORMATION = bytes.fromhex(
    "6000000001100040280000002400000014000000f1c16aa5dc45e2e2dfa624e7f2b9a800270000000000000004000000"
    "0000000002100040280000002400000014000000f2ce03e7507391b46a4e585a95a40b00400000000000000004000000"
    "00000000"
)
_MAPPING = bytes.fromhex(
    "3b00000001000000f1c16aa5dc45e2e2dfa624e7f2b9a80023000000f1510100010000000000000013000000010000000b"
    "0000000000000001000d8277e091005400000001000000f2ce03e7507391b46a4e585a95a40b003c000000f25101001700"
    "0000000000000f0000006f70656e72616c3a3a4279746573000018000000010000001000000000000000010"
    "00d0002000000640000002200000001000000f2ce03e7507391b46a4e585a95a40bf1c16aa5dc45e2e2dfa624e7f2b9a8"
)


LOCK = threading.RLock()
"""Held while topics and endpoints are created: meanwhile a type may be advertised after all."""

_topics: dict[tuple[int, str], weakref.WeakSet[Topic[Any]]] = {}


def create_topic(participant: DomainParticipant, name: str, type_name: str) -> Topic[Any]:
    """Creates a topic that carries any CDR under this type name and advertises no structure."""
    with LOCK:
        siblings = _topics.setdefault((participant.domain_id, type_name), weakref.WeakSet())
        with _advertised([*siblings]):
            topic: Topic[Any] = Topic(participant, name, opaque_type(type_name))
        siblings.add(topic)
        if not (_withhold(topic) or _is_withheld(topic)):
            _warn_once()
        return topic


def delete_topics(domain: int, topics: Iterable[Topic[Any]], delete: Callable[[], None]) -> None:
    """Runs `delete`, which must delete these topics, with their C type as Cyclone made it."""
    with LOCK, contextlib.ExitStack() as stack:
        for topic in topics:
            siblings = _topics[domain, topic.data_type.__idl__.idl_transformed_typename]
            stack.enter_context(_advertised([*siblings]))
            siblings.discard(topic)
        delete()


@contextlib.contextmanager
def _advertised(topics: list[Topic[Any]]) -> Iterator[None]:
    """Restores the C type that these topics share, as Cyclone made it, inside the block.

    Cyclone lets topics share a type only if it is unmodified, also for deleted topics that linger;
    it rejects one that differs, and its hash table cannot hold many of the same name.
    """
    any(_set_sizes(topic, _sizes(topic), expected=(0, 0)) for topic in topics)
    try:
        yield
    finally:
        any(_withhold(topic) for topic in topics)


def _withhold(topic: Topic[Any]) -> bool:
    return _set_sizes(topic, (0, 0), expected=_sizes(topic))


def _is_withheld(topic: Topic[Any]) -> bool:
    return _set_sizes(topic, (0, 0), expected=(0, 0))


@cache
def opaque_type(type_name: str) -> Any:
    """The class that represents a type; one for all its topics."""
    cls: Any = make_idl_struct("Bytes", type_name.replace("::", "."), {"d": uint8})
    cls.__idl__.populate()
    if _is_known_version():
        cls.__idl__._xt_data = (True, True)
        cls.__idl__._xt_bytedata = (_INFORMATION, _MAPPING)
    else:
        cls.__idl__.fill_type_data()
    return cls


@cache
def _is_known_version() -> bool:
    return version("cyclonedds") == KNOWN_VERSION


def _sizes(topic: Topic[Any]) -> tuple[int, int]:
    information, mapping = topic.data_type.__idl__._xt_bytedata
    return len(information), len(mapping)


def _set_sizes(topic: Topic[Any], wanted: tuple[int, int], expected: tuple[int, int]) -> bool:
    """Writes the sizes of the two blobs that a topic advertises into the binding's C struct.

    The binding has no option for it. Done only for the known library version, and only if the
    fields hold exactly the `expected` values; returns whether it was done.
    """
    fields = _size_fields(topic) if _is_known_version() else None
    if fields is None or (fields[0].value, fields[1].value) != expected:
        return False
    fields[0].value, fields[1].value = wanted
    return True


def _size_fields(topic: Topic[Any]) -> tuple[ctypes.c_uint32, ctypes.c_uint32] | None:
    sertype = ctypes.c_void_p()
    get = DDS._dll_handle.dds_get_entity_sertype
    if get(ctypes.c_int32(topic._ref), ctypes.byref(sertype)) != 0 or not sertype.value:
        return None
    words = (ctypes.c_uint64 * _SEARCHED_WORDS).from_address(sertype.value)
    found = [i for i, word in enumerate(words) if word == id(topic.data_type)]
    if len(found) != 1:
        return None
    start = sertype.value + 8 * found[0]
    return (
        ctypes.c_uint32.from_address(start + 8 * _INFO_WORD),
        ctypes.c_uint32.from_address(start + 8 * _MAP_WORD),
    )


@cache
def _warn_once() -> None:
    logger().warning(
        "cannot withhold DDS type information: some ROS 2 peers (Kilted's FastDDS) may not match",
        cyclonedds=version("cyclonedds"),
        known=KNOWN_VERSION,
    )
