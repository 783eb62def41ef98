"""A sealed topic takes nothing but its owner's messages, each once and in order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from openral.graph.run_key import RunKey
from openral.graph.sealed import Opener, Sealer, sealed_topic

TOPIC = "/joint_states"
payloads = st.binary(max_size=300)


@given(st.lists(payloads, min_size=1, max_size=8))
def test_messages_come_through_unchanged_and_once(sent: list[bytes]) -> None:
    key = RunKey.create()
    sealer, opener = Sealer(key, TOPIC), Opener(key, TOPIC)
    sealed = [sealer.seal(payload) for payload in sent]
    assert [opener.open(message) for message in sealed] == sent
    assert [opener.open(message) for message in sealed] == [None] * len(sent)
    assert (opener.refused, opener.unsealed) == (len(sent), 0)


@given(payloads, st.data())
def test_a_message_that_was_changed_is_refused(payload: bytes, data: st.DataObject) -> None:
    key = RunKey.create()
    sealed = Sealer(key, TOPIC).seal(payload)
    at = data.draw(st.integers(0, len(sealed) - 1))
    bit = data.draw(st.integers(0, 7))
    changed = sealed[:at] + bytes([sealed[at] ^ 1 << bit]) + sealed[at + 1 :]
    opener = Opener(key, TOPIC)
    assert opener.open(changed) is None
    assert opener.unsealed == 1
    cut = data.draw(st.integers(0, len(sealed) - 1))
    assert Opener(key, TOPIC).open(sealed[:cut]) is None
    assert Opener(key, TOPIC).open(sealed + b"\0\0\0\0") is None


@given(st.binary(max_size=400))
def test_no_bytes_make_it_raise(rubbish: bytes) -> None:
    assert Opener(RunKey.create(), TOPIC).open(rubbish) is None


@given(payloads)
def test_another_key_another_topic_or_an_overtaken_message_is_refused(payload: bytes) -> None:
    key = RunKey.create()
    sealer = Sealer(key, TOPIC)
    first, second = sealer.seal(payload), sealer.seal(payload)
    assert Opener(RunKey.create(), TOPIC).open(first) is None
    assert Opener(key, "/odom").open(first) is None
    opener = Opener(key, TOPIC)
    assert opener.open(second) == payload
    assert opener.open(first) is None, "overtaken"


def test_sealed_topics_are_hidden() -> None:
    assert sealed_topic("/joint_states") == "/openral/_sealed/joint_states"
    assert sealed_topic("/openral/safety_state") == "/openral/_sealed/safety_state"
