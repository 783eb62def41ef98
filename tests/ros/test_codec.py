"""The codec agrees with rosbags' on every type and survives whatever bytes it is given."""

from __future__ import annotations

import contextlib
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from rosbags.typesys import Stores, get_typestore

from openral.errors import CorruptMessage, InvalidMessage
from openral.ros import msg
from openral.ros.codec.types import Message, decode, encode, new
from tests.ros.strategies import MESSAGES, any_message

STORE = get_typestore(Stores.ROS2_JAZZY)
relaxed = settings(
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@relaxed
@given(any_message)
def test_what_is_encoded_decodes_to_the_same(message: Message) -> None:
    wire = encode(message)
    assert wire[:4] == b"\0\1\0\0" and len(wire) % 4 == 0
    assert encode(decode(message.__ros_type__, wire)) == wire


@relaxed
@given(any_message.filter(lambda message: message.__ros_type__ in STORE.fielddefs))
def test_the_bytes_are_those_of_rosbags(message: Message) -> None:
    theirs = bytes(STORE.serialize_cdr(message, message.__ros_type__))
    assert encode(message) == theirs + bytes(-len(theirs) % 4)


@relaxed
@given(any_message.filter(lambda message: message.__ros_type__ in STORE.fielddefs))
def test_big_endian_payloads_are_read_too(message: Message) -> None:
    name = message.__ros_type__
    theirs = bytes(STORE.serialize_cdr(message, name, little_endian=False))
    assert encode(decode(name, theirs)) == encode(message)


@relaxed
@given(any_message, st.binary(min_size=16, max_size=16))
def test_a_prefix_does_not_disturb_the_message(message: Message, ids: bytes) -> None:
    wire = encode(message, ids)
    assert wire[4:20] == ids and wire[:4] + wire[20:] == encode(message)
    assert encode(decode(message.__ros_type__, wire, 16)) == encode(message)


def survives(name: str, payload: bytes) -> None:
    """Either a message that can be encoded again, or the one error that callers expect."""
    try:
        message = decode(name, payload)
    except CorruptMessage as error:
        assert error.type_name == name and error.reason
    else:
        encode(message)


@relaxed
@given(any_message, st.data())
def test_truncated_payloads_are_refused(message: Message, data: st.DataObject) -> None:
    wire = encode(message)
    cut = data.draw(st.integers(0, len(wire) - 1))
    survives(message.__ros_type__, wire[:cut])
    if cut <= len(wire) - 4:
        with pytest.raises(CorruptMessage):
            decode(message.__ros_type__, wire[:cut])


@relaxed
@given(any_message, st.binary(min_size=4, max_size=64))
def test_trailing_garbage_is_refused(message: Message, garbage: bytes) -> None:
    with pytest.raises(CorruptMessage, match="ends at byte"):
        decode(message.__ros_type__, encode(message) + garbage)


@settings(relaxed, max_examples=400)
@given(any_message, st.data())
def test_damaged_payloads_never_do_more_than_raise(message: Message, data: st.DataObject) -> None:
    wire = bytearray(encode(message))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(wire) - 1))
        word = data.draw(st.sampled_from([b"\xff\xff\xff\xff", b"\xff", b"\0\0\0\x80", b"\x7f"]))
        wire[at : at + len(word)] = word
    survives(message.__ros_type__, bytes(wire))


@settings(relaxed, max_examples=400)
@given(st.sampled_from(MESSAGES), st.binary(max_size=300))
@example("std_msgs/msg/String", b"")
@example("std_msgs/msg/String", b"\0\1\0\0\2\0\0\0\xff\0")
def test_random_bytes_never_do_more_than_raise(name: str, payload: bytes) -> None:
    survives(name, payload)
    survives(name, b"\0\1\0\0" + payload)
    survives(name, b"\0\0\0\0" + payload)


@settings(relaxed, max_examples=300)
@given(any_message, st.sampled_from(MESSAGES))
def test_a_message_of_another_type_never_does_more_than_raise(message: Message, name: str) -> None:
    survives(name, encode(message))


HUGE = [
    ("std_msgs/msg/String", "data"),
    ("sensor_msgs/msg/Image", "header.frame_id"),
    ("std_msgs/msg/Float64MultiArray", "layout.dim"),
    ("tf2_msgs/msg/TFMessage", "transforms"),
    ("visualization_msgs/msg/MarkerArray", "markers"),
    ("rcl_interfaces/srv/GetParameters_Request", "names"),
    ("rcl_interfaces/srv/GetParameterTypes_Response", "types"),
    ("action_msgs/msg/GoalStatusArray", "status_list"),
]


@pytest.mark.parametrize(("name", "field"), HUGE)
@pytest.mark.parametrize("claim", [0xFFFFFFFF, 0x7FFFFFFF, 0x10000000, 70_000])
def test_a_claimed_length_allocates_nothing(name: str, field: str, claim: int) -> None:
    lead = b"" if field != "header.frame_id" else bytes(8)
    payload = b"\0\1\0\0" + lead + struct.pack("<I", claim) + bytes(64)
    with pytest.raises(CorruptMessage, match=field):
        decode(name, payload)
    tracemalloc.start()
    with pytest.raises(CorruptMessage):
        decode(name, payload)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8_000


@pytest.mark.parametrize("name", [name for name, _ in HUGE if "Image" not in name])
def test_memory_stays_a_small_multiple_of_the_bytes(name: str) -> None:
    size = 200_000
    worst = 0
    for count in (size // 4, size // 8, size // 16, size // 32, size // 128):
        payload = b"\0\1\0\0" + struct.pack("<I", count) + bytes(size)
        tracemalloc.start()
        with contextlib.suppress(CorruptMessage):
            decode(name, payload)
        worst = max(worst, tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert worst < 40 * size


def test_arrays_are_views_of_the_payload() -> None:
    wire = encode(msg.Image(data=np.arange(48, dtype=np.uint8)))
    image = decode(msg.Image, wire)
    assert np.shares_memory(image.data, np.frombuffer(wire, np.uint8))
    assert not image.data.flags.writeable


def test_any_buffer_will_do() -> None:
    message = msg.JointState(name=["a"], position=[1.0])
    wire = encode(message)
    for buffer in (bytearray(wire), memoryview(wire), memoryview(wire).cast("I")):
        assert decode("sensor_msgs/msg/JointState", buffer) == message


def test_an_empty_string_of_length_zero_is_understood() -> None:
    assert decode("std_msgs/msg/String", b"\0\1\0\0\0\0\0\0") == msg.String()


def test_other_encodings_are_named() -> None:
    with pytest.raises(CorruptMessage, match="encoding 0007 is not plain CDR"):
        decode("std_msgs/msg/Bool", b"\0\7\0\0\1\0\0\0")


def test_bounds_hold_in_both_directions() -> None:
    name = "rmw_dds_common/msg/NodeEntitiesInfo"
    with pytest.raises(InvalidMessage, match=r"node_name .*string<256>"):
        encode(new(name, node_name="x" * 257))
    long = b"\0\1\0\0" + b"\1\0\0\0\0\0\0\0" + struct.pack("<I", 301) + b"x" * 300 + bytes(12)
    with pytest.raises(CorruptMessage, match="node_name has 300 elements, at most 256"):
        decode(name, long)


def test_byte_arrays_of_bools_hold_only_true_and_false() -> None:
    wire = bytearray(encode(new("rcl_interfaces/msg/ParameterValue", bool_array_value=[True] * 4)))
    wire[wire.index(b"\1\1\1\1")] = 7
    value = decode("rcl_interfaces/msg/ParameterValue", bytes(wire))
    assert value.bool_array_value.tolist() == [True] * 4
    assert value.bool_array_value.view(np.uint8).tolist() == [1] * 4


def test_a_string_needs_its_final_zero() -> None:
    with pytest.raises(CorruptMessage, match="data is a string without its final zero"):
        decode("std_msgs/msg/String", b"\0\1\0\0\3\0\0\0abc\0")


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(CorruptMessage, match="utf-8"):
        decode("std_msgs/msg/String", b"\0\1\0\0\2\0\0\0\xff\0\0\0")
