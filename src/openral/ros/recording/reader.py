"""Reads recordings: rosbag2 folders or single MCAP files, complete or truncated."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from mcap.reader import make_reader
from mcap.records import Channel, Message, Schema
from mcap.stream_reader import StreamReader

from openral.errors import RecordingError, choices
from openral.log import logger
from openral.ros.codec.types import Registry
from openral.ros.qos import QoS
from openral.ros.recording.bag_types import registry_for
from openral.ros.recording.rosbag2_metadata import parse_qos

# A damaged file can make the MCAP library and its decompressors raise almost any exception.
_DAMAGE = Exception


@dataclass(frozen=True)
class TopicInfo:
    """One topic of a recording."""

    name: str
    type: str
    count: int
    qos: QoS


@dataclass(frozen=True)
class Record:
    """One recorded message, decoded when `message` is first accessed."""

    topic: str
    type: str
    log_time: int
    """Time of reception in ns."""
    publish_time: int
    data: bytes
    registry: Registry = field(repr=False, compare=False)

    @cached_property
    def message(self) -> Any:
        """The decoded message."""
        return self.registry.decode(self.type, self.data)


class Recording:
    """A recording on disk; iterate over it for all messages, or call `messages` to filter."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.files = _files(self.path)
        self._registries: dict[tuple[str, bytes], Registry] = {}

    @cached_property
    def topics(self) -> dict[str, TopicInfo]:
        """The recorded topics by name."""
        found: dict[str, TopicInfo] = {}
        for file in self.files:
            for schema, channel, count in self._channels(file):
                known = found.get(channel.topic)
                qos = parse_qos(channel.metadata.get("offered_qos_profiles", ""))
                total = count + (known.count if known else 0)
                found[channel.topic] = TopicInfo(channel.topic, schema.name, total, qos)
        return dict(sorted(found.items()))

    def __iter__(self) -> Iterator[Record]:
        return self.messages()

    def messages(
        self,
        topics: Collection[str] | None = None,
        types: Collection[str] | None = None,
        start: int | None = None,
        end: int | None = None,
    ) -> Iterator[Record]:
        """Messages in order of reception, filtered by topic, type and time [start, end) in ns."""
        for topic in topics or ():
            if topic not in self.topics:
                hint = choices(topic, self.topics, "recorded topics")
                raise RecordingError(f"{self.path} has no topic '{topic}'; {hint}")
        for file in self.files:
            with file.open("rb") as stream:
                for schema, channel, message in _records(stream, file, topics, start, end):
                    if types is None or schema.name in types:
                        yield self._record(schema, channel, message)

    def _record(self, schema: Schema, channel: Channel, message: Message) -> Record:
        key = schema.name, schema.data
        if key not in self._registries:
            text = schema.data.decode(errors="replace")
            self._registries[key] = registry_for(schema.name, schema.encoding, text)
        return Record(
            channel.topic,
            schema.name,
            message.log_time,
            message.publish_time,
            message.data,
            self._registries[key],
        )

    def _channels(self, file: Path) -> Iterator[tuple[Schema, Channel, int]]:
        with file.open("rb") as stream:
            summary = _summary(stream)
            if summary and summary.statistics:
                counts = summary.statistics.channel_message_counts
                for channel in summary.channels.values():
                    if schema := summary.schemas.get(channel.schema_id):
                        yield schema, channel, counts.get(channel.id, 0)
                return
            found: dict[int, tuple[Schema, Channel, int]] = {}
            for schema, channel, _ in _intact(stream, file):
                count = found[channel.id][2] if channel.id in found else 0
                found[channel.id] = (schema, channel, count + 1)
            yield from found.values()


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    found = [file for file in path.glob("*.mcap") if file.is_file()]  # opening a FIFO would block
    files = sorted(found, key=lambda file: (len(file.name), file.name))
    if not files:
        reason = "holds no .mcap file" if path.is_dir() else "does not exist"
        raise RecordingError(f"{path} {reason}; expected a recording's folder or an .mcap file")
    return files


def _summary(stream: IO[bytes]) -> Any:
    """The summary at the end of the file; None if the file was truncated before it."""
    try:
        return make_reader(stream).get_summary()
    except _DAMAGE:
        return None


def _records(
    stream: IO[bytes],
    file: Path,
    topics: Collection[str] | None,
    start: int | None,
    end: int | None,
) -> Iterator[tuple[Schema, Channel, Message]]:
    if _summary(stream) is None:
        for schema, channel, message in _intact(stream, file):
            wanted = topics is None or channel.topic in topics
            late = end is not None and message.log_time >= end
            if wanted and message.log_time >= (start or 0) and not late:
                yield schema, channel, message
        return
    stream.seek(0)
    try:
        reader = make_reader(stream)
        for found, channel, message in reader.iter_messages(
            topics, starting_at=start, ending_before=end
        ):
            if found is not None:
                yield found, channel, message
    except _DAMAGE as error:
        raise RecordingError(f"{file} is damaged: {error}") from error


def _intact(stream: IO[bytes], file: Path) -> Iterator[tuple[Schema, Channel, Message]]:
    """All messages up to where the file was truncated."""
    stream.seek(0)
    schemas: dict[int, Schema] = {}
    channels: dict[int, Channel] = {}
    count = 0
    try:
        for record in StreamReader(stream).records:
            if isinstance(record, Schema):
                schemas[record.id] = record
            elif isinstance(record, Channel):
                channels[record.id] = record
            elif isinstance(record, Message):
                channel = channels[record.channel_id]
                count += 1
                yield schemas[channel.schema_id], channel, record
    except _DAMAGE as error:
        if not count:
            raise RecordingError(f"{file} is no MCAP recording: {error}") from error
        logger().warning("recording was cut off", file=str(file), messages=count)
