"""RIHS01 type hashes: the SHA-256 of a type description in ROS's canonical JSON."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from openral.ros.codec.definitions import Definition, Field, Shape
from openral.ros.codec.layout import Lookup

# ROS maps the old C-style names to unsigned bytes: char is uint8, byte is an octet.
_TYPE_IDS = {
    "int8": 2,
    "uint8": 3,
    "char": 3,
    "int16": 4,
    "uint16": 5,
    "int32": 6,
    "uint32": 7,
    "int64": 8,
    "uint64": 9,
    "float32": 10,
    "float64": 11,
    "bool": 15,
    "byte": 16,
    "string": 17,
}
_NESTED, _BOUNDED_STRING = 1, 21
_ARRAY, _BOUNDED_SEQUENCE, _SEQUENCE = 48, 96, 144


def type_hash(definition: Definition, lookup: Lookup) -> str:
    """The hash that endpoints of this type advertise: `RIHS01_` and 64 hex digits."""
    described: dict[str, dict[str, Any]] = {}
    _describe(definition, lookup, described)
    own = described.pop(definition.name)
    description = {
        "type_description": own,
        "referenced_type_descriptions": [described[name] for name in sorted(described)],
    }
    return "RIHS01_" + hashlib.sha256(json.dumps(description).encode()).hexdigest()


def _describe(definition: Definition, lookup: Lookup, done: dict[str, dict[str, Any]]) -> None:
    if definition.name in done:
        return
    fields = [{"name": f.name, "type": _field_type(f)} for f in definition.members]
    done[definition.name] = {"type_name": definition.name, "fields": fields}
    for field in definition.members:
        if field.nested:
            _describe(lookup(field.type), lookup, done)


def _field_type(field: Field) -> dict[str, int | str]:
    kind = _NESTED if field.nested else _TYPE_IDS[field.type]
    if field.type == "string" and field.text_bound:
        kind = _BOUNDED_STRING
    offset = {
        Shape.ONE: 0,
        Shape.ARRAY: _ARRAY,
        Shape.SEQUENCE: _BOUNDED_SEQUENCE if field.size else _SEQUENCE,
    }[field.shape]
    return {
        "type_id": kind + offset,
        "capacity": field.size,
        "string_capacity": field.text_bound,
        "nested_type_name": field.type if field.nested else "",
    }
