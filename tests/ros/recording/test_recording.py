"""Recordings: what goes in comes out, for us, for rosbags and for MCAP's own reader."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcap.reader import make_reader
from rosbags.highlevel import AnyReader

from openral.errors import RecordingError
from openral.ros import msg
from openral.ros.codec.schema import schema_text
from openral.ros.codec.types import Message, encode, registry, type_hash
from openral.ros.qos import DEFAULT, LATCHED, SENSOR
from openral.ros.recording import BackgroundWriter, Recording, RecordingWriter
from openral.ros.recording.bag_types import parse_schema
from openral.ros.recording.rosbag2_metadata import parse_qos, qos_yaml

JOINTS, IMAGE, CHUNK = (
    "sensor_msgs/msg/JointState",
    "sensor_msgs/msg/Image",
    "openral_msgs/msg/ActionChunk",
)


def joints(index: int) -> msg.JointState:
    return msg.JointState(name=["a", "b"], position=[index, -index])


def record(folder: Path, compression: str = "zstd", count: int = 10) -> Path:
    with RecordingWriter(folder, compression) as writer:
        writer.add_topic("/joint_states", JOINTS, SENSOR)
        writer.add_topic("/chunk", CHUNK, LATCHED)
        for i in range(count):
            writer.write("/joint_states", JOINTS, encode(joints(i)), 1000 + i * 10, 900 + i * 10)
            chunk = msg.ActionChunk(sequence=i, slots=[msg.ActionSlot(data=[1.0, 2.0])])
            writer.write("/chunk", CHUNK, encode(chunk), 1005 + i * 10, 905 + i * 10)
    return folder


@pytest.mark.parametrize("compression", ["zstd", "lz4", "none"])
def test_what_is_recorded_is_read_back(tmp_path: Path, compression: str) -> None:
    bag = Recording(record(tmp_path / "bag", compression))
    records = list(bag)
    assert [r.log_time for r in records] == sorted(1000 + i * 5 for i in range(20))
    states = [r for r in records if r.topic == "/joint_states"]
    assert [r.message for r in states] == [joints(i) for i in range(10)]
    assert states[3].publish_time == 930 and states[3].type == JOINTS
    assert bag.topics["/joint_states"].count == 10
    assert bag.topics["/joint_states"].qos == SENSOR and bag.topics["/chunk"].qos == LATCHED


def test_rosbags_reads_it_by_the_definitions_inside(tmp_path: Path) -> None:
    folder = record(tmp_path / "bag")
    with AnyReader([folder]) as reader:
        assert reader.message_count == 20 and reader.duration == 96
        chunks = [
            reader.deserialize(raw, connection.msgtype)
            for connection, _, raw in reader.messages()
            if connection.topic == "/chunk"
        ]
        types = {connection.msgtype: connection.digest for connection in reader.connections}
    assert [chunk.sequence for chunk in chunks] == list(range(10))
    assert chunks[0].slots[0].data.tolist() == [1.0, 2.0]
    assert types == {JOINTS: type_hash(JOINTS), CHUNK: type_hash(CHUNK)}


def test_it_is_laid_out_as_rosbag2_does_it(tmp_path: Path) -> None:
    folder = record(tmp_path / "bag")
    assert sorted(file.name for file in folder.iterdir()) == ["bag_0.mcap", "metadata.yaml"]
    text = (folder / "metadata.yaml").read_text()
    information = yaml.safe_load(text)["rosbag2_bagfile_information"]
    assert information["version"] == 9 and information["storage_identifier"] == "mcap"
    assert information["relative_file_paths"] == ["bag_0.mcap"] and "&" not in text
    assert information["starting_time"]["nanoseconds_since_epoch"] == 1000
    with (folder / "bag_0.mcap").open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True)
        assert reader.get_header().profile == "ros2"
        summary = reader.get_summary()
        assert summary and summary.statistics and summary.statistics.message_count == 20
        for channel in summary.channels.values():
            schema = summary.schemas[channel.schema_id]
            assert channel.message_encoding == "cdr" and schema.encoding == "ros2msg"
            assert channel.metadata["topic_type_hash"] == type_hash(schema.name)
        embedded = [m.metadata["serialized_metadata"] for m in reader.iter_metadata()]
        assert embedded == [text] and len(list(reader.iter_messages())) == 20


def test_messages_can_be_chosen(tmp_path: Path) -> None:
    bag = Recording(record(tmp_path / "bag") / "bag_0.mcap")
    assert len(list(bag.messages(topics=["/chunk"]))) == 10
    assert len(list(bag.messages(types=[JOINTS]))) == 10
    assert [r.log_time for r in bag.messages(start=1010, end=1025)] == [1010, 1015, 1020]
    with pytest.raises(RecordingError, match=r"no topic '/chnk'; did you mean '/chunk'"):
        next(bag.messages(topics=["/chnk"]))


def test_an_empty_recording_is_a_recording(tmp_path: Path) -> None:
    RecordingWriter(tmp_path / "bag").close()
    assert list(Recording(tmp_path / "bag")) == [] and not Recording(tmp_path / "bag").topics


def test_wrong_use_is_named(tmp_path: Path) -> None:
    folder = record(tmp_path / "bag")
    with pytest.raises(RecordingError, match="exists already"):
        RecordingWriter(folder)
    with pytest.raises(RecordingError, match="does not exist"):
        Recording(tmp_path / "nothing")
    (tmp_path / "file.mcap").write_bytes(b"not an MCAP file at all")
    with pytest.raises(RecordingError, match="no MCAP recording"):
        list(Recording(tmp_path / "file.mcap"))
    writer = RecordingWriter(tmp_path / "other")
    writer.write("/a", JOINTS, encode(joints(0)), 0, 0)
    with pytest.raises(RecordingError, match="/a is recorded as sensor_msgs/msg/JointState, not"):
        writer.write("/a", IMAGE, encode(msg.Image()), 0, 0)
    writer.close()
    writer.close()
    with pytest.raises(RecordingError, match="is closed"):
        writer.write("/a", JOINTS, encode(joints(0)), 0, 0)


@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(fraction=st.floats(0, 0.999))
def test_a_file_cut_off_anywhere_gives_what_is_left(tmp_path: Path, fraction: float) -> None:
    whole = tmp_path / "whole" / "whole_0.mcap"
    if not whole.exists():
        with RecordingWriter(tmp_path / "whole") as writer:
            for i in range(60):
                writer.write("/joint_states", JOINTS, encode(joints(i)), i, i)
                writer.flush()
    content = whole.read_bytes()
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(content[: int(len(content) * fraction)])
    try:
        positions = [record.message.position[0] for record in Recording(cut)]
    except RecordingError:
        positions = []
    assert positions == list(range(len(positions)))
    assert len(positions) >= 60 * (fraction - 0.3)


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_a_damaged_file_raises_one_error_at_most(tmp_path: Path, data: st.DataObject) -> None:
    whole = tmp_path / "bag" / "bag_0.mcap"
    if not whole.exists():
        record(tmp_path / "bag", "none")
    content = bytearray(whole.read_bytes())
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    damaged = tmp_path / "damaged.mcap"
    damaged.write_bytes(content)
    try:
        assert len(list(Recording(damaged))) <= 20
    except RecordingError as error:
        assert "damaged.mcap" in str(error) or "recorded definition" in str(error)


def test_a_type_that_has_changed_is_read_by_its_recorded_definition(tmp_path: Path) -> None:
    folder = record(tmp_path / "bag", "none")
    file = folder / "bag_0.mcap"
    ours = schema_text(JOINTS).encode()
    theirs = ours.replace(b"float64[] position", b"float64[] place   ")
    assert len(ours) == len(theirs) and ours in file.read_bytes()
    file.write_bytes(file.read_bytes().replace(ours, theirs))
    first = next(Recording(file).messages(topics=["/joint_states"]))
    assert first.message.place.tolist() == [0.0, 0.0] and first.registry is not registry


def test_every_schema_text_parses_back_to_the_same_type() -> None:
    for name in registry.names("msg"):
        for definition in parse_schema(name, schema_text(name)):
            ours = registry.definition(definition.name)
            assert definition.members == ours.members and definition.constants == ours.constants


def test_qos_survives_and_the_old_numbers_are_understood() -> None:
    for qos in (SENSOR, LATCHED, DEFAULT):
        assert parse_qos(qos_yaml(qos)) == qos
    assert parse_qos("- {history: 1, depth: 3, reliability: 2, durability: 1}").latched
    assert parse_qos("") == parse_qos("[1") == parse_qos("7") == DEFAULT


def test_memory_does_not_grow_with_the_recording(tmp_path: Path) -> None:
    image = encode(msg.Image(data=np.zeros(1_000_000, np.uint8)))
    tracemalloc.start()
    with RecordingWriter(tmp_path / "bag", "lz4") as writer:
        for i in range(60):
            writer.write("/image", IMAGE, image, i, i)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12_000_000


def test_the_background_writer_keeps_order_and_qos(tmp_path: Path) -> None:
    with BackgroundWriter(RecordingWriter(tmp_path / "bag")) as writer:
        writer.add_topic("/joint_states", JOINTS, LATCHED)
        for i in range(500):
            writer.write("/joint_states", JOINTS, encode(joints(i)), i, i)
    bag = Recording(tmp_path / "bag")
    assert [r.message.position[0] for r in bag] == list(range(500)) and writer.lost == 0
    assert bag.topics["/joint_states"].qos == LATCHED


def test_the_background_writer_loses_rather_than_grows(tmp_path: Path) -> None:
    image = encode(msg.Image(data=np.zeros(1_000_000, np.uint8)))
    writer = BackgroundWriter(RecordingWriter(tmp_path / "bag"), most_bytes=len(image))
    with writer._changed:  # the writing thread must wait, as it would for a slow disk
        for i in range(5):
            writer.write("/image", IMAGE, image, i, i)
    writer.close()
    assert writer.lost == 4 and len(list(Recording(tmp_path / "bag"))) == 1


def test_a_contradiction_costs_only_its_message(tmp_path: Path) -> None:
    messages: list[tuple[str, Message]] = [(JOINTS, joints(1)), (IMAGE, msg.Image())]
    with BackgroundWriter(RecordingWriter(tmp_path / "bag")) as writer:
        for kind, message in [*messages, messages[0]]:
            writer.write("/a", kind, encode(message), 0, 0)
    assert writer.lost == 1 and Recording(tmp_path / "bag").topics["/a"].count == 2
