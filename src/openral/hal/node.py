"""ManifestHALLifecycleNode: the HAL node of every robot, simulated or real."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from openral.errors import LifecycleError, OpenralError
from openral.graph.run_key import RunKey
from openral.graph.sealed import subscribe_sealed
from openral.hal.build import Mode, build_hal
from openral.hal.graph_time import GraphTime
from openral.hal.hal_bridges import HalBridges
from openral.hal.parameters import HalParameters
from openral.hal.protocols import HAL, SceneResettable
from openral.hal.run import HalRun, LockstepHalRun, make_run
from openral.hal.snapshot import Snapshot
from openral.manifest.control import ControlMode
from openral.manifest.library import load_robot
from openral.ros.lifecycle.machine import Outcome, State
from openral.ros.lifecycle.node import LifecycleNode
from openral.ros.node.node import USE_SIM_TIME
from openral.ros.node.node_clock import CLOCK_TYPE
from openral.ros.parameters.store import Descriptor
from openral.ros.priority import Urgency
from openral.ros.qos import CLOCK

_CHECK_S = 0.05


class ManifestHALLifecycleNode(LifecycleNode):
    """Made from `robot_yaml`, `hal_mode` and a scene; bridges are attached by capability.

    It provides the graph's clock from `configure` on; the parameter `clock` is then `sim` or
    `wall`. While active it publishes measurements and executes the actions sealed by the kernel.
    """

    def __init__(self, key: RunKey, urgent: bool = False, **options: Any) -> None:
        """`urgent`: while active, the thread that receives stops requests real-time priority."""
        self._urgency = Urgency(urgent)
        self._run: HalRun | None = None
        self._live: HalBridges | None = None
        super().__init__("hal", **options)
        self.settings = HalParameters.declared(self)
        self.declare_parameter(
            "clock", "", Descriptor("The graph's clock: sim or wall.", read_only=True)
        )
        self.declare_parameter(
            "control_modes", [], Descriptor("What this HAL can execute.", read_only=True)
        )
        self._key = key
        self._until_ns = 0
        self.clock.take_from(
            lambda hear: subscribe_sealed(self, key, CLOCK_TYPE, "/clock", hear, CLOCK, inline=True)
        )

    # Life cycle

    def on_configure(self, previous: State) -> Outcome:
        """Makes the HAL, connects it and starts the graph's clock."""
        self.settings.check()
        try:
            self._connect()
        except BaseException:
            self._release()
            raise
        return Outcome.SUCCESS

    def _connect(self) -> None:
        settings = self.settings
        robot = load_robot(settings.robot_yaml)
        mode = cast(Mode, settings.hal_mode)
        hal = build_hal(robot, mode, settings.options(), settings.sim_env_yaml or None)
        run = self._run = make_run(hal, settings, self._on_tick, self._may_step)
        run.start()
        if settings.seed >= 0 and isinstance(hal, SceneResettable):
            hal.reset_scene(settings.seed)
        time = GraphTime(hal, settings.wall_clock, self._until_ns)
        with self.context.presence.batch_announcements():
            live = HalBridges(self, hal, settings, self._key, time, lambda: run.real_time_factor)
            live.ports.wall_timer(_CHECK_S, self._check)
        self._live = live
        self.tell_parameter("clock", time.name)
        self.tell_parameter(
            "control_modes", [m.value for m in ControlMode if m in hal.control_modes]
        )
        self.tell_parameter(USE_SIM_TIME, time.simulated)
        self._on_tick(hal.read_state())
        self.log.info("connected", robot=robot.id, mode=mode, clock=time.name)

    def on_activate(self, previous: State) -> Outcome:
        """Subscribes to the kernel and starts to publish."""
        self._urgency.begin()
        self.live.activate()
        return Outcome.SUCCESS

    def on_deactivate(self, previous: State) -> Outcome:
        """Holds position; the clock continues."""
        self.live.deactivate()
        self._urgency.end()
        return Outcome.SUCCESS

    def on_cleanup(self, previous: State) -> Outcome:
        """Releases the robot and ends the clock."""
        self._release()
        return Outcome.SUCCESS

    def on_shutdown(self, previous: State) -> Outcome:
        """Releases the robot and closes all endpoints."""
        self._release()
        return Outcome.SUCCESS

    def on_error(self, previous: State) -> Outcome:
        """Releases the robot; the node can be configured again."""
        self._release()
        return Outcome.SUCCESS

    def _release(self) -> None:
        run, self._run = self._run, None
        live, self._live = self._live, None
        self._urgency.end()
        if live is not None:
            self._until_ns = live.time.now() if live.time.simulated else self._until_ns
        try:
            if live is not None:
                live.quiet()
            if run is not None:
                run.stop()
        finally:
            if live is not None:
                live.close()
            if self.has_parameter("clock"):
                self.tell_parameter("clock", "")
                self.tell_parameter("control_modes", [])

    # Access for callers

    @property
    def live(self) -> HalBridges:
        """The connected HAL with its bridges."""
        if self._live is None:
            raise LifecycleError(f"{self.full_name} is {self.state.label}; configure it first")
        return self._live

    @property
    def hal(self) -> HAL:
        """The connected HAL."""
        return self.live.hal

    def tick(self) -> None:
        """In lock-step: advances the simulation by one tick and publishes what is due."""
        if not isinstance(self._run, LockstepHalRun):
            raise LifecycleError("only a configured node with lockstep set is driven by ticks")
        self._run.tick()

    # Internals

    def _on_tick(self, snapshot: Snapshot) -> None:
        live = self._live
        if live is not None:
            live.tick(snapshot)

    def _may_step(self, snapshot: Snapshot) -> bool:
        live = self._live
        return live is None or live.may_step(snapshot)

    def run_callback(self, callback: Callable[[Any], Any], argument: Any) -> None:
        """Runs a callback as any node does; if it raises, the robot also holds position."""
        before = self.callback_errors
        super().run_callback(callback, argument)
        if self.callback_errors != before and self._live is not None:
            name = getattr(callback, "__qualname__", repr(callback))
            self._live.broke(name, RuntimeError("see the log"))

    def _check(self) -> None:
        """Detects a simulation that has ended, or hardware that does not answer."""
        run, live = self._run, self._live
        if run is None or live is None:
            return
        if run.broken:
            live.watch_fault("hal_broken", run.broken)
            self.on_broken()
            return
        try:
            live.hal.read_state()
        except OpenralError as error:
            live.watch_fault("hal_fault", str(error))
