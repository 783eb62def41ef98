"""Lists of known objects from several publishers; the world is their union."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from openral.errors import ConfigError
from openral.ros.clock import NS
from openral.ros.stamps import stamp_ns

T = TypeVar("T")


def attached(message: Any) -> list[Any]:
    """The objects of a WorldCollision that move with a link of the robot."""
    return [primitive for primitive in message.primitives if primitive.attached_link]


@dataclass(frozen=True)
class _Told(Generic[T]):
    stamp_ns: int
    heard_ns: int
    ids: tuple[str, ...]
    content: T | ConfigError


class WorldLists(Generic[T]):
    """The newest WorldCollision of every publisher.

    `read` converts a message to what the caller needs. Where it raises ConfigError, the whole world
    is unusable until that publisher sends a valid list.
    """

    def __init__(self, read: Callable[[Any], T]) -> None:
        self._read = read
        self._told: dict[int, _Told[T]] = {}

    def take(self, message: Any, source: int, now_ns: int) -> None:
        """Replaces a publisher's last list; `source`: its number, as subscriptions report it."""
        ids = tuple(primitive.id for primitive in message.primitives)
        content: T | ConfigError
        try:
            content = self._read(message)
        except ConfigError as error:
            content = error
        self._told[source] = _Told(stamp_ns(message), now_ns, ids, content)

    def refuse(self, why: ConfigError, source: int) -> None:
        """Marks the publisher's list as unusable, without reading it."""
        stamps = self._told[source] if source in self._told else _Told(0, 0, (), why)
        self._told[source] = replace(stamps, content=why)

    def __bool__(self) -> bool:
        return bool(self._told)

    @property
    def stamp_ns(self) -> int:
        """Stamp of the oldest list in ns: the world is as old as that. 0: there is none."""
        return min((told.stamp_ns for told in self._told.values()), default=0)

    def all(self) -> list[T]:
        """Every list; ConfigError if one is unusable or two publishers report the same id."""
        lists, seen = [], set[str]()
        for told in self._told.values():
            if isinstance(told.content, ConfigError):
                raise told.content
            for name in set(told.ids):
                if name in seen:
                    raise ConfigError(
                        f"two publishers tell of object '{name}'; ids are unique in the world"
                    )
                seen.add(name)
            lists.append(told.content)
        return lists

    def forget_old(self, now_ns: int, limit_s: float) -> list[str] | None:
        """Drops lists not received again within `limit_s`; returns their ids, None: none dropped.

        The time of reception counts, not the stamp that the publisher wrote.
        """
        old = {
            source: told
            for source, told in self._told.items()
            if abs(now_ns - told.heard_ns) > limit_s * NS
        }
        for source in old:
            del self._told[source]
        return [name for told in old.values() for name in told.ids] if old else None
