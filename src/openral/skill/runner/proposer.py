"""Proposer: queries a policy ahead of time and proposes its chunks so that motion continues."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from openral import tracing
from openral.errors import PerceptionStale
from openral.graph.deadlines import SILENT_S
from openral.graph.states import VerdictStatus
from openral.manifest import SkillDescription
from openral.manifest.skill import SkillKind
from openral.ros.clock import NS
from openral.skill.policy.host import Answer, PolicyHost
from openral.skill.runner.chunk_maker import ChunkMaker
from openral.skill.runner.goal_order import Ending
from openral.skill.runner.graph import RunnerGraph
from openral.skill.runner.parameters import RunnerParameters
from openral.skill.runner.preemption import PLACES, can_preempt
from openral.skill.runner.proposed_chunk import ProposedChunk
from openral.skill.spaces.action_space import ActionSpace, SlotRows
from openral.skill.spaces.state_vector import StateVector

Vector = NDArray[np.float64]

_NO_VERDICT_S = 1.0
_NOT_APPLIED_S = 0.5
_RETRY_S = 0.1
_THINK_MARGIN = 1.25
_BY_SCENE = ("episode over", "scene reset")
_BY_KERNEL = "kernel"
"""The HAL's reason for a motion that the kernel ended because its proof could not continue."""


class Proposer:
    """The loop of a running skill: observe, infer, propose, track. Polled; it never blocks."""

    def __init__(
        self,
        graph: RunnerGraph,
        settings: RunnerParameters,
        skill: SkillDescription,
        space: ActionSpace,
        state: StateVector,
        cameras: Sequence[str],
        policy: PolicyHost,
        maker: ChunkMaker,
    ) -> None:
        self._graph, self._settings, self._skill = graph, settings, skill
        self._space, self._state, self._cameras = space, state, cameras
        self._policy, self._maker = policy, maker
        self._lead_s = 0.0 if graph.inline else settings.lead_s
        self._answer_s = skill.timeout_s or settings.answer_timeout_s
        if graph.time_waits:  # a busy machine alone must not fail a policy
            self._answer_s = max(self._answer_s, SILENT_S)
        self.flight: ProposedChunk | None = None
        """The chunk proposed last, while it is pending or in execution."""
        self._previous: ProposedChunk | None = None
        self.chunks = self.refused = 0
        self.last_verdict = ""
        self.policy_s = 0.0
        self.trace_id = bytes(16)
        self.moved = False
        """Whether a row was ever applied."""
        self._asked = self._outdated = False
        self._began_ns: int | None = None
        self._next: list[SlotRows] | None = None
        self._told: Vector | None = None
        self._dropped_s: float | None = None
        self._retry_ns = 0.0
        self._blind_s: float | None = None
        self._ended_s: float | None = None

    def forget(self) -> None:
        """Starts over: discards all proposals and pending requests."""
        self._ended_s = None
        self._outdated = self._asked
        self.flight = self._previous = self._next = self._told = self._dropped_s = None

    def poll(self) -> Ending | None:
        """Does what is due; returns how the skill ended, None while it runs."""
        now = self._graph.now()
        if ended := self._follow(now) or self._stopped():
            return ended
        if self.flight is not None and self.flight.interrupted:
            return None  # by the scene: another topic reports what that means
        if self._next is None and not self._asked and self._due(now, self._think_s()):
            self._ask()
        if self._asked and isinstance(reply := self._policy.poll(), Answer):
            self._asked = False
            self.policy_s = reply.seconds
            if self._outdated:  # the answer is to an outdated observation
                self._outdated = False
                return None
            if reply.rows is None:
                return Ending(True, "done", "the skill says so")
            self._next = self._space.decode(reply.rows, self._from())
        if self._next is not None and self._may_send(self._next, now):
            dt = 1 / self._skill.rate_hz
            self._previous = self.flight
            self.flight = self.send(self._next, dt, self.trace_id, self.policy_s)
        return None

    def send(
        self, slots: list[SlotRows], dt: float, trace_id: bytes, policy_s: float
    ) -> ProposedChunk:
        """Proposes a chunk of slots now, with one row every `dt` seconds."""
        now = self._graph.now()
        chunk = self._maker.chunk(slots, dt, trace_id, now)
        start = self._from()
        steady = self._graph.steady
        flight = ProposedChunk(trace_id, chunk.sequence, slots, dt, start, now, policy_s, steady)
        self.chunks += 1
        with tracing.span(
            "skill.step", trace_id, self._began_ns, skill=self._skill.id, rows=flight.rows
        ):
            self._graph.propose(chunk)
        return flight

    # Internals

    def _think_s(self) -> float:
        """How long before the end of a chunk the policy is queried for the next one, in s.

        A script observes the effect of its last answer first; a policy answers ahead of time.
        """
        ahead = self._lead_s > 0 and self._skill.kind is not SkillKind.SCRIPTED
        return self._lead_s + (_THINK_MARGIN * self.policy_s if ahead else 0.0)

    def _due(self, now: int, ahead_s: float) -> bool:
        flight = self.flight
        if flight is None:
            return True
        return flight.accepted and now >= flight.end_ns - ahead_s * NS

    def _may_send(self, slots: list[SlotRows], now: int) -> bool:
        if now < self._retry_ns or not self._due(now, self._lead_s):
            return False
        if self.flight is None or self._due(now, 0.0):
            return True
        return can_preempt(self.flight, slots, self._graph.robot, now)

    def _ask(self) -> None:
        try:
            seen = self._graph.observer.observe(self._state, self._cameras)
        except PerceptionStale:
            self._blind_s = self._blind_s or self._graph.steady()
            if self._graph.steady() - self._blind_s > self._settings.drop_patience_s:
                raise
            return
        self._blind_s = None
        self.trace_id, self._began_ns = self._maker.trace_id(), time.time_ns()
        self._asked = True
        self._policy.ask(seen, self._answer_s)

    def _from(self) -> Vector:
        """Joint positions at the start of the next chunk: as commanded, else as measured."""
        return self._graph.observer.positions if self._told is None else self._told

    def _follow(self, now: int) -> Ending | None:
        """Checks what became of the chunk proposed last."""
        flight = self.flight
        if flight is None:
            return None
        self.moved = self.moved or flight.rows_applied > 0
        if flight.verdict is None:
            silent = flight.waited_s > _NO_VERDICT_S
            return self._again(flight, "the kernel gave no verdict") if silent else None
        self.last_verdict = str(flight.verdict.reason)
        if flight.verdict.status == VerdictStatus.REJECTED:
            self.refused += 1
            return Ending(False, "refused", str(flight.verdict.detail))
        if not flight.accepted:
            return self._again(flight, f"{flight.verdict.reason}: {flight.verdict.detail}")
        if flight.interrupted == _BY_KERNEL:
            self._held()
            return None
        if flight.interrupted and not self._graph.stopped_by:
            return self._interrupted(flight)
        lost = flight.safe_sequence is None and flight.elapsed_s(now) > _NOT_APPLIED_S
        if lost and not flight.over(now):
            return self._again(flight, "the HAL did not begin an approved motion")
        if self._next is flight.slots:
            self._next = self._dropped_s = None
            self._told = self._ends(flight)
        self._land(self._previous)
        self._previous = None
        if flight.over(now):
            self._land(flight)
            self.flight = None
        return None

    def land(self) -> None:
        """Records the chunks in execution as they are now and stops tracking them."""
        self._land(self._previous)
        self._land(self.flight)
        self.flight = self._previous = None

    def _land(self, flight: ProposedChunk | None) -> None:
        if flight is not None:
            self._graph.record(flight.record(self._graph.now()))

    def _interrupted(self, flight: ProposedChunk) -> Ending | None:
        self._ended_s = self._ended_s or self._graph.steady()
        by_scene = flight.interrupted in _BY_SCENE and self._graph.episode is not None
        if by_scene and self._graph.steady() - self._ended_s < _NO_VERDICT_S:
            return None
        return Ending(False, "interrupted", f"the HAL ended a motion: {flight.interrupted}")

    def _held(self) -> None:
        """The robot holds position partway along the path: the skill is queried again there."""
        self.last_verdict = "held"
        self.land()
        self._next = self._told = None
        self._outdated = self._asked
        self._retry_ns = self._graph.now() + _RETRY_S * NS

    def _again(self, flight: ProposedChunk, why: str) -> Ending | None:
        """Nothing of it was executed: the same rows are proposed again, for `drop_patience_s`."""
        self.refused += 1
        self.land()
        self._next = list(flight.slots)
        self.trace_id = self._maker.trace_id()
        self._dropped_s = self._dropped_s or self._graph.steady()
        self._retry_ns = self._graph.now() + _RETRY_S * NS
        if self._graph.steady() - self._dropped_s > self._settings.drop_patience_s:
            return Ending(False, "refused", f"dropped again and again: {why}")
        return None

    def _ends(self, flight: ProposedChunk) -> Vector:
        """Joint positions at a chunk's end: commanded in position modes, else measured."""
        out = self._graph.observer.positions
        for part in flight.slots:
            if part.mode in PLACES:
                out[list(part.columns.indices)] = part.data[-1]
        return out

    def _stopped(self) -> Ending | None:
        if source := self._graph.stopped_by:
            detail = str(self._graph.safety.detail)
            if source == "kernel":
                flight = self.flight
                if flight and not flight.verdict and flight.waited_s < _NO_VERDICT_S:
                    return None
                return Ending(False, "refused", detail)
            return Ending(False, "estopped", f"{source}: {detail}")
        if unarmed := self._graph.not_armed():
            return Ending(False, "not_armed", unarmed)
        return None
