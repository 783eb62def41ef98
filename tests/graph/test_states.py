"""The names for states and kinds stand for the numbers that the messages define."""

from __future__ import annotations

from enum import IntEnum

import pytest

from openral.graph import states
from openral.ros import msg
from openral.ros.codec.types import Message

HOMES = {
    states.SafetyMode: msg.SafetyState,
    states.VerdictStatus: msg.Verdict,
    states.HalStatus: msg.HalState,
    states.Severity: msg.FailureTrigger,
    states.SensorState: msg.SensorHealth,
    states.PrimitiveShape: msg.CollisionPrimitive,
    states.VoxelEncoding: msg.OccupancyVoxels,
}


def test_every_enum_has_its_message() -> None:
    enums = {v for v in vars(states).values() if isinstance(v, type) and issubclass(v, IntEnum)}
    assert enums - {IntEnum} == set(HOMES)


@pytest.mark.parametrize(("kind", "message"), HOMES.items())
def test_an_enum_holds_the_constants_of_its_message(
    kind: type[IntEnum], message: type[Message]
) -> None:
    constants = {name: value for name, _, value in message.__definition__.constants}
    assert {member.name: member.value for member in kind} == constants
