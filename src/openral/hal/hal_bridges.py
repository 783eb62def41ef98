"""HalBridges: a connected HAL with the bridges that its capabilities and its manifest require."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic, monotonic_ns

from openral import tracing
from openral.errors import OpenralError, TransportError
from openral.graph.deadlines import SILENT_S
from openral.graph.ports import Ports
from openral.graph.run_key import RunKey
from openral.graph.seal import Gatekeeper
from openral.graph.states import HalStatus, Severity
from openral.hal.commands.cmd_vel import CmdVelBridge
from openral.hal.commands.reset_to_pose import ResetToPoseBridge
from openral.hal.gate.failures import FailureReports
from openral.hal.gate.hal_state import GateRecord, HalStateBridge
from openral.hal.gate.kernel_watch import KernelWatch
from openral.hal.gate.safe_action import SafeActionGate
from openral.hal.graph_time import GraphTime
from openral.hal.pacer import Pacer
from openral.hal.parameters import HalParameters
from openral.hal.protocols import (
    HAL,
    Episode,
    MobileBase,
    PoseResettable,
    SceneObject,
    SceneSource,
)
from openral.hal.publishers.applied_action import AppliedActionBridge
from openral.hal.publishers.base_view import BaseView
from openral.hal.publishers.clock import ClockBridge
from openral.hal.publishers.diagnostics import DiagnosticsBridge
from openral.hal.publishers.episode import EpisodeBridge
from openral.hal.publishers.joint_states import JointStateBridge
from openral.hal.publishers.mobile_base import MobileBaseBridge
from openral.hal.publishers.objects import ObjectsBridge
from openral.hal.publishers.robot_description import publish_description
from openral.hal.publishers.robot_tf import RobotTF
from openral.hal.publishers.state_pump import StatePump
from openral.hal.publishers.viewer import Viewer
from openral.hal.publishers.world_collision import WorldCollisionBridge
from openral.hal.sensors.sim_sensors import SimSensorBridge, sensor_streams
from openral.hal.sim.attached import SimAttachedHAL
from openral.hal.sim.time_leases import TimeLeases
from openral.hal.snapshot import Snapshot
from openral.ros.clock import NS
from openral.ros.lifecycle.machine import State
from openral.ros.lifecycle.node import LifecycleNode

_BEFORE_S = 0.5
"""A silent kernel counts as lost this long before simulated time continues without its lease."""
_REPEAT_HZ = 20.0
"""Wall-time rate at which the last measurement is published while simulated time waits."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a tick leaves to be published when states are due."""

    snapshot: Snapshot
    objects: tuple[SceneObject, ...] | None
    episode: Episode | None


class HalBridges:
    """`tick` is called for every measurement, on the thread that made it."""

    def __init__(
        self,
        node: LifecycleNode,
        hal: HAL,
        settings: HalParameters,
        key: RunKey,
        time: GraphTime,
        real_time_factor: Callable[[], float],
    ) -> None:
        self.hal, self.time, self.node = hal, time, node
        self._real_time_factor = real_time_factor
        self.ports = Ports(node, key)
        self.failures = FailureReports(self.ports, time.now)
        self._pacer = Pacer(settings.joint_state_hz)
        self._status = HalStatus.HOLDING
        self._clock = ClockBridge(self.ports) if time.simulated else None
        gatekeeper = Gatekeeper(key, time.now)
        self.record = GateRecord(gatekeeper.refused)
        self._leases: TimeLeases | None = None
        patience = None if settings.lockstep else settings.heartbeat_s
        if time.simulated and not (settings.real_time or settings.lockstep):
            assert isinstance(hal, SimAttachedHAL)
            self._leases, patience = TimeLeases(hal.wake), SILENT_S - _BEFORE_S
        self._repeat = Pacer(_REPEAT_HZ)
        steady = (lambda: time.now() / NS) if settings.lockstep else monotonic
        self.watch = KernelWatch(hal, time, self.record, patience, self._stopped_by, steady)
        self.gate = SafeActionGate(
            hal, time, gatekeeper, self.record, self.watch.may_move, self._refused
        )
        self._joints = JointStateBridge(self.ports, time)
        self._state = HalStateBridge(self.ports, hal, time, self.record)
        self._applied = AppliedActionBridge(self.ports, time)
        self.watch.on_stop = self._state.publish
        self._attach_robot()
        self._attach_scene(settings.known_obstacles)
        streams = sensor_streams(self.ports, hal, time, settings)
        self._sensors = SimSensorBridge(streams, not settings.lockstep, self._blind)
        self._active = Ports(node, key)
        self._viewer: Viewer | None = None
        if settings.view and isinstance(hal, SimAttachedHAL):
            self._viewer = hal.do(lambda: Viewer(hal.rollout, node.log))
        DiagnosticsBridge(self.ports, hal.robot.id, time, self.health)
        self._pump: StatePump[Told] | None = None
        if not settings.lockstep:
            self._pump = StatePump(self._tell_safely)
            self.ports.at_end(self._pump.close)

    def _attach_robot(self) -> None:
        robot = self.hal.robot
        placed = self.hal.root_pose() if isinstance(self.hal, SceneSource) else None
        self._tf = RobotTF(self.ports, robot, self.time, placed)
        publish_description(self.ports, robot)
        self._base: MobileBaseBridge | None = None
        if robot.base_joints and isinstance(self.hal, MobileBase):
            self._base = MobileBaseBridge(self.ports, robot, self.time)

    def _attach_scene(self, known_obstacles: bool) -> None:
        hal, robot = self.hal, self.hal.robot
        self._scene = hal if isinstance(hal, SceneSource) else None
        self._episode = self._world = self._objects = None
        if self._scene is None:
            return
        view = BaseView(robot)
        boxes = self._scene.known_boxes() if known_obstacles else ()
        self._world = WorldCollisionBridge(self.ports, robot, view, self.time, boxes)
        self._objects = ObjectsBridge(self.ports, robot, view, self.time)
        self._episode = EpisodeBridge(self.ports, hal, self.watch.may_move)

    def activate(self) -> None:
        """Subscribes to the kernel; to its state first, so that no action arrives before it."""
        with self.node.context.presence.batch_announcements():
            self.watch.open(self._active)
            if self._leases is not None:
                self._leases.open(self._active)
            self.gate.open(self._active)
            if isinstance(self.hal, PoseResettable):
                ResetToPoseBridge(self._active, self.hal, self.time, self.watch.may_move)
            if self._base is not None:
                CmdVelBridge(self._active, self.hal, self.time, self.watch.may_move)

    def deactivate(self) -> None:
        """Closes the command inputs and holds position."""
        self._active.close()
        self.hal.hold("deactivated")

    def quiet(self) -> None:
        """Ends sensors and viewer: call it before the HAL is closed."""
        self._sensors.close()
        viewer, self._viewer = self._viewer, None
        if viewer is not None and isinstance(self.hal, SimAttachedHAL):
            self.hal.do(viewer.close)

    def close(self) -> None:
        """Closes all endpoints."""
        self._active.close()
        self.ports.close()

    # Measurements

    def may_step(self, snapshot: Snapshot) -> bool:
        """Whether simulated time may advance past a snapshot; if not, publishes it again.

        The node that time waits for may itself wait for a message that was lost.
        """
        leases, hal = self._leases, self.hal
        if leases is None or not isinstance(hal, SimAttachedHAL):
            return True
        if leases.may_reach(self.time.of(snapshot.stamp_ns) + hal.tick_ns):
            return True
        if self._repeat.due(monotonic_ns()):
            if self._clock is not None:
                self._clock.tick(self.time.of(snapshot.stamp_ns), True)
                self._clock.repeat()
            if self.node.state is State.ACTIVE:
                self._leave(snapshot)
        return False

    def tick(self, snapshot: Snapshot) -> None:
        """Takes a measurement; states are published on another thread, except in lock-step."""
        try:
            self._tick(snapshot)
        except Exception as error:
            self.broke("a tick", error)

    def _tick(self, snapshot: Snapshot) -> None:
        self.time.note(snapshot)
        due, begins = self._pacer.due(snapshot.stamp_ns), self._applied.begins(snapshot)
        look = self._sensors.due(snapshot.stamp_ns)
        if self._clock is not None:
            needed = due or begins or look or self._pump is None
            self._clock.tick(self.time.of(snapshot.stamp_ns), needed)
        if self.node.state is not State.ACTIVE:
            return
        if begins:  # at once: subscribers measure how late an action takes effect
            self._applied.publish(snapshot)
        before, self._status = self._status, snapshot.motion.status
        if due:
            self._leave(snapshot)
        elif self._status is not before:  # the kernel may be waiting for the end of a motion
            self._state.publish(snapshot)
        if look:
            self._sensors.tick(snapshot.stamp_ns)
        if self._viewer is not None:
            self._viewer.tick(snapshot.stamp_ns)

    def _leave(self, snapshot: Snapshot) -> None:
        objects = episode = None
        if self._scene is not None and self._objects is not None:
            episode = self._scene.episode
            objects = self._scene.read_objects() if self._objects.heard else None
        told = Told(snapshot, objects, episode)
        if self._pump is None:
            self._tell(told)
        else:
            self._pump.offer(told)

    def _tell_safely(self, told: Told) -> None:
        try:
            self._tell(told)
        except Exception as error:
            self.broke("publishing", error)

    def _tell(self, told: Told) -> None:
        motion = told.snapshot.motion
        about = motion.trace_id if motion.status is HalStatus.EXECUTING else None
        with tracing.span("hal.read_state", about, state=motion.status.name.lower()):
            self._tell_state(told, told.snapshot)

    def _tell_state(self, told: Told, snapshot: Snapshot) -> None:
        self._joints.publish(snapshot)
        base = None if self._base is None else self._base.publish(snapshot)
        self._state.publish(snapshot)
        self._tf.publish(snapshot, base)
        if self._world is not None:
            self._world.publish(snapshot)
        if self._objects is not None and told.objects is not None:
            self._objects.publish(snapshot, told.objects)
        if self._episode is not None and told.episode is not None:
            self._episode.publish(told.episode)

    # Health

    def health(self) -> dict[str, str]:
        """Values for /diagnostics."""
        record, refused = self.record, self.record.refused
        try:
            state = self.hal.read_state().motion.status.name.lower()
        except OpenralError as error:
            state = str(error)
        return {
            "state": state,
            "kernel": self.watch.summary,
            "longest_silence_ms": f"{self.watch.longest_silence_s * 1e3:.0f}",
            "clock": self.time.name,
            "real_time_factor": f"{self._real_time_factor():.3f}",
            "time_waits_for": self._leases.waits_for if self._leases is not None else "",
            "refused": f"{refused.total} ({refused.bad_mac} bad_mac, {refused.replayed} replayed, "
            f"{refused.expired} expired, {refused.corrupt} corrupt)",
            "unsupported": str(record.unsupported),
            "held_back": str(record.held_back),
            "failures": str(self.failures.count),
            "failure": self.failures.last,
        }

    def broke(self, what: str, error: BaseException) -> None:
        """Holds position and reports an exception in this node. May be called on any thread."""
        with contextlib.suppress(TransportError):  # a HAL that is gone cannot move the robot
            self.hal.hold("fault")
        self.failures.report(Severity.ERROR, "fault", f"{what} failed: {error!r}")

    def watch_fault(self, reason: str, detail: str) -> None:
        """Reports once that the HAL itself has failed, and requests a stop."""
        if self.node.state is State.ACTIVE and self.watch.summary != reason:
            self.watch.fault(reason, detail)

    def _stopped_by(self, reason: str, detail: str) -> None:
        self.failures.report(Severity.STOP, reason, detail)

    def _blind(self, sensor: str, detail: str) -> None:
        self.failures.report(Severity.ERROR, f"sensor_{sensor}", detail)

    def _refused(self, reason: str, detail: str, trace_id: bytes) -> None:
        self.failures.report(Severity.WARNING, reason, detail, trace_id)
