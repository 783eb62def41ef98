"""Generates, for one message type, the function that decodes it from CDR.

Adjacent fixed-size fields are read by one struct call, arrays are views of the buffer, and every
length is checked against the remaining bytes before anything is allocated from it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Literal, NoReturn

import numpy as np

from openral.ros.codec.code_writer import CodeWriter
from openral.ros.codec.definitions import Definition, Field, Shape
from openral.ros.codec.layout import UNKNOWN, Alignment, Lookup, align, element_minimum
from openral.ros.codec.message import Message, Resolve
from openral.ros.codec.values import CODES, DTYPES, EMPTY, SIZES

Order = Literal["<", ">"]
Decode = Callable[[Any, int, int], tuple[Message, int]]
"""(buffer, its length, offset of the message) → (message, offset of the byte after it)"""


class MalformedError(ValueError):
    """The bytes violate CDR or the type; the text names the field and the violation."""


def build_decoder(
    definition: Definition, lookup: Lookup, resolve: Resolve, order: Order = "<"
) -> Decode:
    """Builds the decoder; `order` is the payload's byte order, `<` (little) or `>` (big)."""
    decoder = _Decoder(lookup, resolve, order)
    result = decoder.message(definition, "")
    decoder.flush()
    body = "\n".join(decoder.lines)
    exec(f"def decode(b, n, p):\n{body}\n    return {result}, p", decoder.scope)
    decode: Decode = decoder.scope["decode"]
    return decode


def _short(path: str, need: int, have: int) -> NoReturn:
    raise MalformedError(f"{path} claims {need} bytes, {max(have, 0)} are left")


def _unterminated(path: str) -> NoReturn:
    raise MalformedError(f"{path} is a string without its final zero")


def _over(path: str, count: int, bound: int) -> NoReturn:
    raise MalformedError(f"{path} has {count} elements, at most {bound} are allowed")


class _Decoder(CodeWriter):
    """Emits the body of `decode` and tracks what is known of the alignment."""

    def __init__(self, lookup: Lookup, resolve: Resolve, order: Order) -> None:
        super().__init__(
            new=object.__new__,
            frombuffer=np.frombuffer,
            short=_short,
            over=_over,
            unterminated=_unterminated,
        )
        self.lookup, self.resolve, self.order = lookup, resolve, order
        self.layout = Alignment()
        self.format, self.names = "", list[str]()
        self.deferred: list[str] = []

    def flush(self) -> None:
        """Emits the read of the collected fixed-size values, then the lines that depend on it."""
        if self.format:
            reader = struct.Struct(self.order + self.format)
            unpack = self.constant("S", reader.unpack_from)
            self.emit(f"{', '.join(self.names)}, = {unpack}(b, p)")
            self.emit(f"p += {reader.size}")
        for line in self.deferred:
            self.emit(line)
        self.format, self.names, self.deferred = "", [], []

    def align(self, size: int) -> None:
        padding = self.layout.padding(size)
        if padding is None:
            self.flush()
            self.emit(f"p = {align('p', size)}")
            self.layout = Alignment(size, 0)
        elif padding:
            if self.format:
                self.format += f"{padding}x"
            else:
                self.emit(f"p += {padding}")
            self.layout = self.layout.after(padding)

    def primitive(self, kind: str) -> str:
        self.align(SIZES[kind])
        variable = self.name("v")
        self.format += CODES[kind]
        self.names.append(variable)
        self.layout = self.layout.after(SIZES[kind])
        return variable

    def message(self, definition: Definition, path: str) -> str:
        variables = [
            (field.attribute, self.field(field, f"{path}.{field.name}" if path else field.name))
            for field in definition.members
        ]
        result = self.name("m")
        cls = self.constant("C", self.resolve(definition.name))
        self.deferred.append(f"{result} = new({cls})")
        self.deferred += [f"{result}.{name} = {variable}" for name, variable in variables]
        return result

    def field(self, field: Field, path: str) -> str:
        if field.shape is Shape.ONE:
            return self.element(field, path)
        if field.shape is Shape.ARRAY:
            if field.type in DTYPES:
                return self.fixed_array(field, path)
            self.flush()
            return self.loop(field, path, str(field.size))
        count = self.primitive("uint32")
        self.flush()
        if field.size:
            self.emit(f"if {count} > {field.size}: over({path!r}, {count}, {field.size})")
        if field.type in DTYPES:
            return self.sequence(field, path, count)
        least = element_minimum(field, self.lookup)
        self.emit(f"if {count} * {least} > n - p: short({path!r}, {count} * {least}, n - p)")
        return self.loop(field, path, count)

    def element(self, field: Field, path: str) -> str:
        if field.nested:
            return self.message(self.lookup(field.type), path)
        return self.text(field, path) if field.type == "string" else self.primitive(field.type)

    def text(self, field: Field, path: str) -> str:
        length = self.primitive("uint32")
        self.flush()
        result, end = self.name("v"), self.name("e")
        self.emit(f"{end} = p + {length}")
        self.emit(f"if {end} > n: short({path!r}, {length}, n - p)")
        # Some writers send an empty string as length 0 rather than 1.
        self.emit(f"if {length}:")
        self.emit(f"    if b[{end} - 1]: unterminated({path!r})")
        self.emit(f"    {result} = str(b[p:{end} - 1], 'utf-8')")
        self.emit(f"else: {result} = ''")
        if field.text_bound:
            self.emit(
                f"if len({result}) > {field.text_bound}:"
                f" over({path!r}, len({result}), {field.text_bound})"
            )
        self.emit(f"p = {end}")
        self.layout = UNKNOWN
        return result

    def loop(self, field: Field, path: str, count: str) -> str:
        """Emits the read of a list of strings or messages; the caller must have flushed."""
        result = self.name("v")
        self.emit(f"{result} = []")
        before = self.layout
        start = len(self.lines)
        for entry in (before, UNKNOWN):
            del self.lines[start:]
            self.layout = entry
            self.emit(f"for _ in range({count}):")
            self.depth += 1
            item = self.element(field, f"{path}[]")
            self.flush()
            self.emit(f"{result}.append({item})")
            self.depth -= 1
            if entry.weaker(self.layout) == entry:
                break
        self.layout = before.weaker(self.layout)
        return result

    def fixed_array(self, field: Field, path: str) -> str:
        self.align(SIZES[field.type])
        self.flush()
        result = self.name("v")
        size = field.size * SIZES[field.type]
        self.emit(f"if p + {size} > n: short({path!r}, {size}, n - p)")
        self.view(result, field, str(field.size))
        self.emit(f"p += {size}")
        self.layout = self.layout.after(size)
        return result

    def sequence(self, field: Field, path: str, count: str) -> str:
        result, end, item = self.name("v"), self.name("e"), SIZES[field.type]
        empty = self.constant("E", EMPTY[field.type])
        before = self.layout
        self.emit(f"if {count}:")
        self.depth += 1
        self.align(item)
        self.emit(f"{end} = p + {count} * {item}")
        self.emit(f"if {end} > n: short({path!r}, {count} * {item}, n - p)")
        self.view(result, field, count)
        self.emit(f"p = {end}")
        self.depth -= 1
        self.emit(f"else: {result} = {empty}")
        self.layout = before.weaker(Alignment(item, 0))
        return result

    def view(self, result: str, field: Field, count: str) -> None:
        dtype = DTYPES[field.type]
        if field.type == "bool":
            # Any non-zero byte is true; numpy needs exactly 0 or 1.
            byte = self.constant("D", np.dtype(np.uint8))
            self.emit(f"{result} = frombuffer(b, {byte}, {count}, p) != 0")
            return
        wire = self.constant("D", dtype.newbyteorder(self.order) if dtype.itemsize > 1 else dtype)
        native = "" if self.order == "<" else f".astype({self.constant('D', dtype)})"
        self.emit(f"{result} = frombuffer(b, {wire}, {count}, p){native}")
