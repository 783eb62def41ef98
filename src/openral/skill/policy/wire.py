"""Messages between runner and policy, of which the runner decodes only plain numbers and texts.

A policy may send anything: the runner unpickles nothing of it, buffers no more than a valid reply
can have, and never blocks on reading.
"""

from __future__ import annotations

import json
import pickle
import socket
import struct
from typing import Any

import numpy as np

from openral.errors import CapabilityMismatch, ConfigError, OpenralError, PolicyFailed
from openral.skill.policy.host import Answer, Loaded

MAX_REPLY_BYTES = 16 << 20
_LENGTH = struct.Struct("=Q")
_ANSWER = struct.Struct("=?d")
_PIECE = 1 << 20
_MAX_DIMENSIONS = 8
_MAX_CAMERAS = 64
_ERRORS: dict[str, type[OpenralError]] = {
    made.__name__: made for made in (PolicyFailed, CapabilityMismatch, ConfigError)
}


def request(message: Any) -> bytes:
    """Encodes a request from the runner, which the policy trusts."""
    return _framed(pickle.dumps(message))


def receive_request(link: socket.socket) -> Any:
    """Waits for the next request; EOFError when the socket is closed."""
    (size,) = _LENGTH.unpack(_exactly(link, _LENGTH.size))
    return pickle.loads(_exactly(link, size))


def reply(message: Loaded | Answer | OpenralError) -> bytes:
    """Encodes a reply from the policy."""
    if isinstance(message, Loaded):
        return _framed(b"L" + json.dumps(list(message.cameras)).encode())
    if isinstance(message, OpenralError):
        text = str(message)[:4000]
        return _framed(b"E" + json.dumps([type(message).__name__, text]).encode())
    rows = message.rows
    head = b"A" + _ANSWER.pack(rows is not None, message.seconds)
    if rows is None:
        return _framed(head)
    try:
        table = np.ascontiguousarray(rows, np.float64)
    except (TypeError, ValueError):
        kind = type(rows).__name__
        return reply(PolicyFailed(f"the policy answered with {kind}, not with numbers"))
    if table.nbytes > MAX_REPLY_BYTES // 2 or table.ndim > _MAX_DIMENSIONS:
        size = f"shape {table.shape}"
        return reply(PolicyFailed(f"the policy answered with {size}, which is no motion"))
    shape = np.array([table.ndim, *table.shape], np.int64)
    return _framed(head + shape.tobytes() + table.tobytes())


class ReplyReader:
    """Reads replies on the runner's side of the socket."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._kept = bytearray()

    def poll(self) -> Loaded | Answer | OpenralError | None:
        """The next complete reply, else None; EOFError at the end, PolicyFailed if invalid."""
        while (message := self._complete()) is None:
            try:
                piece = self._link.recv(_PIECE, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return None
            except OSError:
                raise EOFError from None
            if not piece:
                raise EOFError
            self._kept += piece
        return message

    def _complete(self) -> Loaded | Answer | OpenralError | None:
        if len(self._kept) < _LENGTH.size:
            return None
        (size,) = _LENGTH.unpack_from(self._kept)
        if size > MAX_REPLY_BYTES:
            raise PolicyFailed(f"the policy sent {size} bytes; allowed: {MAX_REPLY_BYTES}")
        if len(self._kept) < _LENGTH.size + size:
            return None
        body = bytes(self._kept[_LENGTH.size : _LENGTH.size + size])
        del self._kept[: _LENGTH.size + size]
        try:
            return _read(body)
        except (ValueError, TypeError, KeyError, IndexError, struct.error, RecursionError):
            raise PolicyFailed("the policy sent something that is no answer") from None


def _read(body: bytes) -> Loaded | Answer | OpenralError:
    kind, rest = body[:1], body[1:]
    if kind == b"L":
        cameras = json.loads(rest)
        if not isinstance(cameras, list) or len(cameras) > _MAX_CAMERAS:
            raise ValueError(cameras)
        return Loaded(tuple(str(camera) for camera in cameras))
    if kind == b"E":
        name, text = json.loads(rest)
        return _ERRORS[str(name)](str(text))
    if kind != b"A":
        raise ValueError(kind)
    has_rows, seconds = _ANSWER.unpack_from(rest)
    if not has_rows:
        return Answer(None, seconds)
    numbers = rest[_ANSWER.size :]
    dimensions = int(np.frombuffer(numbers, np.int64, 1)[0])
    if not 0 <= dimensions <= _MAX_DIMENSIONS:
        raise ValueError(dimensions)
    shape = np.frombuffer(numbers, np.int64, dimensions, 8)
    if (shape < 0).any():
        raise ValueError(shape)
    table = np.frombuffer(numbers, np.float64, -1, 8 * (1 + dimensions))
    return Answer(table.reshape([int(size) for size in shape]).copy(), seconds)


def _framed(body: bytes) -> bytes:
    return _LENGTH.pack(len(body)) + body


def _exactly(link: socket.socket, size: int) -> bytes:
    kept = bytearray()
    while len(kept) < size:
        piece = link.recv(min(_PIECE, size - len(kept)))
        if not piece:
            raise EOFError
        kept += piece
    return bytes(kept)
