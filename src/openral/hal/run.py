"""Runs a HAL: on a simulation's thread, in lock-step, or on its hardware's own thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from openral.errors import CapabilityMismatch
from openral.hal.drivers.streamed import StreamedHAL
from openral.hal.parameters import HalParameters
from openral.hal.protocols import HAL, Steppable
from openral.hal.sim.attached import SimAttachedHAL
from openral.hal.sim.loop import SimLoop
from openral.hal.snapshot import Snapshot

OnTick = Callable[[Snapshot], None]
MayStep = Callable[[Snapshot], bool]


class HalRun(Protocol):
    """Connects a HAL, calls `on_tick` for each of its measurements, and closes it."""

    def start(self) -> None:
        """Connects; raises if that fails."""

    def stop(self) -> None:
        """Closes; harmless the second time."""

    @property
    def broken(self) -> str:
        """The error that ended it; empty if none did."""

    @property
    def real_time_factor(self) -> float:
        """Simulated seconds per second; 1 for hardware."""


class SimRun:
    """Steps a simulation on a thread of its own."""

    def __init__(self, hal: SimAttachedHAL, rtf: float, on_tick: OnTick, may_step: MayStep) -> None:
        self._loop = SimLoop(hal, rtf or None, on_tick, may_step)

    def start(self) -> None:
        """See HalRun."""
        self._loop.start()

    def stop(self) -> None:
        """See HalRun."""
        self._loop.stop()

    @property
    def broken(self) -> str:
        """See HalRun."""
        return "" if self._loop.error is None else repr(self._loop.error)

    @property
    def real_time_factor(self) -> float:
        """See HalRun."""
        return self._loop.real_time_factor


class LockstepHalRun:
    """Steps a simulation on the caller's thread: time stands still between calls of `tick`."""

    broken = ""
    real_time_factor = 1.0

    def __init__(self, hal: SimAttachedHAL, on_tick: OnTick) -> None:
        self._hal, self._on_tick = hal, on_tick

    def start(self) -> None:
        """See HalRun."""
        self._hal.connect()

    def tick(self) -> None:
        """Advances one step; whether it is idle depends only on the commands before it."""
        self._hal.serve()
        if self._hal.last_action_ns is None and self._hal.idle_step():
            self._on_tick(self._hal.read_state())
            return
        self._hal.step()
        self._on_tick(self._hal.read_state())

    def stop(self) -> None:
        """See HalRun."""
        self._hal.close()


class HardwareRun:
    """Runs a HAL that measures on a thread of its own."""

    broken = ""
    real_time_factor = 1.0

    def __init__(self, hal: StreamedHAL, on_tick: OnTick) -> None:
        self._hal, self._on_tick = hal, on_tick

    def start(self) -> None:
        """See HalRun."""
        self._hal.on_tick = self._on_tick
        self._hal.connect()

    def stop(self) -> None:
        """See HalRun."""
        self._hal.close()
        self._hal.on_tick = None


def make_run(hal: HAL, settings: HalParameters, on_tick: OnTick, may_step: MayStep) -> HalRun:
    """The run that fits the HAL and the settings.

    `may_step`: whether a simulation may advance from a snapshot; not used for hardware.
    """
    if isinstance(hal, SimAttachedHAL):
        if settings.lockstep:
            return LockstepHalRun(hal, on_tick)
        return SimRun(hal, settings.rtf, on_tick, may_step)
    if isinstance(hal, StreamedHAL):
        return HardwareRun(hal, on_tick)
    kind = "a simulation" if isinstance(hal, Steppable) else "hardware"
    raise CapabilityMismatch(
        f"{type(hal).__name__} of '{hal.robot.id}' is {kind} that the node cannot run; "
        "valid: SimAttachedHAL and StreamedHAL, or classes of them"
    )
