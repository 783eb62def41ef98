"""Judges candidates for the kernel node and monitors the chunks that it has accepted."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from openral import tracing
from openral.errors import CorruptMessage
from openral.ros.clock import NS
from openral.ros.codec import types
from openral.ros.node.publisher import Publisher
from openral.safety.kernel import Gate, Verdict
from openral.safety.node.candidate import NO_HEAD, CandidateHead, FairLimit, candidate_head
from openral.safety.node.running_chunk import RunningChunk
from openral.safety.node.safety_status import Mode
from openral.safety.node.traced_check import trace_check
from openral.safety.node.verdict_message import (
    ACCEPTED,
    DROPPED,
    REJECTED,
    SLOWED,
    Decision,
    verdict_message,
)

if TYPE_CHECKING:
    from openral.safety.node.kernel_node import SafetyKernelNode

_BURST = 20
_AHEAD_NS = 50_000_000
"""How far a proposer's clock may be ahead of this node's."""
_CHECKS_PER_PROOF = 3
_EXECUTING = 1
"""The state's value in HalState."""


class Judge:
    """Turns the bytes of a candidate into a SafeAction, a drop or a stop."""

    def __init__(
        self, node: SafetyKernelNode, safe: Publisher, verdicts: Publisher, refusals: Publisher
    ) -> None:
        self._node = node
        self._kernel = node.kernel
        self._settings = node.settings
        self._safe, self._verdicts, self._refusals = safe, verdicts, refusals
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
        running, stamp = self._running, hal.header.stamp
        if running is None:
            return
        mine = hal.epoch == self._node.seal.epoch and hal.sequence == running.sequence
        held = self._held_ns is not None and stamp.sec * NS + stamp.nanosec > self._held_ns
        if hal.state != _EXECUTING and (mine or held):  # it has ended
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
        status = self._node.status
        if not self._limit.allow(self._node.steady(), source):
            status.dropped += 1
            return
        began = time.perf_counter_ns()
        now = self._node.now()
        head = candidate_head(payload)
        if unfit := self._unfit(head, now):
            decision = Decision(DROPPED, *unfit, None, (time.perf_counter_ns() - began) / NS)
        else:
            verdict = self._kernel.validate_bytes(payload, now)
            decision = self._decide(verdict, payload, head, now, began)
            if status.mode is Mode.RECOVERY and self._kernel.gate is Gate.READY:
                self._node.recovered()
        self._tell(decision, head, payload, now)
        if tracing.enabled():
            spent = time.perf_counter_ns() - began
            trace_check(decision, head.trace_id, spent, self._node.inputs.clearance())

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
            if reason == "estopped" and self._node.status.mode is Mode.IDLE:
                reason = "not_armed"
            status = REJECTED if verdict.latched else DROPPED
            return Decision(status, reason, str(verdict), verdict, spent)
        running = None
        action = self._kernel.action(payload, verdict)
        if not verdict.whole:
            try:
                running = RunningChunk(action, self._node.seal.sequence + 1, now, verdict.valid_ns)
            except (CorruptMessage, ValueError) as error:
                self._kernel.estop("malformed")
                return Decision(REJECTED, "malformed", str(error), verdict, spent)
        sealed = self._node.seal.seal(action, now, self._expires(now), verdict.speed_factor)
        self._safe.publish_bytes(sealed)
        self._follow(running, head)
        if verdict.status != "accepted":  # warn_only: a finding does not refuse
            return Decision(ACCEPTED, verdict.status, str(verdict), verdict, spent)
        if verdict.speed_factor < 1.0:
            return Decision(SLOWED, "slowed", str(verdict), verdict, spent)
        return Decision(ACCEPTED, "clear", "", verdict, spent)

    def _expires(self, now: int) -> int:
        return now + round(self._settings.start_within_s * NS)

    def _follow(self, running: RunningChunk | None, head: CandidateHead) -> None:
        self.forget()
        if running is not None and not running.proven_to_the_end:
            self._running, self._running_head = running, head
            self._timer.reset()

    def _tell(self, decision: Decision, head: CandidateHead, payload: bytes, now: int) -> None:
        status = self._node.status
        recovering = status.mode is Mode.RECOVERY
        if decision.status in (ACCEPTED, SLOWED):
            status.accepted += 1
        elif decision.status == REJECTED:
            status.rejected += 1
            self._node.stop("kernel", decision.reason, decision.detail)
        else:
            status.dropped += 1
        self._verdicts.publish(lambda: self._message(decision, head, payload, now))
        if decision.status == REJECTED:
            self._refusals.publish(self._message(decision, head, payload, now))
            trace_id, detail = head.trace_id, decision.detail
            self._node.report_stop(decision.reason, detail, payload, trace_id, recovering, now)
        elif decision.status == DROPPED or (decision.status == ACCEPTED and decision.detail):
            self._node.report_drop(decision.reason, decision.detail, head.trace_id)

    def _message(self, decision: Decision, head: CandidateHead, payload: bytes, now: int) -> Any:
        warn_only, place_of = self._settings.warn_only, self._node.inputs.place_of
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
                decision = Decision(REJECTED, verdict.status, detail, verdict, 0.0)
                self._refusals.publish(self._message(decision, head, data, now))
            elif not verdict.accepted or self._held_ns is not None:
                self._hold(verdict.status, detail, now)
            else:
                running.renew(now, verdict.valid_ns)

    def _hold(self, reason: str, detail: str, now: int) -> None:
        """Commands the HAL to hold while the proof lasts; one that does not confirm is stopped."""
        head = self._running_head
        self._safe.publish_bytes(self._node.seal.seal_hold(now, self._expires(now), head.trace_id))
        if self._held_ns is None:
            self._held_ns = now
            self._node.report_drop(reason, detail, head.trace_id)

    def _end(self, reason: str, detail: str, payload: bytes, now: int) -> None:
        trace_id = self._running_head.trace_id
        recovering = self._node.status.mode is Mode.RECOVERY
        self._node.stop("kernel", reason, detail)
        self._node.report_stop(reason, detail, payload, trace_id, recovering, now)
