"""Only what the kernel sealed, once, in order and in time, gets past the HAL's gatekeeper."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openral.bench.work import chunk
from openral.errors import ConfigError
from openral.graph.run_key import KEY_VARIABLE, RunKey
from openral.graph.seal import CHUNK_AT, Gatekeeper, Seal
from openral.ros.codec import types
from openral.safety.node.candidate import NO_HEAD, FairLimit, candidate_head
from tests.safety.helpers import M

NOW = 5_000_000_000
LIFE = 100_000_000
KEY = RunKey(bytes(range(32)))
CHUNK = types.encode(chunk(M.JOINT_POSITION, np.zeros((3, 8))))


def gatekeeper(now: int = NOW, key: RunKey = KEY) -> Gatekeeper:
    return Gatekeeper(key, lambda: now)


def sealed(count: int = 1, epoch: int = 7, key: RunKey = KEY) -> list[bytes]:
    seal = Seal(key, epoch)
    return [seal.seal(CHUNK, NOW, NOW + LIFE) for _ in range(count)]


chunks = st.builds(
    lambda frame, rows, names, name, dt: chunk(
        M.JOINT_POSITION, np.ones((rows, 5)), dt=dt, joint_names=names, name=name, frame_id=frame
    ),
    st.text(max_size=9),
    st.integers(1, 9),
    st.lists(st.text(max_size=5), max_size=4),
    st.text(max_size=6),
    st.floats(0.001, 1.0),
)


@given(chunks, st.integers(0, (2**31 - 2) * 10**9), st.integers(1, 2**63), st.text(max_size=12))
def test_a_sealed_chunk_is_the_very_message_the_codec_would_make(
    made: Any, now: int, epoch: int, frame: str
) -> None:
    made.header = types.new("std_msgs/msg/Header", frame_id=frame)
    candidate = types.encode(made)
    payload = Seal(KEY, epoch).seal(candidate, now, now + LIFE)
    action = types.decode("openral_msgs/msg/SafeAction", payload)
    assert types.encode(action) == payload
    assert types.encode(action.chunk) == candidate
    assert payload[CHUNK_AT : CHUNK_AT + len(candidate) - 4] == candidate[4:]
    assert (action.epoch, action.sequence, action.speed_factor) == (epoch, 1, 1.0)
    assert action.expires.sec * 10**9 + action.expires.nanosec == now + LIFE
    assert Gatekeeper(KEY, lambda: now).check(payload) is not None


@given(st.integers(0, len(sealed()[0]) - 1), st.integers(1, 255))
def test_any_altered_byte_is_refused(at: int, change: int) -> None:
    payload = bytearray(sealed()[0])
    payload[at] ^= change
    gate = gatekeeper()
    assert gate.check(payload) is None
    assert gate.refused.bad_mac + gate.refused.corrupt == 1


@given(st.lists(st.integers(0, 5), max_size=20))
def test_each_is_taken_once_and_in_order_only(order: list[int]) -> None:
    actions = sealed(3, epoch=7) + sealed(3, epoch=8)
    gate, last = gatekeeper(), -1
    for index in order:
        taken = gate.check(actions[index])
        assert (taken is not None) == (index > last)
        if index <= last:
            assert gate.last_refusal == "replayed"
        last = max(last, index)
    assert gate.refused.total == gate.refused.replayed


@given(st.integers(-(10**10), 10**10))
def test_only_in_its_time(offset: int) -> None:
    gate = gatekeeper(NOW + offset)
    taken = gate.check(sealed()[0])
    assert (taken is not None) == (-LIFE <= offset <= LIFE)
    assert gate.refused.expired == (taken is None)


@given(st.binary(max_size=300), st.booleans(), st.booleans())
def test_hostile_bytes_never_raise(noise: bytes, framed: bool, signed: bool) -> None:
    """Not even when they are signed: the kernel itself may have been fed rubbish."""
    gate = gatekeeper()
    if signed:
        noise = Seal(KEY, 7).seal(b"\x00\x01\x00\x00" + noise, NOW, NOW + LIFE)
    gate.check(b"\x00\x01\x00\x00" + noise if framed and not signed else noise)
    assert gate.refused.total <= 1


def test_another_runs_key_opens_nothing() -> None:
    gate = gatekeeper(key=RunKey.create())
    assert gate.check(sealed()[0]) is None
    assert gate.refused.bad_mac == 1


def test_a_forgery_does_not_use_up_the_place_of_the_real_one() -> None:
    gate = gatekeeper()
    forged = sealed(key=RunKey.create())[0]
    assert gate.check(forged) is None
    assert gate.check(sealed()[0]) is not None


def test_a_chunk_that_is_not_little_endian_cannot_be_sealed() -> None:
    with pytest.raises(ConfigError, match="encoding 0000"):
        Seal(KEY, 1).seal(b"\x00\x00" + CHUNK[2:], NOW, NOW)


def test_the_key_does_not_show() -> None:
    secret = RunKey.create()
    assert secret.reveal().hex() not in repr(secret) and str(secret) == "RunKey(…)"
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    with pytest.raises(ConfigError, match="32 bytes, not 3"):
        RunKey(b"abc")


CHILD = """
import os, sys
from openral.graph.run_key import RunKey, KEY_VARIABLE
from openral.errors import ConfigError
key = RunKey.inherited()
assert KEY_VARIABLE not in os.environ
assert key.reveal() not in open("/proc/self/environ", "rb").read()
assert key.reveal().hex().encode() not in open("/proc/self/environ", "rb").read()
try:
    RunKey.inherited()
except ConfigError as error:
    print(error)
sys.stdout.buffer.write(key.reveal())
"""


def test_a_child_reads_the_key_once_from_a_descriptor() -> None:
    key = RunKey.create()
    with key.lent() as loan:
        done = subprocess.run(
            [sys.executable, "-c", CHILD],
            env={**os.environ, **loan.environment},
            pass_fds=loan.fds,
            capture_output=True,
            check=True,
        )
        assert KEY_VARIABLE not in os.environ
    assert done.stdout.startswith(b"no run key: OPENRAL_RUN_KEY_FD is not set")
    assert done.stdout.endswith(key.reveal())


@pytest.mark.parametrize("named", ["", "x", "9999"])
def test_a_wrong_descriptor_is_an_error_that_says_so(
    named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, named)
    with pytest.raises(ConfigError, match=f"descriptor '{named}'"):
        RunKey.inherited()


@given(chunks, st.integers(0, 2**31 * 10**9 - 1), st.integers(0, 2**64 - 1), st.text(max_size=20))
def test_the_head_of_a_candidate_is_read_without_decoding(
    made: Any, stamp: int, sequence: int, frame: str
) -> None:
    time = types.new("builtin_interfaces/msg/Time", sec=stamp // 10**9, nanosec=stamp % 10**9)
    made.header = types.new("std_msgs/msg/Header", stamp=time, frame_id=frame)
    made.sequence, made.trace_id = sequence, np.arange(16, dtype=np.uint8)
    head = candidate_head(types.encode(made))
    assert (head.stamp_ns, head.sequence, head.trace_id) == (stamp, sequence, bytes(range(16)))


@given(st.binary(max_size=64))
def test_the_head_of_noise_is_none_or_something(noise: bytes) -> None:
    assert candidate_head(b"\x00\x01\x00\x00" + noise).stamp_ns is not None
    assert candidate_head(noise[:20]) is NO_HEAD or len(noise) > 12


@given(st.lists(st.floats(0, 0.5), max_size=200), st.floats(1, 100), st.integers(1, 10))
def test_no_window_lets_more_pass_than_burst_and_rate(
    gaps: list[float], rate: float, burst: int
) -> None:
    limit, now, passed = FairLimit(rate, burst), 10.0, 0
    for gap in gaps:
        now += gap
        passed += limit.allow(now, 1)
    assert passed <= burst + sum(gaps) * rate + 1e-6
    assert passed + limit.refused == len(gaps)


@settings(deadline=None, max_examples=10)
@given(st.integers(1, 5), st.integers(0, 3))
def test_who_floods_takes_nothing_from_others(floods: int, first_s: int) -> None:
    limit = FairLimit(400.0, 20)
    passed = dict.fromkeys(range(floods + 1), 0)
    for step in range(5000 * 4):
        now = 10.0 + step / 5000
        for source in range(1, floods + 1):
            passed[source] += limit.allow(now, source)
        if step % 250 == 0 and step >= 5000 * first_s:
            assert limit.allow(now, 0), "a proposal of somebody who speaks now and then"
    assert sum(passed.values()) <= 2 * (400.0 * 4 + 20)
    assert min(passed[source] for source in range(1, floods + 1)) > 0.5 * 400 * 4 / (floods + 1)
