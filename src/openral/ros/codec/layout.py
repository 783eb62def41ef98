"""CDR alignment, resolved as far as possible when the codec is generated.

Offsets count from the first byte after the 4-byte encapsulation header. `Alignment` tracks the
position modulo a power of two, which is enough to turn most padding into constants.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from openral.ros.codec.definitions import Definition, Field, Shape
from openral.ros.codec.values import SIZES

Lookup = Callable[[str], Definition]


@dataclass(frozen=True)
class Alignment:
    """The position is `residue` modulo `modulus`."""

    modulus: int = 8
    residue: int = 0

    def padding(self, size: int) -> int | None:
        """Bytes to the next multiple of `size`; None if known only at run time."""
        return -self.residue % size if self.modulus >= size else None

    def after(self, count: int) -> Alignment:
        """The layout `count` bytes later."""
        return Alignment(self.modulus, (self.residue + count) % self.modulus)

    def weaker(self, other: Alignment) -> Alignment:
        """The strongest statement that holds for both."""
        modulus = min(self.modulus, other.modulus)
        while self.residue % modulus != other.residue % modulus:
            modulus //= 2
        return Alignment(modulus, self.residue % modulus)


UNKNOWN = Alignment(1, 0)


def align(position: str, size: int) -> str:
    """Source code of the next aligned position in a buffer that starts with the header."""
    if size == 8:
        return f"({position} + 3 & -8) + 4"
    return f"{position} + {size - 1} & -{size}"


def minimum_size(definition: Definition, lookup: Lookup) -> int:
    """The minimum encoded size of a message in bytes, without padding."""
    return sum(_field_minimum(field, lookup) for field in definition.members)


def _field_minimum(field: Field, lookup: Lookup) -> int:
    if field.shape is Shape.SEQUENCE:
        return 4
    return element_minimum(field, lookup) * (field.size if field.shape is Shape.ARRAY else 1)


def element_minimum(field: Field, lookup: Lookup) -> int:
    """The minimum encoded size of one value of the field in bytes."""
    if field.nested:
        return minimum_size(lookup(field.type), lookup)
    return 4 if field.type == "string" else SIZES[field.type]


@cache
def zeros(count: int) -> bytes:
    """`count` bytes of padding."""
    return bytes(count)
