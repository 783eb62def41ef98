"""DDS types that carry any CDR bytes under any name, without advertising a structure."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.metadata import version
from typing import Any

import structlog
from cyclonedds.idl import make_idl_struct
from cyclonedds.idl.types import uint8
from cyclonedds.internal import DDS
from cyclonedds.topic import Topic

KNOWN_VERSION = "11.0.1"
_SEARCHED_WORDS = 32
_INFO_WORD, _MAP_WORD = 3, 5
"""Where the two size fields lie, in 8-byte words after the Python class in the C sertype."""


# What Cyclone derives, slowly, for a struct of one uint8; valid for every topic, as it is withheld.
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


def opaque_type(type_name: str) -> Any:
    """A fresh class for a topic: each topic needs its own, as the C layer compares them."""
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


def withhold_type_information(topic: Topic[Any]) -> bool:
    """Stops a topic from advertising its placeholder structure, which would mislead some peers.

    The binding has no switch for it, so the sizes of two blobs are zeroed in its C struct, and only
    if the library is the known one and the fields hold exactly what they must.
    """
    info, mapping = (len(blob) for blob in topic.data_type.__idl__._xt_bytedata)
    fields = _size_fields(topic) if _is_known_version() else None
    if fields is None or (fields[0].value, fields[1].value) != (info, mapping):
        _warn_once()
        return False
    fields[0].value = fields[1].value = 0
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
    structlog.get_logger("openral").warning(
        "cannot withhold DDS type information: some ROS 2 peers (Kilted's FastDDS) may not match",
        cyclonedds=version("cyclonedds"),
        known=KNOWN_VERSION,
    )
