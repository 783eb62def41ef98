"""Generates, for one message type, the function that encodes it as little-endian CDR."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

from openral.errors import InvalidMessage
from openral.ros.codec import values
from openral.ros.codec.code_writer import CodeWriter
from openral.ros.codec.definitions import Definition, Field, Shape
from openral.ros.codec.layout import UNKNOWN, Alignment, Lookup, zeros
from openral.ros.codec.message import Message
from openral.ros.codec.values import CODES, DTYPES, SIZES

Encode = Callable[[Message, bytes], bytes]
"""(message, bytes to put before it) → bytes"""

ENCAPSULATION = b"\x00\x01\x00\x00"


def build_encoder(definition: Definition, lookup: Lookup) -> Encode:
    """Builds the encoder. It checks field types only as far as struct and numpy do."""
    encoder = _Encoder(lookup)
    encoder.message(definition, "m")
    encoder.align(4)
    encoder.flush()
    body = "\n".join(encoder.lines)
    exec(
        f"def encode(m, start):\n    parts = [start]\n    add = parts.append\n    p = 0\n"
        f"{body}\n    return b''.join(parts)",
        encoder.scope,
    )
    encode: Encode = encoder.scope["encode"]
    return encode


def _over(what: str, count: int, bound: int) -> None:
    raise InvalidMessage(f"{what} has {count} elements; at most {bound} are allowed")


class _Encoder(CodeWriter):
    """Emits the body of `encode`: adjacent fixed-size fields share one struct call."""

    def __init__(self, lookup: Lookup) -> None:
        super().__init__(ndarray=np.ndarray, v=values, zeros=zeros, over=_over)
        self.lookup = lookup
        self.layout = Alignment()
        self.format, self.args = "", list[str]()

    def flush(self) -> None:
        """Emits the write of the collected fixed-size values."""
        if self.format:
            writer = struct.Struct("<" + self.format)
            pack = self.constant("S", writer.pack)
            self.emit(f"add({pack}({', '.join(self.args)}))")
            self.emit(f"p += {writer.size}")
        self.format, self.args = "", []

    def align(self, size: int) -> None:
        padding = self.layout.padding(size)
        if padding is None:
            self.flush()
            self.emit(f"k = -p & {size - 1}")
            self.emit("if k: add(zeros(k)); p += k")
            self.layout = Alignment(size, 0)
        elif padding:
            self.format += f"{padding}x"
            self.layout = self.layout.after(padding)

    def primitive(self, kind: str, value: str) -> None:
        self.align(SIZES[kind])
        self.format += CODES[kind]
        self.args.append(value)
        self.layout = self.layout.after(SIZES[kind])

    def message(self, definition: Definition, variable: str) -> None:
        for field in definition.members:
            self.field(field, f"{variable}.{field.attribute}")

    def field(self, field: Field, value: str) -> None:
        if field.shape is Shape.ONE:
            self.element(field, value)
        elif field.type in DTYPES:
            self.array(field, value)
        else:
            self.items(field, value)

    def element(self, field: Field, value: str) -> None:
        if field.nested:
            variable = self.name("m")
            self.emit(f"{variable} = {value}")
            self.message(self.lookup(field.type), variable)
        elif field.type == "string":
            self.text(field, value)
        else:
            self.primitive(field.type, value)

    def text(self, field: Field, value: str) -> None:
        text = self.name("t")
        if field.text_bound:
            bound = field.text_bound
            self.emit(f"if len({value}) > {bound}: over({field.name!r}, len({value}), {bound})")
        self.emit(f"{text} = {value}.encode() + b'\\0'")
        self.primitive("uint32", f"len({text})")
        self.flush()
        self.emit(f"add({text})")
        self.emit(f"p += len({text})")
        self.layout = UNKNOWN

    def array(self, field: Field, value: str) -> None:
        variable, item = self.name("a"), SIZES[field.type]
        dtype = self.constant("D", DTYPES[field.type])
        self.emit(f"{variable} = {value}")
        self.emit(
            f"if {variable}.__class__ is not ndarray or {variable}.dtype is not {dtype}"
            f" or not {variable}.flags.c_contiguous:"
            f" {variable} = v.as_array({variable}, {field.type!r})"
        )
        if field.shape is Shape.ARRAY:
            self.emit(
                f"if {variable}.size != {field.size}:"
                f" v.as_fixed_array({variable}, {field.type!r}, {field.size})"
            )
            self.align(item)
            self.flush()
            self.emit(f"add({variable})")
            self.emit(f"p += {field.size * item}")
            self.layout = self.layout.after(field.size * item)
            return
        self.bound(field, f"{variable}.size")
        self.primitive("uint32", f"{variable}.size")
        self.flush()
        before = self.layout
        self.emit(f"if {variable}.size:")
        self.depth += 1
        self.align(item)
        self.flush()
        self.emit(f"add({variable})")
        self.emit(f"p += {variable}.size * {item}")
        self.depth -= 1
        self.layout = before.weaker(Alignment(item, 0))

    def bound(self, field: Field, count: str) -> None:
        if field.size:
            self.emit(f"if {count} > {field.size}: over({field.name!r}, {count}, {field.size})")

    def items(self, field: Field, value: str) -> None:
        """Emits the write of a list of strings or messages."""
        items, item = self.name("l"), self.name("i")
        self.emit(f"{items} = {value}")
        if field.shape is Shape.ARRAY:
            self.emit(f"v.as_fixed_list({items}, {field.size})")
        else:
            self.emit(f"if {items}.__class__ is not list: {items} = v.as_list({items})")
            self.bound(field, f"len({items})")
            self.primitive("uint32", f"len({items})")
        self.flush()
        before, start = self.layout, len(self.lines)
        for entry in (before, UNKNOWN):
            del self.lines[start:]
            self.layout = entry
            self.emit(f"for {item} in {items}:")
            self.depth += 1
            self.element(field, item)
            self.flush()
            self.depth -= 1
            if entry.weaker(self.layout) == entry:
                break
        self.layout = before.weaker(self.layout)
