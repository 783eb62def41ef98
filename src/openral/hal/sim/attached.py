"""SimAttachedHAL: a simulated robot in any scene, with the same contract as a real one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from openral.errors import CapabilityMismatch, OpenralError, TransportError
from openral.graph.states import HalStatus
from openral.hal.commands import ramp
from openral.hal.execution.executor import ChunkExecutor, Command
from openral.hal.protocols import Episode
from openral.hal.sim import idle
from openral.hal.sim.clock import MonotonicTime
from openral.hal.sim.drive import RolloutDrive, make_drive
from openral.hal.sim.episode_book import EpisodeBook
from openral.hal.sim.owner_thread import OwnerThread
from openral.hal.sim.sources import SimSources
from openral.hal.snapshot import CommandedMotion, Snapshot, frozen
from openral.manifest import ControlMode, RobotDescription
from openral.ros.log import NodeLogger
from openral.sim.rollout import SimRollout
from openral.sim.sensors.renderer import WrongThread

Vector = NDArray[np.float64]
T = TypeVar("T")

_STOP_TIMEOUT_S = 1.0
_UNAWARE_NS = 300_000_000


class SimAttachedHAL(SimSources):
    """Wraps a rollout. The thread that connects owns the simulation and its renderers.

    That thread steps it (`step`, `idle_step`, `advance`) and serves the other threads; those read
    the latest snapshot, send actions and request images. See SimLoop. An e-stop stops the robot,
    not the time: its joints are braked and `idle_step` does nothing, but `step` continues.
    """

    def __init__(
        self,
        robot: RobotDescription,
        make_rollout: Callable[[], SimRollout],
        *,
        auto_reset: bool = True,
        hold_window_s: float = idle.HOLD_WINDOW_NS * 1e-9,
    ) -> None:
        """`auto_reset`: after an episode's end the next action begins a new one.

        `hold_window_s`: wall time after an action before idle stepping may begin.
        """
        self.robot = robot
        self.control_modes: frozenset[ControlMode] = frozenset()
        self.last_action_ns: int | None = None
        self._make, self._auto_reset = make_rollout, auto_reset
        self._window_ns = round(hold_window_s * 1e9)
        self._mailbox = OwnerThread()
        self._time = MonotonicTime()
        self._log = NodeLogger(f"hal.{robot.id}")
        self._rollout: SimRollout | None = None
        self._snapshot: Snapshot | None = None
        self._idle_enabled = True
        self._has_clock = False
        self._ticks_ns = self._over_ns = 0

    def connect(self) -> None:
        """Makes the scene on this thread, which owns it from then on."""
        rollout = self._make()
        try:
            if rollout.robot.id != self.robot.id:
                raise CapabilityMismatch(
                    f"scene '{rollout.scene.id}' holds '{rollout.robot.id}', not '{self.robot.id}'"
                )
            drive = make_drive(rollout)
            positions, _ = measure(rollout)
        except BaseException:
            rollout.close()
            raise
        self._mailbox.own()
        self._rollout, self._drive = rollout, drive
        self.control_modes = frozenset(executable(self.robot, drive))
        self._executor = ChunkExecutor(
            self.robot, self.control_modes, brake_s=drive.brake_s, ramp_s=drive.ramp_s
        )
        self._executor.seed(positions)
        self._book = EpisodeBook(rollout.scene)
        self._has_clock = rollout.sim_time_ns() is not None
        self._publish(self._executor.motion)

    def close(self) -> None:
        """Frees the scene and its renderers."""
        rollout, self._rollout, self._snapshot = self._rollout, None, None
        if rollout is not None:
            rollout.close()

    @property
    def rollout(self) -> SimRollout:
        """The scene; use it on its own thread only."""
        if self._rollout is None:
            raise TransportError(f"the simulation of '{self.robot.id}' is not connected")
        return self._rollout

    @property
    def tick_ns(self) -> int:
        """Simulated time of one step, in ns."""
        return self._drive.tick_ns

    def read_state(self) -> Snapshot:
        """The measurement of the latest tick."""
        snapshot = self._snapshot
        if snapshot is None:
            raise TransportError(f"the simulation of '{self.robot.id}' is not connected")
        return snapshot

    def sim_time_ns(self) -> int | None:
        """The scene's time in ns, monotonic across resets; None when the backend has no clock."""
        return self.read_state().stamp_ns if self._has_clock else None

    @property
    def episode(self) -> Episode:
        """Progress of the scene's task."""
        self.rollout  # noqa: B018 - refuses when not connected
        return self._book.now

    # Commands, from any thread

    def send_action(self, chunk: Any, expires_ns: int | None = None) -> None:
        """Executes a chunk; see HAL."""
        self.last_action_ns = time.monotonic_ns()
        self.rollout  # noqa: B018 - refuses when not connected
        if expires_ns is not None and not self._has_clock:  # then snapshots have wall-time stamps
            expires_ns += self._ticks_ns - time.time_ns()
        if not self._overtaken(expires_ns):
            self._executor.submit(chunk, expires_ns)
        self._mailbox.wake()

    def hold(self, reason: str = "asked") -> None:
        """Drops the chunk in execution and holds position."""
        self.rollout  # noqa: B018
        self._executor.hold(reason)

    def estop(self, reason: str) -> None:
        """Stops; returns once the simulation has applied it."""
        self.rollout  # noqa: B018
        self._executor.stop(reason)
        self._mailbox.call(self._brake, _STOP_TIMEOUT_S)

    def clear_estop(self) -> None:
        """Holds the present position and accepts actions again."""
        self.rollout  # noqa: B018
        self._executor.clear()

    def reset_to_pose(self, pose: Mapping[str, float] | None = None, seconds: float = 0.0) -> float:
        """Starts a ramp from the present pose; see PoseResettable."""
        start = self.read_state().motion.applied
        chunk = ramp.ramp_chunk(self.robot, start, ramp.goal_pose(self.robot, pose), seconds)
        self.send_action(chunk)
        return float(chunk.dt * chunk.rows)

    def reset_scene(self, seed: int | None = None) -> None:
        """Begins an episode now; the chunk in execution ends."""
        self._mailbox.call(lambda: self._reset(seed))

    # Stepping, on the owner's thread

    def step(self) -> None:
        """Advances one tick under the present command: rows, hold or stop."""
        self._require_mine()
        if self._book.now.over and self._auto_reset and self._executor.waiting:
            # The waiting chunk was proposed, and proven clear, from a pose that the reset discards.
            self._reset(None)
        start = self._now_ns()
        command = self._tick(start, start + self._drive.tick_ns)
        step = self._drive.advance(command)
        self._ticks_ns += self._drive.tick_ns
        if step is not None:
            stopped = command.motion.status is HalStatus.STOPPED
            if self._book.count(step, stopped) and self._auto_reset:
                self._over_ns = self._now_ns()
                self._executor.hold("episode over")
        self._publish(command.motion)

    def idle_step(self) -> bool:
        """Advances one tick that no episode counts, holding; False when stopped or disabled."""
        self._require_mine()
        if self._executor.stopped or not self._idle_enabled:
            return False
        if self._executor.braking:  # idling begins once the joints are at rest
            self.step()
            return True
        try:
            self._drive.idle()
            self._ticks_ns += self._drive.tick_ns
            self._publish(self._executor.motion)
        except Exception as error:
            self._idle_enabled = False
            self._log.warning("idle stepping is off after a fault", error=repr(error))
            return False
        return True

    def advance(self) -> None:
        """`step` while a real action owns the simulation or it is stopped, else `idle_step`."""
        owned = self._executor.busy or self._executor.stopped
        if owned or not idle.should_idle_step(
            time.monotonic_ns(), self.last_action_ns, self._window_ns
        ):
            self.step()
        else:
            self.idle_step()

    def serve(self) -> None:
        """Runs the calls that other threads have queued."""
        self._mailbox.serve()

    def do(self, job: Callable[[], T]) -> T:
        """Runs a call on the owner's thread, between two steps."""
        return self._mailbox.call(job)

    def wait(self, seconds: float) -> None:
        """Sleeps until there is a call to serve or an action to execute, or time is up."""
        self._mailbox.wait(seconds)

    def wake(self) -> None:
        """Ends a `wait`."""
        self._mailbox.wake()

    @property
    def action_waits(self) -> bool:
        """Whether an action is waiting for the next step."""
        return self._executor.waiting

    # Internals

    def _require_mine(self) -> None:
        self.rollout  # noqa: B018
        if not self._mailbox.mine:
            raise WrongThread("a simulation is stepped by the thread that connected it, no other")

    def _overtaken(self, expires_ns: int | None) -> bool:
        """Whether an action was approved before its proposer could know of the episode's end.

        Such an action is dropped: only a later one begins the next episode.
        """
        over = self._book.now.over and self._auto_reset
        return over and expires_ns is not None and expires_ns < self._over_ns + _UNAWARE_NS

    def _now_ns(self) -> int:
        """The clock of chunk execution, in ns."""
        backend = self.rollout.sim_time_ns()
        return self._ticks_ns if backend is None else self._time.at(backend)

    def _tick(self, start_ns: int, end_ns: int) -> Command:
        state = self.read_state()
        return self._executor.tick(start_ns, end_ns, state.positions, state.velocities)

    def _publish(self, motion: CommandedMotion) -> None:
        positions, velocities = measure(self.rollout)
        backend = self.rollout.sim_time_ns()
        stamp = time.time_ns() if backend is None else self._time.at(backend)
        self._snapshot = Snapshot(
            tuple(self.robot.joint_names), frozen(positions), frozen(velocities), stamp, motion
        )

    def _brake(self) -> None:
        """Commands the servos to stop without waiting for the next step."""
        now = self._now_ns()
        command = self._tick(now, now)
        if not command.path:  # a path begins with the next step
            self._drive.apply(command)
        self._publish(command.motion)

    def _reset(self, seed: int | None) -> None:
        self.rollout.reset(self._book.begin(seed))
        self._drive.reset()
        self._executor.seed(measure(self.rollout)[0], "scene reset")
        self._publish(self._executor.motion)


def measure(rollout: SimRollout) -> tuple[Vector, Vector]:
    """Joint positions and velocities, (dof,) each in rad, m and s; OpenralError if invalid."""
    names = rollout.robot.joint_names
    found = []
    for what in ("joint_positions", "joint_velocities"):
        values = np.asarray(getattr(rollout, what)(), float)
        if values.shape != (len(names),):
            raise OpenralError(
                f"scene '{rollout.scene.id}' reports {what} of shape {values.shape} for the "
                f"{len(names)} joints {', '.join(names)}"
            )
        if not np.isfinite(values).all():
            bad = names[int(np.argmin(np.isfinite(values)))]
            raise OpenralError(f"scene '{rollout.scene.id}' reports {what} of '{bad}' not finite")
        found.append(values)
    return found[0], found[1]


def executable(robot: RobotDescription, drive: RolloutDrive) -> set[ControlMode]:
    """The robot's control modes that a joint-driven simulation can execute."""
    able = set(robot.control_modes) - {ControlMode.FOOT_PLACEMENT}
    return able if drive.torque else able - {ControlMode.JOINT_TORQUE}
