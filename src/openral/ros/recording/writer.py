"""RecordingWriter: writes serialized messages to an MCAP recording in rosbag2's layout."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from mcap.writer import CompressionType, Writer

from openral.errors import RecordingError
from openral.ros.codec.schema import schema_text
from openral.ros.codec.types import type_hash
from openral.ros.qos import DEFAULT, QoS
from openral.ros.recording.reserved_file import ReservedFile
from openral.ros.recording.rosbag2_metadata import RecordedTopic, metadata_yaml, qos_yaml

COMPRESSIONS = {
    "zstd": CompressionType.ZSTD,
    "lz4": CompressionType.LZ4,
    "none": CompressionType.NONE,
}
_CHUNK = 1024 * 1024
# Bytes of overhead besides the data: records, indexes, the compressor's frames.
_MESSAGE_COST, _CHUNK_COST, _SUMMARY_COST = 64, 4096, 256 * 1024


class RecordingWriter:
    """A recording being written; use it in a `with` block, from one thread.

    If the disk fills up, `write` raises RecordingError and accepts no more messages; closing still
    leaves a complete recording of everything before.
    """

    def __init__(self, folder: Path | str, compression: str = "zstd") -> None:
        """`compression` is zstd, lz4 or none."""
        self.folder = Path(folder)
        self.topics: dict[str, RecordedTopic] = {}
        self.error: RecordingError | None = None
        self._first, self._last = 2**63, 0
        self._pending, self._largest, self._summary = 0, 0, _SUMMARY_COST
        self._schemas: dict[str, int] = {}
        self._closed = False
        try:
            self.folder.mkdir(parents=True)
        except FileExistsError:
            raise RecordingError(f"{self.folder} exists already; give another name") from None
        except OSError as error:
            raise RecordingError(f"cannot make {self.folder}: {error.strerror}") from error
        self.path = self.folder / f"{self.folder.name}_0.mcap"
        self._file = ReservedFile(self.path)
        # Chunks are closed by `flush` alone, so that none is begun without space for it.
        self._writer = Writer(self._file, 2**62, COMPRESSIONS[compression])
        try:
            self._file.reserve(self._reserve())
            self._writer.start("ros2", "openral")
        except OSError as error:
            self._file.close()
            raise RecordingError(f"cannot begin {self.path}: {error.strerror}") from error

    @property
    def count(self) -> int:
        """Messages accepted so far."""
        return sum(topic.count for topic in self.topics.values())

    def add_topic(self, topic: str, type_name: str, qos: QoS = DEFAULT) -> None:
        """Declares a topic with its offered QoS; `write` declares unknown ones with the default."""
        known = self.topics.get(topic)
        if known:
            if known.type != type_name:
                raise RecordingError(f"{topic} is recorded as {known.type}, not {type_name}")
            return
        if type_name not in self._schemas:
            text = schema_text(type_name).encode()
            self._summary += 2 * len(text) + _MESSAGE_COST
            self._schemas[type_name] = self._writer.register_schema(type_name, "ros2msg", text)
        metadata = {"offered_qos_profiles": qos_yaml(qos), "topic_type_hash": type_hash(type_name)}
        self._summary += 4 * sum(map(len, metadata.values())) + 2 * len(topic) + _CHUNK_COST
        channel = self._writer.register_channel(topic, "cdr", self._schemas[type_name], metadata)
        self.topics[topic] = RecordedTopic(
            topic, type_name, metadata["topic_type_hash"], qos, channel
        )

    def write(
        self, topic: str, type_name: str, data: bytes, log_time: int, publish_time: int
    ) -> None:
        """Adds one message: CDR bytes with header, and times of reception and sending in ns."""
        if self.error:
            raise self.error
        if self._closed:
            raise RecordingError(f"{self.path} is closed")
        self.add_topic(topic, type_name)
        recorded = self.topics[topic]
        log_time, publish_time = max(log_time, 0), max(publish_time, 0)
        self._writer.add_message(recorded.channel, log_time, data, publish_time, recorded.count)
        recorded.count += 1
        self._first, self._last = min(self._first, log_time), max(self._last, log_time)
        self._pending += len(data) + _MESSAGE_COST
        self._largest = max(self._largest, len(data))
        if self._pending > _CHUNK:
            self.flush()

    def flush(self) -> None:
        """Writes everything so far to the file, so that it is readable if the process is killed."""
        if self.error or not self._pending:
            return
        try:
            self._file.reserve(self._pending + self._pending // 64 + _CHUNK_COST + self._reserve())
            self._writer.flush()
        except OSError as error:
            self.error = RecordingError(
                f"recording to {self.path} stopped after {self.count} messages: {error.strerror}"
            )
            raise self.error from error
        self._pending = 0
        self._summary += 256 + 16 * len(self.topics)

    def _reserve(self) -> int:
        """Bytes needed to complete the file: one more chunk and the summary."""
        chunk = _CHUNK + self._largest + _MESSAGE_COST
        return chunk + chunk // 64 + _CHUNK_COST + self._summary

    def close(self) -> None:
        """Completes the file and writes metadata.yaml; idempotent."""
        if self._closed:
            return
        self._closed = True
        first, last = (self._first, self._last) if self.count else (0, 0)
        text = metadata_yaml(self.path.name, list(self.topics.values()), first, last)
        try:
            with suppress(RecordingError):
                self.flush()
            self._writer.add_metadata("rosbag2", {"serialized_metadata": text})
            self._writer.finish()
        except OSError as error:
            self.error = self.error or RecordingError(
                f"{self.path} could not be completed: {error.strerror}"
            )
        try:
            self._file.close()
            (self.folder / "metadata.yaml").write_text(text)
        except OSError as error:
            raise self.error or RecordingError(
                f"{self.folder} could not be completed: {error.strerror}"
            ) from error
        if self.error:
            raise self.error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
            return
        with suppress(RecordingError):
            self.close()
