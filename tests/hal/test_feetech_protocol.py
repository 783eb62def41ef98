from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openral.errors import ConfigError
from openral.hal.drivers.feetech import protocol
from openral.hal.drivers.feetech.registers import MEMORY_SIZE, REGISTERS, Register

from . import feetech_simulator

ids = st.integers(0, protocol.MAX_ID)
payloads = st.binary(max_size=40)
bytes_ = st.integers(0, 255)


def test_packets_are_those_of_the_published_protocol() -> None:
    assert protocol.ping(1).hex(" ") == "ff ff 01 02 01 fb"
    assert protocol.read(1, 0x38, 2).hex(" ") == "ff ff 01 04 02 38 02 be"
    assert protocol.write(1, 0x2A, b"\x00\x08").hex(" ") == "ff ff 01 05 03 2a 00 08 c4"
    assert protocol.sync_read([1, 2], 0x38, 8).hex(" ") == "ff ff fe 06 82 38 08 01 02 36"
    two = protocol.sync_write(0x2A, 2, {1: b"\x00\x08", 2: b"\x10\x09"})
    assert two.hex(" ") == "ff ff fe 0a 83 2a 02 01 00 08 02 10 09 24"


@given(ids, bytes_, payloads)
def test_the_simulator_frames_packets_alike(servo: int, code: int, data: bytes) -> None:
    assert protocol.packet(servo, code, data) == feetech_simulator.framed(servo, code, data)


@given(ids, bytes_, payloads, payloads)
def test_an_answer_is_found_behind_any_garbage_and_leaves_the_rest(
    servo: int, error: int, data: bytes, rest: bytes
) -> None:
    buffer = bytearray(b"\xff\x00\xff" + protocol.packet(servo, error, data) + rest)
    status = protocol.take_status(buffer, [servo], len(data))
    assert status == protocol.Status(servo, error, data)
    assert buffer == rest


@given(ids, bytes_, payloads, st.data())
def test_any_single_wrong_byte_is_refused(
    servo: int, error: int, data: bytes, draw: st.DataObject
) -> None:
    packet = bytearray(protocol.packet(servo, error, data))
    at = draw.draw(st.integers(0, len(packet) - 1))
    packet[at] ^= draw.draw(st.integers(1, 255))
    assert protocol.take_status(packet, [servo], len(data)) is None


@given(ids, bytes_, payloads, st.data())
def test_any_missing_byte_is_refused(
    servo: int, error: int, data: bytes, draw: st.DataObject
) -> None:
    packet = bytearray(protocol.packet(servo, error, data))
    del packet[draw.draw(st.integers(0, len(packet) - 1))]
    assert protocol.take_status(packet, [servo], len(data)) is None


@given(ids, ids, payloads, st.integers(0, 40))
def test_another_servos_answer_or_another_length_is_refused(
    servo: int, other: int, data: bytes, size: int
) -> None:
    packet = bytearray(protocol.packet(servo, 0, data))
    found = protocol.take_status(packet, [other], size)
    if found is not None:
        assert (servo, len(data)) == (other, size)


@given(st.binary(max_size=200), ids, st.integers(0, 30))
def test_random_bytes_never_raise_and_never_keep_the_buffer_growing(
    noise: bytes, servo: int, size: int
) -> None:
    buffer = bytearray(noise)
    while protocol.take_status(buffer, [servo], size):
        pass
    assert len(buffer) < protocol.status_size(size)


@given(st.sampled_from(list(REGISTERS.values())), st.data())
def test_register_values_survive_their_coding(register: Register, draw: st.DataObject) -> None:
    value = draw.draw(st.integers(*register.limits))
    data = register.encode(value)
    assert len(data) == register.size
    assert register.decode(data) == value


def test_a_value_that_does_not_fit_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"homing_offset: 2048 is outside \[-2047, 2047\]"):
        REGISTERS["homing_offset"].encode(2048)


def test_registers_do_not_overlap_and_match_the_simulator() -> None:
    taken: set[int] = set()
    for register in REGISTERS.values():
        span = set(range(register.address, register.address + register.size))
        assert not span & taken
        assert max(span) < MEMORY_SIZE
        taken |= span
        if register.name in feetech_simulator.DEFAULTS:
            address, size, _ = feetech_simulator.DEFAULTS[register.name]
            assert (register.address, register.size) == (address, size)


def test_faults_are_named() -> None:
    assert protocol.fault_names(0b100001) == ["voltage out of range", "overload"]
    assert protocol.fault_names(0b10000000) == ["unknown fault bit 7"]


def test_an_impossible_id_is_refused() -> None:
    with pytest.raises(ConfigError, match="servo id 254"):
        protocol.ping(254)


def test_the_documented_register_table_is_the_code() -> None:
    text = (Path(__file__).parents[2] / "docs" / "feetech.md").read_text()
    for register in REGISTERS.values():
        if register.name not in {"status", "moving"}:
            assert f"| {register.name} | {register.address} | {register.size} |" in text
