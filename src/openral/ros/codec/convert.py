"""Converts messages to plain Python data and back, for printing, JSON, YAML and the CLI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from openral.errors import InvalidMessage, choices
from openral.ros.codec import values
from openral.ros.codec.definitions import Definition, Field, Shape
from openral.ros.codec.message import Message, describe
from openral.ros.codec.types import new, registry


def to_dict(message: Message, most: int | None = None) -> dict[str, Any]:
    """Fields by name, arrays as lists; arrays over `most` elements are cut, with their length."""
    return {
        field.name: _plain(getattr(message, field.attribute), most)
        for field in message.__definition__.fields
    }


def _plain(value: Any, most: int | None) -> Any:
    if isinstance(value, Message):
        return to_dict(value, most)
    if isinstance(value, np.ndarray | list):
        head = value if most is None else value[:most]
        items = head.tolist() if isinstance(head, np.ndarray) else [_plain(v, most) for v in head]
        return items if len(items) == len(value) else [*items, f"... {len(value)} in all"]
    return value.item() if isinstance(value, np.generic) else value


def from_dict(name: str, data: Mapping[str, Any]) -> Any:
    """A message of the named type; omitted fields keep their defaults, unknown ones raise."""
    definition = registry.definition(name)
    known = {field.name: field for field in definition.fields}
    for key in data:
        if key not in known:
            raise InvalidMessage(f"{name} has no field '{key}'; {choices(key, known, 'fields')}")
    fields = {known[k].attribute: _value(definition, known[k], v) for k, v in data.items()}
    message: Message = new(name, **fields)
    return message


def _value(owner: Definition, field: Field, value: Any) -> Any:
    where = f"{owner.name}.{field.name}"
    if field.shape is Shape.ONE:
        return _one(field, value, where)
    if isinstance(value, str | Mapping) or not hasattr(value, "__iter__"):
        raise InvalidMessage(f"{where} is {value!r}; must be {describe(field)}")
    if field.type in values.DTYPES:
        return values.as_array(value, field.type)
    return [_one(field, item, where) for item in value]


def _one(field: Field, value: Any, where: str) -> Any:
    if field.nested and isinstance(value, Mapping):
        return from_dict(field.type, value)
    if field.nested and not isinstance(value, Message):
        raise InvalidMessage(f"{where} is {value!r}; must be a mapping of {field.type}")
    if field.type.startswith("float") and isinstance(value, int | str):
        return float(value)
    return value
