"""ROS primitives in Python: struct codes, numpy types and conversions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from openral.errors import InvalidMessage

Array = npt.NDArray[Any]

# struct code and numpy type; in ROS 2, byte is an octet and char a uint8, unlike in C.
_PRIMITIVES: dict[str, tuple[str, type[np.generic]]] = {
    "bool": ("?", np.bool_),
    "byte": ("B", np.uint8),
    "char": ("B", np.uint8),
    "int8": ("b", np.int8),
    "uint8": ("B", np.uint8),
    "int16": ("h", np.int16),
    "uint16": ("H", np.uint16),
    "int32": ("i", np.int32),
    "uint32": ("I", np.uint32),
    "int64": ("q", np.int64),
    "uint64": ("Q", np.uint64),
    "float32": ("f", np.float32),
    "float64": ("d", np.float64),
}
CODES = {name: code for name, (code, _) in _PRIMITIVES.items()}
DTYPES = {name: np.dtype(dtype) for name, (_, dtype) in _PRIMITIVES.items()}
SIZES = {name: dtype.itemsize for name, dtype in DTYPES.items()}


def _empty(dtype: np.dtype[Any]) -> Array:
    array = np.empty(0, dtype)
    array.flags.writeable = False
    return array


# Shared by all empty fields: an array without elements cannot be modified in place.
EMPTY = {name: _empty(dtype) for name, dtype in DTYPES.items()}


def as_array(value: Any, primitive: str) -> Array:
    """Converts to a contiguous array of the primitive, shape (n,); no copy if it is one already.

    Bytes fill one-byte types; integers may become floats. Integers out of range and conversions
    across kinds, such as float to integer, raise InvalidMessage.
    """
    dtype = DTYPES[primitive]
    if type(value) is np.ndarray and value.dtype is dtype and value.ndim == 1:
        return value if value.flags.c_contiguous else np.ascontiguousarray(value)
    if isinstance(value, bytes | bytearray | memoryview) and dtype.itemsize == 1:
        return np.frombuffer(value, dtype)
    array = np.asarray(value)
    if array.dtype != dtype:
        if not array.size:
            return EMPTY[primitive]
        array = _cast(array, dtype)
    return np.ascontiguousarray(array).reshape(-1)


def _cast(array: Array, dtype: np.dtype[Any]) -> Array:
    if array.dtype.kind in "iu" and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        low, high = int(array.min()), int(array.max())
        if low < limits.min or high > limits.max:
            raise InvalidMessage(f"values {low}..{high} do not fit {limits.min}..{limits.max}")
        return array.astype(dtype)
    if array.dtype.kind == "b" or not np.can_cast(array.dtype, dtype, "same_kind"):
        raise InvalidMessage(f"{array.dtype} values cannot become {dtype}")
    return array.astype(dtype)


def as_list(value: Iterable[Any]) -> list[Any]:
    """Converts to a list; a single string is rejected, as it would split into characters."""
    if isinstance(value, str | bytes):
        raise InvalidMessage(f"{value!r} is one text; expected a list of them")
    return value if type(value) is list else list(value)


def as_fixed_array(value: Any, primitive: str, size: int) -> Array:
    """Like `as_array`, for arrays of fixed length `size`."""
    array = as_array(value, primitive)
    if array.size != size:
        raise InvalidMessage(f"{array.size} values given; expected exactly {size}")
    return array


def as_fixed_list(value: Iterable[Any], size: int) -> list[Any]:
    """Like `as_list`, for arrays of fixed length `size`."""
    items = as_list(value)
    if len(items) != size:
        raise InvalidMessage(f"{len(items)} values given; expected exactly {size}")
    return items
