"""Pinned: an input that cannot be sealed is taken from one publisher, and from no two."""

from __future__ import annotations

import time

from openral.errors import ConfigError

_BOTH_S = 2.0


class Pinned:
    """Keeps the first publisher of a topic; a second one makes the topic unusable until `release`.

    For what programs outside of the run publish: a map, objects in the robot's hand.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._source: int | None = None
        self._conflict = False

    @property
    def source(self) -> int | None:
        """The publisher that is taken; None: nobody has published yet."""
        return self._source

    def take(self, source: int) -> bool:
        """Notes a message of a publisher; True for the first one. ConfigError if there are two."""
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
        """Takes the next publisher that comes, whoever it is."""
        self._source, self._conflict = None, False


class SoleSource:
    """A sensor's topic: unusable while two publishers are heard, and for a moment after."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._heard: dict[int, float] = {}

    def fault(self, source: int) -> str:
        """Notes a message of a publisher; why it cannot be used, empty: it can."""
        now = time.monotonic()
        self._heard[source] = now
        if len(self._heard) == 1:
            return ""
        self._heard = {s: at for s, at in self._heard.items() if now - at < _BOTH_S}
        count = len(self._heard)
        return "" if count == 1 else f"{count} publishers on {self._what}; valid: one"
