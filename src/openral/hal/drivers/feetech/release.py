"""Switches an arm's torque off without dropping it: the last step of the HAL and of its guardian.

Torque limits are ramped down to zero, so that the arm sinks slowly against its gears' friction;
then torque is switched off and read back, and the limits return to their power-up values.
Uses the bus only, so that the guardian can do it when the owner is gone.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from openral.errors import ServoSilent, TransportError
from openral.hal.drivers.feetech.bus import Bus
from openral.hal.drivers.feetech.registers import (
    MAX_TORQUE,
    TORQUE_ENABLE,
    TORQUE_FULL,
    TORQUE_LIMIT,
    Register,
)

_STEPS = 20


def release(bus: Bus, servos: Sequence[int], ramp_seconds: float) -> None:
    """Ramps the torque down and switches it off; TransportError if a servo does not confirm.

    A servo that does not respond does not keep the others from being switched off.
    """
    limits = {servo: _value(bus, servo, TORQUE_LIMIT, TORQUE_FULL) for servo in servos}
    if ramp_seconds > 0:
        for step in range(_STEPS - 1, 0, -1):
            share = step / _STEPS
            bus.sync_write(TORQUE_LIMIT, {s: int(limit * share) for s, limit in limits.items()})
            time.sleep(ramp_seconds / _STEPS)
    on = torque_off(bus, servos)
    off = [servo for servo in servos if servo not in on]
    bus.sync_write(TORQUE_LIMIT, {s: _value(bus, s, MAX_TORQUE, TORQUE_FULL) for s in off})
    if on:
        raise TransportError(
            f"{bus.port.name}: could not confirm torque off on servos "
            f"{', '.join(map(str, on))}; cut the arm's power"
        )


def torque_off(bus: Bus, servos: Sequence[int]) -> list[int]:
    """Switches torque off on all servos; returns those that did not confirm it."""
    left = list(servos)
    for _ in range(bus.attempts):
        bus.sync_write(TORQUE_ENABLE, dict.fromkeys(left, 0))
        left = [servo for servo in left if not _is_off(bus, servo)]
        if not left:
            break
    return left


def _is_off(bus: Bus, servo: int) -> bool:
    return _value(bus, servo, TORQUE_ENABLE, 1) == 0


def _value(bus: Bus, servo: int, register: Register, otherwise: int) -> int:
    try:
        return bus.get(servo, register)
    except ServoSilent:
        return otherwise
