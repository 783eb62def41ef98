"""Judges candidates for the kernel node and monitors the chunks that it has accepted."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from openral import tracing
from openral.errors import CorruptMessage
from openral.graph.seal import Seal
from openral.graph.states import HalStatus, SafetyMode, VerdictStatus
from openral.ros.clock import NS, Clock
from openral.ros.codec import types
from openral.ros.node.publisher import Publisher
from openral.ros.node.timer import Timer
from openral.ros.stamps import stamp_ns
from openral.safety.kernel import Gate, Kernel, Verdict
from openral.safety.node.candidate import NO_HEAD, CandidateHead, FairLimit, candidate_head
from openral.safety.node.kernel_inputs import KernelInputs
from openral.safety.node.parameters import KernelParameters
from openral.safety.node.running_chunk import RunningChunk
from openral.safety.node.safety_status import SafetyStatus
from openral.safety.node.verdict_message import Decision, trace_check, verdict_message

_BURST = 20
_AHEAD_NS = 50_000_000
"""How far a proposer's clock may be ahead of this node's."""
_CHECKS_PER_PROOF = 3


class JudgeOwner(Protocol):
    """What a judge asks of its node, and what it reports to it."""

    @property
    def clock(self) -> Clock:
        """The graph's time."""

    @property
    def clock_stall_s(self) -> float:
        """Wall time without a new /clock after which simulated time counts as stalled."""

    def now(self) -> int:
        """The graph's time in nanoseconds."""

    def steady(self) -> float:
        """Timeout clock in seconds."""

    def create_timer(self, period_s: float, callback: Callable[[], None]) -> Timer:
        """Calls back every period of the graph's time."""

    def destroy_timer(self, timer: Timer) -> None:
        """Ends a timer."""

    def stop(self, source: str, reason: str, detail: str) -> bool:
        """Latches the e-stop and publishes it."""

    def recovered(self) -> None:
        """The robot is outside the margin again."""

    def report_stop(
        self,
        reason: str,
        detail: str,
        payload: bytes,
        trace_id: bytes,
        recovering: bool,
        judged_ns: int,
    ) -> None:
        """Publishes why motion was stopped, with its evidence."""

    def report_drop(self, reason: str, detail: str, trace_id: bytes) -> None:
        """Publishes why motion is dropped."""


@dataclass(frozen=True)
class Outputs:
    """Where a judge publishes."""

    safe: Publisher
    verdicts: Publisher
    refusals: Publisher


class Judge:
    """Turns the bytes of a candidate into a SafeAction, a drop or a stop."""

    def __init__(
        self,
        node: JudgeOwner,
        kernel: Kernel,
        settings: KernelParameters,
        inputs: KernelInputs,
        status: SafetyStatus,
        seal: Seal,
        outputs: Outputs,
    ) -> None:
        self._node, self._settings, self._inputs = node, settings, inputs
        self._kernel, self._status, self._seal = kernel, status, seal
        self._outputs = outputs
        self._limit = FairLimit(self._settings.max_candidates_hz, _BURST)
        self._running: RunningChunk | None = None
        self._running_head = NO_HEAD
        self._held_ns: int | None = None
        """When the HAL was commanded to end the running chunk, in ns of graph time."""
        period = self._kernel.robot.safety.recheck_s / _CHECKS_PER_PROOF
        self._timer = node.create_timer(period, self._recheck)
        self._timer.cancel()

    @property
    def flooded(self) -> int:
        """Number of candidates that were dropped unread because of the rate limit."""
        return self._limit.refused

    def close(self) -> None:
        """Destroys its timer."""
        self._node.destroy_timer(self._timer)

    def forget(self) -> None:
        """Stops monitoring the running chunk."""
        self._running = self._held_ns = None
        self._timer.cancel()

    def heard(self, hal: Any) -> None:
        """Takes a HalState: progress or the end of the running chunk."""
        running = self._running
        if running is None:
            return
        mine = hal.epoch == self._seal.epoch and hal.sequence == running.sequence
        held = self._held_ns is not None and stamp_ns(hal) > self._held_ns
        if hal.state != HalStatus.EXECUTING and (mine or held):  # it has ended
            self.forget()
        elif mine:
            running.heard(hal)

    def clock_fault(self) -> str:
        """Why the graph's time cannot be relied on; empty if it can."""
        simulated = self._node.clock.simulated
        if simulated is None:
            return ""
        if not simulated.ready:
            return "simulated time was never heard"
        silent = 0.0 if self._settings.lockstep else simulated.silent_for_s()
        if silent > self._node.clock_stall_s:
            return f"simulated time has stood still for {silent:.1f} s"
        return ""

    def take(self, payload: bytes, source: int = 0) -> None:
        """Handles one candidate, a CDR; `source` identifies its publisher."""
        status = self._status
        if not self._limit.allow(self._node.steady(), source):
            status.dropped += 1
            return
        began = time.perf_counter_ns()
        now = self._node.now()
        head = candidate_head(payload)
        if unfit := self._unfit(head, now):
            decision = Decision(
                VerdictStatus.DROPPED, *unfit, None, (time.perf_counter_ns() - began) / NS
            )
        else:
            verdict = self._kernel.validate_bytes(payload, now)
            decision = self._decide(verdict, payload, head, now, began)
            if status.mode is SafetyMode.RECOVERY and self._kernel.gate is Gate.READY:
                self._node.recovered()
        self._tell(decision, head, payload, now)
        if tracing.enabled():
            spent = time.perf_counter_ns() - began
            trace_check(decision, head.trace_id, spent, self._inputs.clearance())

    def _unfit(self, head: CandidateHead, now: int) -> tuple[str, str] | None:
        if fault := self.clock_fault():
            return "clock_stalled", fault
        age = now - head.stamp_ns
        limit = self._settings.candidate_max_age_s
        # Bytes that are no chunk at all are left for the kernel to refuse.
        if head is not NO_HEAD and not -_AHEAD_NS <= age <= limit * NS:
            return "candidate_stale", f"proposed {age / NS:.3f} s ago (limit {limit:g} s)"
        return None

    def _decide(
        self, verdict: Verdict, payload: bytes, head: CandidateHead, now: int, began: int
    ) -> Decision:
        spent = (time.perf_counter_ns() - began) / NS
        if not verdict.accepted:
            reason = verdict.status
            if reason == "estopped" and self._status.mode is SafetyMode.IDLE:
                reason = "not_armed"
            status = VerdictStatus.REJECTED if verdict.latched else VerdictStatus.DROPPED
            return Decision(status, reason, str(verdict), verdict, spent)
        running = None
        action = self._kernel.action(payload, verdict)
        if not verdict.whole:
            try:
                running = RunningChunk(action, self._seal.sequence + 1, now, verdict.valid_ns)
            except (CorruptMessage, ValueError) as error:
                self._kernel.estop("malformed")
                return Decision(VerdictStatus.REJECTED, "malformed", str(error), verdict, spent)
        sealed = self._seal.seal(action, now, self._expires(now), verdict.speed_factor)
        self._outputs.safe.publish_bytes(sealed)
        self._follow(running, head)
        if verdict.status != "accepted":  # warn_only: a finding does not refuse
            return Decision(VerdictStatus.ACCEPTED, verdict.status, str(verdict), verdict, spent)
        if verdict.speed_factor < 1.0:
            return Decision(VerdictStatus.SLOWED, "slowed", str(verdict), verdict, spent)
        return Decision(VerdictStatus.ACCEPTED, "clear", "", verdict, spent)

    def _expires(self, now: int) -> int:
        return now + round(self._settings.start_within_s * NS)

    def _follow(self, running: RunningChunk | None, head: CandidateHead) -> None:
        self.forget()
        if running is not None and not running.proven_to_the_end:
            self._running, self._running_head = running, head
            self._timer.reset()

    def _tell(self, decision: Decision, head: CandidateHead, payload: bytes, now: int) -> None:
        status = self._status
        recovering = status.mode is SafetyMode.RECOVERY
        if decision.status in (VerdictStatus.ACCEPTED, VerdictStatus.SLOWED):
            status.accepted += 1
        elif decision.status == VerdictStatus.REJECTED:
            status.rejected += 1
            self._node.stop("kernel", decision.reason, decision.detail)
        else:
            status.dropped += 1
        self._outputs.verdicts.publish(lambda: self._message(decision, head, payload, now))
        if decision.status == VerdictStatus.REJECTED:
            self._outputs.refusals.publish(self._message(decision, head, payload, now))
            trace_id, detail = head.trace_id, decision.detail
            self._node.report_stop(decision.reason, detail, payload, trace_id, recovering, now)
        elif decision.status == VerdictStatus.DROPPED or (
            decision.status == VerdictStatus.ACCEPTED and decision.detail
        ):
            self._node.report_drop(decision.reason, decision.detail, head.trace_id)

    def _message(self, decision: Decision, head: CandidateHead, payload: bytes, now: int) -> Any:
        warn_only, place_of = self._settings.warn_only, self._inputs.place_of
        return verdict_message(decision, head, payload, now, warn_only, place_of)

    def look_at_clock(self) -> None:
        """Stops a running chunk on a clock fault: a stalled clock must not prolong its proof.

        Call it often, in wall time.
        """
        if self._running is not None and (fault := self.clock_fault()):
            self._end("clock_stalled", fault, self._running.payload, self._node.now())

    def _recheck(self) -> None:
        """Judges what is left of the running chunk from the latest measured state."""
        running = self._running
        if running is None:
            return
        now = self._node.now()
        left = running.remainder(now)
        if running.overran(now):
            late = (now - running.proven_until_ns) / NS
            detail = f"the proof of a running motion ended {late:.3f} s ago"
            self._end("recheck_late", detail, running.payload, now)
        elif left is None:
            self.forget()
        else:
            verdict = self._kernel.validate(left, now)
            detail = f"while the motion was under way: {verdict}"
            if not verdict.accepted and verdict.latched:
                head, data = self._running_head, types.encode(left)
                self._end(verdict.status, detail, data, now)
                decision = Decision(VerdictStatus.REJECTED, verdict.status, detail, verdict, 0.0)
                self._outputs.refusals.publish(self._message(decision, head, data, now))
            elif not verdict.accepted or self._held_ns is not None:
                self._hold(verdict.status, detail, now)
            else:
                running.renew(now, verdict.valid_ns)

    def _hold(self, reason: str, detail: str, now: int) -> None:
        """Commands the HAL to hold while the proof lasts; one that does not confirm is stopped."""
        head = self._running_head
        self._outputs.safe.publish_bytes(
            self._seal.seal_hold(now, self._expires(now), head.trace_id)
        )
        if self._held_ns is None:
            self._held_ns = now
            self._node.report_drop(reason, detail, head.trace_id)

    def _end(self, reason: str, detail: str, payload: bytes, now: int) -> None:
        trace_id = self._running_head.trace_id
        recovering = self._status.mode is SafetyMode.RECOVERY
        self._node.stop("kernel", reason, detail)
        self._node.report_stop(reason, detail, payload, trace_id, recovering, now)
