"""The key of one run: whoever starts the graph makes it, kernel and HAL get it, nobody else."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from openral.errors import ConfigError

KEY_VARIABLE = "OPENRAL_RUN_KEY_FD"
"""Names the inherited file descriptor that the key can be read from, once."""
KEY_BYTES = 32


class RunKey:
    """Secret bytes that do not show when printed, logged or put into a traceback."""

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        if len(secret) != KEY_BYTES:
            raise ConfigError(f"a run key has {KEY_BYTES} bytes, not {len(secret)}")
        self._secret = secret

    @classmethod
    def create(cls) -> RunKey:
        """A fresh one."""
        return cls(secrets.token_bytes(KEY_BYTES))

    @classmethod
    def inherited(cls) -> RunKey:
        """Takes the key that the parent lent; the variable and the descriptor are gone after."""
        named = os.environ.pop(KEY_VARIABLE, None)
        if named is None:
            raise ConfigError(
                f"no run key: {KEY_VARIABLE} is not set; whoever starts the graph must lend one"
            )
        try:
            with os.fdopen(int(named), "rb") as pipe:
                return cls(pipe.read(KEY_BYTES + 1))
        except (ValueError, OSError) as error:
            raise ConfigError(
                f"no run key: {KEY_VARIABLE} names descriptor '{named}': {error}"
            ) from None

    def reveal(self) -> bytes:
        """The secret itself."""
        return self._secret

    @contextmanager
    def lent(self) -> Iterator[Loan]:
        """For starting one child: `Popen(..., env=env | loan.environment, pass_fds=loan.fds)`.

        The key lies in a pipe, so it can be read once and stands in no file, argument or
        environment.
        """
        read_end, write_end = os.pipe()
        try:
            os.write(write_end, self._secret)
        finally:
            os.close(write_end)
        try:
            yield Loan({KEY_VARIABLE: str(read_end)}, (read_end,))
        finally:
            os.close(read_end)

    def __repr__(self) -> str:
        return "RunKey(…)"

    def __reduce__(self) -> str:
        raise TypeError("a run key is handed over with lent(), never pickled")


@dataclass(frozen=True)
class Loan:
    """What a child must be given to find the key."""

    environment: dict[str, str]
    fds: tuple[int, ...]
