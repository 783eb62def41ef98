"""KernelWatch: monitors the kernel's heartbeat; stops the robot on its command or its silence.

The kernel is trusted only if its first heartbeat was unarmed, and until a heartbeat is missing: one
that returns from a silence still armed cannot move the robot before an operator has reset it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

from openral.errors import OpenralError, TransportError
from openral.graph import topics
from openral.graph.ports import Ports
from openral.graph.states import HalStatus, SafetyMode
from openral.hal.gate.hal_state import GateRecord
from openral.hal.graph_time import GraphTime
from openral.hal.protocols import HAL
from openral.ros import msg
from openral.ros.stamps import time_message

CHECK_S = 0.005
_ATTENTIVE_S = 0.03
"""Longest part of a gap between checks that counts as silence: during a longer gap this thread
itself may have slept while a heartbeat arrived, which it receives right afterwards."""
_ASLEEP_S = 0.25
"""A gap between checks from which on this node itself counts as stalled."""
_AGAIN_S = 0.1
"""Period at which an event, or a stop without effect, is repeated."""
_CLEARED_S = 0.5
"""How long after a reset a measurement may still show the previous stop."""
_ARMED = (SafetyMode.ARMED, SafetyMode.RECOVERY)


class KernelWatch:
    """Decides whether the robot may move; everything here runs on the executor's thread."""

    def __init__(
        self,
        hal: HAL,
        clock: GraphTime,
        record: GateRecord,
        patience_s: float | None,
        report: Callable[[str, str], None],
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        """`patience_s`: longest silence of the kernel; None: it runs in lock-step with this node.

        If it is longer than the gap allowed between checks on a robot, simulated time waits for the
        kernel, and delays of this node do no harm. `steady`: timeout clock in s.
        """
        self._steady = steady
        self._hal, self._clock, self._record = hal, clock, record
        self._patience_s, self._report = patience_s, report
        self._asleep_s = max(_ASLEEP_S, patience_s or 0.0)
        self.on_stop: Callable[[], None] = lambda: None
        """Called when a stop has been applied."""
        self.longest_silence_s = 0.0
        """Longest silence between two heartbeats, in s."""
        self._place = (0, 0)
        self._mode: SafetyMode | None = None
        self._distrusted = ""
        self._own_event: Any = None
        self._asked = False
        """Whether a stop was requested that the kernel has not confirmed."""
        self._silent_s = self._checked_s = self._beat_s = 0.0
        self._event_s = self._stop_s = self._cleared_s = float("-inf")

    @property
    def summary(self) -> str:
        """The kernel's mode, or why it is not trusted."""
        if self._distrusted:
            return self._distrusted
        return "not heard" if self._mode is None else self._mode.name.lower()

    def open(self, ports: Ports) -> None:
        """Subscribes; nothing received before counts."""
        self._mode, self._distrusted = None, ""
        kind = "openral_msgs/msg/EStopEvent"
        self._events = ports.publisher(kind, topics.ESTOP, topics.COMMAND)
        ports.subscribe_sealed(
            "openral_msgs/msg/SafetyState", topics.SAFETY_STATE, self.heard, topics.LATCHED
        )
        ports.subscribe(kind, topics.ESTOP, self._on_event, topics.COMMAND)
        self._checked_s = self._beat_s = self._steady()
        if self._patience_s is not None:
            ports.wall_timer(CHECK_S, self.check)

    def may_move(self) -> bool:
        """Whether the kernel is alive, armed and trusted; checks for silence first."""
        self.check()
        return self._armed

    @property
    def _armed(self) -> bool:
        return self._mode in _ARMED and not self._distrusted

    def heard(self, state: Any) -> None:
        """Takes a heartbeat; one that is not newer than the last is ignored."""
        place = (int(state.epoch), int(state.beat))
        if place <= self._place:
            return
        self.check()
        could, before = self._armed, self._mode
        restarted = before is not None and place[0] != self._place[0]
        if not restarted and before is not None:
            self.longest_silence_s = max(self.longest_silence_s, self._silent_s)
        self._place, self._silent_s, self._mode = place, 0.0, SafetyMode(state.state)
        self._beat_s = self._checked_s
        if self._mode in (SafetyMode.ESTOPPED, SafetyMode.IDLE):
            self._asked = False
        if self._mode is SafetyMode.ESTOPPED:
            self._distrusted = ""
            fresh = before is not SafetyMode.ESTOPPED
            if self._stop(f"{state.source}: {state.reason}", fresh):
                self._record.stop_epoch, self._record.stop_beat = place
                if fresh:
                    self.on_stop()
        elif self._mode is SafetyMode.IDLE:
            self._distrusted = ""
            if could:
                self._hal.hold("kernel restarted" if restarted else "kernel idle")
        elif restarted or before is None:
            # It was not armed for the state in which this node has found the robot.
            self._distrust("kernel_unknown", "the kernel was armed when it was first heard")
        elif not self._distrusted:
            self._follow(before)
        if self._distrusted and self._mode in _ARMED:
            self._tell(self._distrusted)

    def _follow(self, before: SafetyMode | None) -> None:
        """Clears the stop after a reset: the kernel is armed and trusted."""
        if not self._stopped:
            return
        now = self._steady()
        if before in _ARMED:
            if now - self._cleared_s > _CLEARED_S:
                self.fault("hal_stopped", "the robot has stopped by itself")
            return
        self._cleared_s = now
        try:
            self._hal.clear_estop()
        except OpenralError as error:
            self.fault("clear_failed", str(error))

    def check(self) -> None:
        """Detects silence of the kernel and stalls of this thread itself; call it often."""
        now = self._steady()
        asleep, self._checked_s = now - self._checked_s, now
        self._silent_s += min(asleep, _ATTENTIVE_S)
        if not self._armed or self._patience_s is None:
            return
        if asleep > self._asleep_s:
            self.fault("hal_asleep", f"this node stood still for {asleep * 1e3:.0f} ms")
            return
        silent_s = now - self._beat_s
        # A thread that wakes rarely counts too little silence per check: limit the time itself.
        overdue = silent_s > self._asleep_s and self._silent_s > _ATTENTIVE_S
        if overdue or self._silent_s > self._patience_s:
            silent = f"{silent_s * 1e3:.0f} ms"
            self.fault("heartbeat_lost", f"no heartbeat of the kernel for {silent}")

    def fault(self, reason: str, detail: str) -> None:
        """Holds position and publishes a stop event: nothing moves before a reset."""
        self._distrust(reason, detail)
        self._tell(reason)

    def _distrust(self, reason: str, detail: str) -> None:
        first, self._distrusted = not self._distrusted, reason
        if first:
            with contextlib.suppress(TransportError):  # a HAL that is gone cannot move the robot
                self._hal.hold(reason)
            self._report(reason, detail)

    def _on_event(self, event: Any) -> None:
        """Takes a stop event: the stop is applied before the kernel confirms it."""
        if event is not self._own_event and self._mode is not SafetyMode.ESTOPPED:
            self._distrusted = self._distrusted or "estop"
            fresh, self._asked = not self._asked, True
            if self._stop(event.source[:80] or "unknown", fresh) and fresh:
                self.on_stop()

    @property
    def _stopped(self) -> bool:
        try:
            return self._hal.read_state().motion.status is HalStatus.STOPPED
        except OpenralError:  # a HAL that cannot measure has not proven its stop
            return False

    def _stop(self, reason: str, fresh: bool) -> bool:
        """Applies a stop, or repeats one that had no effect; returns whether it is in force.

        A fresh stop is always applied: the last measurement may be older than the last reset.
        """
        if not fresh and self._stopped:
            return True
        now = self._steady()
        if not fresh and now - self._stop_s < _AGAIN_S:
            return False
        self._stop_s = now
        try:
            self._hal.estop(reason)
        except OpenralError as error:
            self._report("stop_unconfirmed", str(error))
            return False
        return True

    def _tell(self, reason: str) -> None:
        now = self._steady()
        if now - self._event_s < _AGAIN_S:
            return
        self._event_s = now
        header = msg.Header(stamp=time_message(self._clock.now()))
        self._own_event = msg.EStopEvent(header=header, source="hal", reason=reason)
        self._events.publish(self._own_event)
