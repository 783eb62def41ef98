"""`openral topic` on a recording instead of the live graph."""

from __future__ import annotations

import resource
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openral.ros.rate_meter import RateReport
    from openral.ros.recording import Record

MAX_MEMORY_BYTES = 4 << 30
BagOption = Annotated[
    Path | None, typer.Option("--bag", help="Ask this recording instead of the live graph.")
]


def topics_of(bag: Path) -> dict[str, str]:
    """Recorded topics and their types."""
    from openral.ros.recording import Recording

    _bound_memory()
    return {topic.name: topic.type for topic in Recording(bag).topics.values()}


def messages_of(bag: Path, topic: str, limit: int) -> Iterator[Record]:
    """The first messages of a topic; all if `limit` is 0."""
    from openral.ros.recording import Recording

    _bound_memory()
    return islice(Recording(bag).messages([_absolute(topic)]), limit or None)


def rate_of(bag: Path, topic: str, window: int) -> RateReport | None:
    """The rate at which a topic's messages were received; None for fewer than two."""
    from openral.ros.rate_meter import RateMeter

    meter = RateMeter(window)
    for record in messages_of(bag, topic, 0):
        meter.tick(record.log_time)
    return meter.report()


def _bound_memory() -> None:
    """Limits this process to 4 GiB: an untrusted recording may decompress to any size."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or hard > MAX_MEMORY_BYTES:
        resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY_BYTES, hard))


def _absolute(topic: str) -> str:
    return topic if topic.startswith("/") else f"/{topic}"
