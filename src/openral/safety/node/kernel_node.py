"""The safety kernel's node: candidates in, sealed SafeActions and the safety state out."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from openral.graph import topics
from openral.graph.deadlines import INPUT_S, SILENT_S
from openral.graph.run_key import RunKey
from openral.graph.seal import Seal
from openral.graph.sealed import SealedPublisher, subscribe_sealed
from openral.graph.states import SafetyMode, Severity
from openral.graph.time_lease import LeaseHolder
from openral.manifest.library import load_robot
from openral.ros.clock import NS, Jump
from openral.ros.lifecycle.machine import Outcome, State
from openral.ros.lifecycle.node import LifecycleNode
from openral.ros.node.node_clock import CLOCK_TYPE
from openral.ros.node.publisher import Publisher
from openral.ros.node.subscription import Subscription
from openral.ros.priority import Urgency
from openral.ros.qos import CLOCK, QoS
from openral.safety.kernel import Kernel
from openral.safety.node.candidate import NO_HEAD
from openral.safety.node.judge import Judge, Outputs
from openral.safety.node.kernel_inputs import KernelInputs
from openral.safety.node.parameters import KernelParameters
from openral.safety.node.safety_status import SafetyStatus
from openral.safety.node.stop_watch import StopWatch
from openral.safety.node.verdict_message import estop_event, failure_message

_REPORT_EVERY_S = 1.0
_LONGEST_TEXT = 300
_STALL_S, _NEVER_S = 2.0, 1e9
_AT_LIMIT_NS = 50_000_000
"""Closer than this to an input's limit, simulated time counts as waiting for that input."""
_CANDIDATES = QoS(depth=200)
"""Deep enough that a proposer that floods does not displace the candidates of others."""


class SafetyKernelNode(LifecycleNode):
    """Starts IDLE and accepts nothing until /openral/reset, also after every restart."""

    def __init__(self, key: RunKey, urgent: bool = False, **options: Any) -> None:
        """`urgent`: while active, the thread that judges requests real-time priority."""
        self._urgency = Urgency(urgent)
        super().__init__("safety_kernel", **options)
        self.settings = KernelParameters.declared(self)
        self._key, self._seal = key, Seal(key, time.time_ns())
        self.clock.take_from(self._sealed_clock)
        self.status = SafetyStatus(self._seal.epoch, self.now(), self.settings.warn_only)
        self._undo: list[Callable[[], None]] = []
        self._undo_active: list[Callable[[], None]] = []
        self._own_event: Any = None
        self._stop_beat = 0
        self._jump: Jump | None = None
        self._reported: dict[str, float] = {}
        self._flooded = 0
        self._lease: LeaseHolder | None = None
        self._given_up: set[str] = set()
        """Inputs that simulated time no longer waits for: it has waited for them in vain."""

    # Life cycle

    def on_configure(self, previous: State) -> Outcome:
        """Makes the kernel and starts the heartbeat, IDLE."""
        settings = self.settings
        settings.check()
        robot = load_robot(settings.robot_yaml)
        self.kernel = Kernel(
            robot,
            requires_world=robot.safety.requires_world or settings.requires_world,
            requires_voxels=robot.safety.requires_voxels or settings.requires_voxels,
            warn_only=settings.warn_only,
            simulated=settings.hal_mode == "sim",
            stall_s=_NEVER_S if settings.lockstep else max(_STALL_S, self.clock_stall_s),
        )
        self.kernel.estop("never armed")
        self._stop_watch = StopWatch(self._seal.epoch, settings.stop_answer_s)
        self.inputs = KernelInputs(
            self, self.kernel, self._key, settings.unknown_blocks, settings.external_map
        )
        self._open()
        outputs = Outputs(self._safe, self._verdicts, self._refusals)
        self.judge = Judge(
            self, self.kernel, settings, self.inputs, self.status, self._seal, outputs
        )
        self._undo += [self.judge.close, self.clock.on_jump(self._on_jump)]
        make = self.create_timer if settings.lockstep else self.create_wall_timer
        beat = make(1 / settings.heartbeat_hz, self._beat)
        self._undo.append(lambda: self.destroy_timer(beat))
        if self.time_waits:
            self._hold_time(1 / settings.heartbeat_hz)
        self._beat()
        if settings.warn_only:
            self.log.warning("WARN ONLY: unsafe motions will be executed", robot=robot.id)
        return Outcome.SUCCESS

    def _hold_time(self, period_s: float) -> None:
        """From now on simulated time waits for this node, whatever the real-time factor."""
        lease = self._lease = LeaseHolder(self, self.settings.lease_s, self._key)
        timer = self.create_timer(period_s, self._extend_lease)
        self._undo += [lease.close, lambda: self.destroy_timer(timer)]

    def _open(self) -> None:
        with self.context.presence.batch_announcements():
            self._safe = self._publisher("SafeAction", topics.SAFE_ACTION, topics.COMMAND)
            self._state_topic = SealedPublisher(
                self._open_publisher,
                self._key,
                "openral_msgs/msg/SafetyState",
                topics.SAFETY_STATE,
                topics.LATCHED,
            )
            self._stop_events = self._publisher("EStopEvent", topics.ESTOP, topics.COMMAND)
            self._failures = self._publisher("FailureTrigger", topics.FAILURE_SAFETY, topics.STATE)
            self._verdicts = self._publisher("Verdict", topics.VERDICT, topics.STATE)
            self._refusals = self._publisher("Verdict", topics.REFUSAL, topics.LATCHED)
            self._subscribe(self._undo, "EStopEvent", topics.ESTOP, self._on_event, topics.COMMAND)
            hal = subscribe_sealed(
                self,
                self._key,
                "openral_msgs/msg/HalState",
                topics.HAL_STATE,
                self._on_hal,
                topics.SENSOR,
            )
            self._undo.append(partial(self.destroy_subscription, hal))
            for kind, name, handler in (
                ("openral_msgs/srv/EStop", topics.ESTOP, self._on_estop),
                ("std_srvs/srv/Trigger", topics.RESET, self._on_reset),
                ("std_srvs/srv/SetBool", topics.RECOVER, self._on_recover),
            ):
                service = self.create_service(kind, name, handler)
                self._undo.append(partial(self.destroy_service, service))

    def on_activate(self, previous: State) -> Outcome:
        """Subscribes to inputs and candidates; still nothing is accepted before a reset."""
        self._urgency.begin()  # also for the input thread: it shares the interpreter
        with self.context.presence.batch_announcements():
            self._undo_active += self.inputs.open()
            candidates = self._subscribe(
                self._undo_active,
                "ActionChunk",
                topics.CANDIDATE,
                lambda payload: self.judge.take(payload, candidates.source),
                _CANDIDATES,
                raw=True,
            )
        return Outcome.SUCCESS

    def on_deactivate(self, previous: State) -> Outcome:
        """Accepts nothing any more; a latched stop stays latched."""
        _run_all(self._undo_active)
        self.judge.forget()
        self.kernel.estop("not active")
        if self.status.mode is not SafetyMode.ESTOPPED:
            self._enter(SafetyMode.IDLE, "kernel", "deactivated", "the kernel node was deactivated")
        self._urgency.end()
        return Outcome.SUCCESS

    def on_cleanup(self, previous: State) -> Outcome:
        """Destroys the kernel and all endpoints."""
        self._urgency.end()
        _run_all(self._undo_active)
        _run_all(self._undo)
        self._lease = None
        for made in ("kernel", "inputs", "judge"):
            self.__dict__.pop(made, None)
        return Outcome.SUCCESS

    def on_shutdown(self, previous: State) -> Outcome:
        """Deactivates, which publishes the state, and cleans up."""
        if previous is State.ACTIVE:
            self.on_deactivate(previous)
        return self.on_cleanup(previous)

    # Safety state

    def stop(self, source: str, reason: str, detail: str) -> bool:
        """Latches the e-stop and publishes it; False if it was latched already."""
        self.kernel.estop(reason)
        self.judge.forget()
        if self.status.mode is SafetyMode.ESTOPPED:
            return False
        self._enter(SafetyMode.ESTOPPED, source, reason, detail)
        self._stop_beat = self.status.beat
        self._own_event = estop_event(source, detail, self.now())
        self._stop_events.publish(self._own_event)
        self.log.error("stopped", source=source, reason=reason, detail=detail)
        return True

    def recovered(self) -> None:
        """Returns to ARMED: the kernel has found the robot outside the margin again."""
        self._enter(SafetyMode.ARMED, "kernel", "recovered", "clear of the margin again")

    def report_stop(
        self,
        reason: str,
        detail: str,
        payload: bytes,
        trace_id: bytes,
        recovering: bool,
        judged_ns: int,
    ) -> None:
        """Publishes the reason of a stop with the evidence to reproduce it."""

        def message() -> Any:
            evidence = self.inputs.evidence(payload, judged_ns, recovering)
            return failure_message(Severity.STOP, reason, detail, evidence, trace_id, judged_ns)

        self._failures.publish(message)

    def report_drop(self, reason: str, detail: str, trace_id: bytes) -> None:
        """Publishes that motion is dropped, at most once a second for each reason."""
        steady = self.steady()
        if steady - self._reported.get(reason, -_REPORT_EVERY_S) < _REPORT_EVERY_S:
            return
        self._reported[reason] = steady
        self.log.warning("dropped", reason=reason, detail=detail)
        self._failures.publish(
            lambda: failure_message(Severity.WARNING, reason, detail, "{}", trace_id, self.now())
        )

    def _enter(self, mode: SafetyMode, source: str, reason: str, detail: str) -> None:
        self.status.enter(mode, self.now(), source, reason, detail)
        self._tell()

    def _tell(self) -> None:
        self._state_topic.publish(self.status.message(self.now(), self._seal.sequence))

    def _extend_lease(self) -> None:
        """Lets simulated time advance as far as this node and its inputs keep up.

        An input that does not arrive although time has waited for it is not waited for again until
        the next reset: motion is then dropped, as on a real robot.
        """
        lease, clock = self._lease, self.clock.simulated
        if lease is None or clock is None:
            return
        now = self.now()
        inputs = self.inputs.fresh_until(now) if self.state is State.ACTIVE else {}
        inputs = {name: ns for name, ns in inputs.items() if name not in self._given_up}
        late = lease.extend(inputs)
        if late and inputs[late] - now < _AT_LIMIT_NS and clock.silent_for_s() > INPUT_S:
            self._given_up.add(late)
            self.log.warning("simulated time waits no longer for an input", input=late)

    def _beat(self) -> None:
        self._look_at_clock()
        self._extend_lease()
        self._tell()
        self.judge.look_at_clock()
        self._stop_watch.check()
        if (flooded := self.judge.flooded) != self._flooded:
            limit = self.settings.max_candidates_hz
            text = f"{flooded} candidates dropped unread: more than {limit:g} a second"
            self.report_drop("flood", text, NO_HEAD.trace_id)
            self._flooded = flooded

    def _on_jump(self, jump: Jump) -> None:
        """Records a jump of the clock; called on the clock's own thread."""
        self._jump = jump
        if self._loop is not None:
            self._loop.post(self._look_at_clock)

    def _look_at_clock(self) -> None:
        """Stops after a jump back in time: stamps no longer bound the age of any input."""
        jump, self._jump = self._jump, None
        if jump is not None and self.status.mode in (SafetyMode.ARMED, SafetyMode.RECOVERY):
            before, after = jump.before_ns / NS, jump.after_ns / NS
            text = f"simulated time went back from {before:.3f} s to {after:.3f} s"
            self.stop("kernel", "clock_back", text)

    def steady(self) -> float:
        """Timeout clock in s: monotonic, or graph time in lock-step."""
        return self.now() / NS if self.settings.lockstep else time.monotonic()

    @property
    def time_waits(self) -> bool:
        """Whether simulated time waits for this node, so that deadlines count graph time."""
        settings = self.settings
        strict = settings.real_time or settings.lockstep or settings.hal_mode != "sim"
        return self.clock.simulated is not None and not strict

    @property
    def clock_stall_s(self) -> float:
        """Wall time without a new /clock after which simulated time counts as stalled."""
        return SILENT_S if self.time_waits else self.settings.clock_stall_s

    @property
    def seal(self) -> Seal:
        """Signs approved actions."""
        return self._seal

    # Requests

    def _on_event(self, event: Any) -> None:
        if event is not self._own_event:
            source = event.source[:_LONGEST_TEXT] or "unknown"
            self.stop(source, source, event.reason[:_LONGEST_TEXT] or "asked for")

    def _on_hal(self, hal: Any) -> None:
        if hal.epoch == self._seal.epoch and hal.sequence > self._seal.sequence:
            text = f"the HAL executes action {hal.sequence} of this kernel, which never approved it"
            self.stop("kernel", "unknown_action", text)
        self._stop_watch.heard(hal)
        self.judge.heard(hal)

    def _on_estop(self, request: Any, response: Any) -> Any:
        source = request.source[:_LONGEST_TEXT] or "operator"
        self.stop(source, source, request.reason[:_LONGEST_TEXT] or "asked for")
        response.success = True
        return self._stop_watch.wait(self._stop_beat, response)

    def _on_reset(self, request: Any, response: Any) -> Any:
        if refusal := self._cannot_arm():
            response.success, response.message = False, refusal
            return response
        self.judge.forget()
        self._given_up.clear()
        forgotten = self.inputs.forget_dead()
        self.kernel.reset()
        self._enter(SafetyMode.ARMED, "operator", "reset", "armed from the measured pose")
        response.success = True
        response.message = "armed" + forgotten + self.inputs.margin_hint()
        return response

    def _on_recover(self, request: Any, response: Any) -> Any:
        response.success, response.message = False, ""
        mode = self.status.mode
        if not request.data:
            response.success = mode is SafetyMode.RECOVERY
            response.message = "stopped" if response.success else f"not recovering, but {mode.name}"
            if response.success:
                self.stop("operator", "operator", "recovery was ended")
        elif mode not in (SafetyMode.IDLE, SafetyMode.ESTOPPED):
            response.message = f"recovery starts from a stop; the kernel is {mode.name}"
        elif refusal := self._cannot_arm():
            response.message = refusal
        else:
            self.kernel.recover()
            self._enter(
                SafetyMode.RECOVERY, "operator", "recovery", "slow motion out of the margin only"
            )
            response.success, response.message = True, "recovering: slow motion outwards passes"
        return response

    def _cannot_arm(self) -> str:
        if self.state is not State.ACTIVE:
            return f"the kernel node is {self.state.label}; activate it first"
        return self.judge.clock_fault() or self.inputs.state_fault()

    # Endpoints

    def _sealed_clock(self, hear: Callable[[Any], None]) -> Subscription:
        return subscribe_sealed(self, self._key, CLOCK_TYPE, "/clock", hear, CLOCK, inline=True)

    def _publisher(self, kind: str, topic: str, qos: Any) -> Publisher:
        return self._open_publisher(f"openral_msgs/msg/{kind}", topic, qos)

    def _open_publisher(self, kind: str, topic: str, qos: Any) -> Publisher:
        publisher = self.create_publisher(kind, topic, qos)
        self._undo.append(lambda: self.destroy_publisher(publisher))
        return publisher

    def _subscribe(
        self,
        undo: list[Callable[[], None]],
        kind: str,
        topic: str,
        callback: Callable[[Any], None],
        qos: Any,
        raw: bool = False,
    ) -> Subscription:
        made = self.create_subscription(f"openral_msgs/msg/{kind}", topic, callback, qos, raw=raw)
        undo.append(lambda: self.destroy_subscription(made))
        return made


def _run_all(calls: list[Callable[[], None]]) -> None:
    while calls:
        calls.pop()()
