"""Hypothesis strategies: any message of any registered type."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from openral.ros.codec.definitions import Field, Shape
from openral.ros.codec.types import Message, new, registry
from openral.ros.codec.values import DTYPES

MESSAGES = [name for kind in ("msg", "srv", "action") for name in registry.names(kind)]
MOST = 5


def number(primitive: str) -> st.SearchStrategy[Any]:
    dtype = DTYPES[primitive]
    if dtype.kind == "b":
        return st.booleans()
    if dtype.kind == "f":
        return st.floats(width=64 if dtype.itemsize == 8 else 32)
    # rosbags, our oracle, takes a byte for signed.
    limits = np.iinfo(np.int8 if primitive == "byte" else dtype)
    return st.integers(0 if primitive == "byte" else int(limits.min), int(limits.max))


def one(field: Field) -> st.SearchStrategy[Any]:
    if field.nested:
        return st.deferred(lambda: messages(field.type))
    if field.type == "string":
        return st.text(st.characters(exclude_categories=["Cs"]), max_size=field.text_bound or 12)
    return number(field.type)


def value(field: Field) -> st.SearchStrategy[Any]:
    if field.shape is Shape.ONE:
        return one(field)
    least, most = (field.size, field.size) if field.shape is Shape.ARRAY else (0, MOST)
    if field.shape is Shape.SEQUENCE and field.size:
        most = min(most, field.size)
    items = st.lists(one(field), min_size=least, max_size=most)
    if field.type not in DTYPES:
        return items
    return items.map(lambda values: np.array(values, DTYPES[field.type]))


def messages(name: str) -> st.SearchStrategy[Message]:
    fields = {field.attribute: value(field) for field in registry.definition(name).members}
    return st.fixed_dictionaries(fields).map(lambda values: new(name, **values))


any_message = st.sampled_from(MESSAGES).flatmap(messages)
