"""Inputs that cannot be sealed are accepted from one publisher only."""

from __future__ import annotations

import time

from openral.errors import ConfigError

_BOTH_S = 2.0


class Pinned:
    """Pins a topic to its first publisher; a second one makes it unusable until `release`.

    For topics that programs outside the run publish: a map, attached objects.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._source: int | None = None
        self._conflict = False

    @property
    def source(self) -> int | None:
        """The accepted publisher; None before the first message."""
        return self._source

    def take(self, source: int) -> bool:
        """Records a message's publisher; True for the first. ConfigError if there are two."""
        first = self._source is None
        if first:
            self._source = source
        self._conflict = self._conflict or source != self._source
        if self._conflict:
            raise ConfigError(
                f"two publishers of {self._what}: whom to believe is not known; end one of them, "
                "then reset"
            )
        return first

    def release(self) -> None:
        """Forgets the publisher: the next one to publish is accepted."""
        self._source, self._conflict = None, False


class SoleSource:
    """A sensor's topic: unusable while two publishers send on it, and for a moment after."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._heard: dict[int, float] = {}

    def fault(self, source: int) -> str:
        """Records a message's publisher; returns why the message is unusable, else empty."""
        now = time.monotonic()
        self._heard[source] = now
        if len(self._heard) == 1:
            return ""
        self._heard = {s: at for s, at in self._heard.items() if now - at < _BOTH_S}
        count = len(self._heard)
        return "" if count == 1 else f"{count} publishers on {self._what}; valid: one"
