"""Finds the field that made the encoding of a message fail."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from openral.errors import InvalidMessage
from openral.ros.codec import values
from openral.ros.codec.definitions import Field, Shape
from openral.ros.codec.message import Message, describe


def explain(message: Message, error: Exception) -> str:
    """One sentence naming the field, its value and the expected type; else `error`'s text."""
    fault = _message_fault(message, "")
    return f"{message.__ros_type__}{fault or f': {error}'}"


def _message_fault(message: Message, path: str) -> str | None:
    for field in message.__definition__.members:
        here = f"{path}.{field.attribute}"
        value = getattr(message, field.attribute, None)
        fault = _field_fault(field, value, here)
        if fault:
            return fault
    return None


def _field_fault(field: Field, value: Any, path: str) -> str | None:
    if field.shape is Shape.ONE:
        return _value_fault(field, value, path)
    try:
        if field.type in values.DTYPES:
            items: Any = values.as_array(value, field.type)
        else:
            items = values.as_list(value)
    except (InvalidMessage, TypeError, ValueError, OverflowError) as error:
        return f"{path} must be {describe(field)}: {error}"
    if (field.shape is Shape.ARRAY and len(items) != field.size) or 0 < field.size < len(items):
        return f"{path} has {len(items)} values; must be {describe(field)}"
    if field.type in values.DTYPES:
        return None
    each = replace(field, shape=Shape.ONE)
    faults = (_value_fault(each, item, f"{path}[{i}]") for i, item in enumerate(items))
    return next((fault for fault in faults if fault), None)


def _value_fault(field: Field, value: Any, path: str) -> str | None:
    wrong = f"{path} is {value!r}; must be {describe(field)}"
    if field.nested:
        if isinstance(value, Message) and value.__ros_type__ == field.type:
            return _message_fault(value, path)
        return f"{path} is a {type(value).__name__}; must be {field.type}"
    if field.type == "string":
        return None if _is_text(field, value) else wrong
    return None if _is_number(values.DTYPES[field.type], value) else wrong


def _is_number(dtype: np.dtype[Any], value: Any) -> bool:
    if dtype.kind == "b":
        return True
    if dtype.kind == "f":
        return isinstance(value, int | float | np.number)
    limits = np.iinfo(dtype)
    return isinstance(value, int | np.integer) and bool(limits.min <= value <= limits.max)


def _is_text(field: Field, value: Any) -> bool:
    if not isinstance(value, str) or 0 < field.text_bound < len(value):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
