"""The secret key of one run: the launcher makes it; kernel, HAL and world receive it, no one else.

It is sent only to a process that has made its own memory unreadable to others, over a socket that
was created for this one request.
"""

from __future__ import annotations

import os
import secrets
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import ClassVar

from openral.errors import ConfigError
from openral.undumpable import descends_from_me, exposed, make_undumpable

KEY_VARIABLE = "OPENRAL_RUN_KEY_FD"
"""Environment variable with the inherited socket over which the key can be requested, once."""
KEY_BYTES = 32
_WAIT_S = 30.0
_GIVEN, _REFUSED = b"\x01", b"\x00"
_CREDENTIALS = struct.Struct("=iII")
_ASK = b"?"


class RunKey:
    """Secret bytes that do not show when printed, logged or put into a traceback."""

    __slots__ = ("_secret",)
    _early: ClassVar[RunKey | None] = None

    def __init__(self, secret: bytes) -> None:
        if len(secret) != KEY_BYTES:
            raise ConfigError(f"a run key has {KEY_BYTES} bytes, not {len(secret)}")
        self._secret = secret

    @classmethod
    def create(cls) -> RunKey:
        """Makes a fresh random key."""
        return cls(secrets.token_bytes(KEY_BYTES))

    @classmethod
    def receive_or_exit(cls) -> None:
        """Fetches a lent key now, for `inherited` later; does nothing where none was lent.

        Call it before anything else is imported: this process is undumpable from then on.
        """
        if KEY_VARIABLE in os.environ:
            try:
                RunKey._early = cls._asked_for()
            except ConfigError as error:
                sys.exit(f"error: {error}")

    @classmethod
    def inherited(cls) -> RunKey:
        """The key lent by the parent, once; afterwards the variable and the descriptor are gone."""
        early, RunKey._early = RunKey._early, None
        return cls._asked_for() if early is None else early

    @classmethod
    def offered(cls) -> RunKey | None:
        """`inherited`, or None where no key was lent."""
        lent = RunKey._early is not None or KEY_VARIABLE in os.environ
        return cls.inherited() if lent else None

    @classmethod
    def _asked_for(cls) -> RunKey:
        named = os.environ.pop(KEY_VARIABLE, None)
        if named is None:
            raise ConfigError(
                f"no run key: {KEY_VARIABLE} is not set; whoever starts the graph must lend one"
            )
        try:
            with socket.socket(fileno=int(named)) as link:
                link.set_inheritable(False)
                make_undumpable()
                return cls(_fetched(link))
        except (ValueError, OSError) as error:
            raise ConfigError(
                f"no run key: {KEY_VARIABLE} names descriptor '{named}': {error}"
            ) from None

    def reveal(self) -> bytes:
        """The secret itself."""
        return self._secret

    @contextmanager
    def lent(self) -> Iterator[Loan]:
        """Lends it to one child: `Popen(..., env=env | loan.environment, pass_fds=loan.fds)`.

        The key is not sent in advance: a thread waits until the child, undumpable, requests it.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        threading.Thread(
            target=self._serve, args=(ours,), name="openral-run-key", daemon=True
        ).start()
        with theirs:
            yield Loan({KEY_VARIABLE: str(theirs.fileno())}, (theirs.fileno(),))

    def _serve(self, link: socket.socket) -> None:
        """Answers the first request; ends with the child if there is none."""
        with link, suppress(OSError):
            room = socket.CMSG_SPACE(_CREDENTIALS.size) + socket.CMSG_SPACE(struct.calcsize("i"))
            data, ancillary, _, _ = link.recvmsg(len(_ASK), room, socket.MSG_CMSG_CLOEXEC)
            pid, uid, descriptors = _asker(ancillary)
            replies = [socket.socket(fileno=descriptor) for descriptor in descriptors]
            if data != _ASK or len(replies) != 1:
                for reply in replies:
                    reply.close()
                return
            with replies[0] as reply:
                why = exposed(pid, uid)
                if not why and not descends_from_me(pid):
                    why = f"process {pid} was not started by this one"
                reply.sendall(_REFUSED + why.encode() if why else _GIVEN + self._secret)

    def __repr__(self) -> str:
        return "RunKey(…)"

    def __reduce__(self) -> str:
        raise TypeError("a run key is handed over with lent(), never pickled")


@dataclass(frozen=True)
class Loan:
    """What a child process needs to request the key."""

    environment: dict[str, str]
    fds: tuple[int, ...]


def _fetched(link: socket.socket) -> bytes:
    """Requests the key with a new socket: another process may have copied the inherited one.

    That was possible until this process became undumpable. A process with such a copy can send a
    request, too, but the lender learns from the operating system which process it is.
    """
    mine, answer_to = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with mine:
        with answer_to:
            socket.send_fds(link, [_ASK], [answer_to.fileno()])
        mine.settimeout(_WAIT_S)
        told = mine.recv(4096)
    if not told:
        raise OSError("whoever lent it went away")
    if told[:1] != _GIVEN:
        raise OSError(f"it was refused: {told[1:].decode(errors='replace')}")
    return told[1:]


def _asker(ancillary: list[tuple[int, int, bytes]]) -> tuple[int, int, list[int]]:
    """Process id, user id and descriptors of a request, as the operating system reports them."""
    pid, uid, descriptors = 0, 0, list[int]()
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
            pid, uid, _ = _CREDENTIALS.unpack(data[: _CREDENTIALS.size])
        elif (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            count = len(data) // struct.calcsize("i")
            descriptors += struct.unpack(f"={count}i", data[: count * struct.calcsize("i")])
    return pid, uid, descriptors
