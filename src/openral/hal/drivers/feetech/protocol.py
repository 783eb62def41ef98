"""Packets of the STS/SCS half-duplex protocol: encodes and decodes bytes, without a port.

Request: FF FF id length instruction parameters checksum.
Status:  FF FF id length error parameters checksum.
`length` counts the bytes after it; the checksum is the inverted low byte of the sum from `id` on.
That sum detects every error in a single byte; `id` and the expected length are checked as well.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from openral.errors import ConfigError

HEADER = b"\xff\xff"
BROADCAST = 0xFE
MAX_ID = 0xFD
MAX_PARAMETERS = 250
_OVERHEAD = 6


class Instruction(IntEnum):
    """The instruction of a request."""

    PING = 0x01
    READ = 0x02
    WRITE = 0x03
    SYNC_READ = 0x82
    SYNC_WRITE = 0x83


FAULTS = {
    0: "voltage out of range",
    1: "position sensor",
    2: "overheated",
    3: "overcurrent",
    5: "overload",
}


def fault_names(error: int) -> list[str]:
    """The faults in the error byte of a status packet."""
    return [FAULTS.get(bit, f"unknown fault bit {bit}") for bit in range(8) if error >> bit & 1]


def checksum(body: bytes | bytearray) -> int:
    """The last byte of a packet whose bytes from `id` on are `body`."""
    return ~sum(body) & 0xFF


@dataclass(frozen=True)
class Status:
    """A servo's response."""

    id: int
    error: int
    parameters: bytes


def packet(servo: int, code: int, parameters: bytes = b"") -> bytes:
    """A whole packet; `code` is the instruction of a request or the error of a status."""
    if len(parameters) > MAX_PARAMETERS:
        raise ConfigError(f"{len(parameters)} parameters in a packet; at most {MAX_PARAMETERS}")
    body = bytes([servo, len(parameters) + 2, code]) + parameters
    return HEADER + body + bytes([checksum(body)])


def _address(servo: int) -> int:
    if not 0 <= servo <= MAX_ID:
        raise ConfigError(f"servo id {servo} is outside 0–{MAX_ID}")
    return servo


def ping(servo: int) -> bytes:
    """Request that a servo answers if it is present."""
    return packet(_address(servo), Instruction.PING)


def read(servo: int, address: int, size: int) -> bytes:
    """Request for `size` bytes of one servo from `address` on."""
    return packet(_address(servo), Instruction.READ, bytes([address, size]))


def write(servo: int, address: int, data: bytes) -> bytes:
    """Request to write to one servo, which acknowledges."""
    return packet(_address(servo), Instruction.WRITE, bytes([address]) + data)


def sync_read(servos: Sequence[int], address: int, size: int) -> bytes:
    """Request for the same bytes of several servos; they respond one after the other."""
    ids = bytes(_address(servo) for servo in servos)
    return packet(BROADCAST, Instruction.SYNC_READ, bytes([address, size]) + ids)


def sync_write(address: int, size: int, values: Mapping[int, bytes]) -> bytes:
    """Request to write to several servos at one instant; none acknowledges."""
    data = b""
    for servo, value in values.items():
        if len(value) != size:
            raise ConfigError(f"sync write of {size} bytes got {len(value)} for servo {servo}")
        data += bytes([_address(servo)]) + value
    return packet(BROADCAST, Instruction.SYNC_WRITE, bytes([address, size]) + data)


def status_size(parameters: int) -> int:
    """Bytes on the wire of a response with that many parameters."""
    return parameters + _OVERHEAD


def take_status(buffer: bytearray, servos: Collection[int], parameters: int) -> Status | None:
    """Removes one expected response from `buffer`, with any garbage before it.

    Only a packet of one of these servos with exactly that many parameters and a valid checksum
    counts. None: not received yet; bytes that cannot begin one are removed from the buffer.
    """
    size = status_size(parameters)
    while len(buffer) >= 4:
        whole = buffer[:2] == HEADER and buffer[2] in servos and buffer[3] == parameters + 2
        if whole and len(buffer) < size:
            return None
        if whole and checksum(buffer[2 : size - 1]) == buffer[size - 1]:
            found = bytes(buffer[:size])
            del buffer[:size]
            return Status(found[2], found[4], found[5:-1])
        del buffer[0]
    return None
