"""WorldNode: publishes the voxel map for the kernel and the world state for skills."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from openral.graph.joint_readings import JointReadings
from openral.graph.sealed import Secret, subscribe_sealed
from openral.graph.topics import JOINT_STATES, SENSOR
from openral.manifest.library import load_robot
from openral.ros.clock import NS, Jump
from openral.ros.lifecycle.machine import Outcome, State
from openral.ros.lifecycle.node import LifecycleNode
from openral.ros.node.node_clock import CLOCK_TYPE
from openral.ros.qos import CLOCK
from openral.ros.stamps import stamp_ns
from openral.ros.tf import TransformListener
from openral.world.joint_history import JointHistory
from openral.world.mapping import Mapping
from openral.world.sensor_watch import AHEAD_NS
from openral.world.world_parameters import WorldParameters
from openral.world.world_state import WorldStateTeller


class WorldNode(LifecycleNode):
    """Maps the depth sensors' measurements; publishes the state of the robot and its world."""

    def __init__(self, key: Secret, **options: Any) -> None:
        """`key` is the run's: it seals the map and opens what the HAL seals."""
        super().__init__("world", **options)
        self._sealed = partial(subscribe_sealed, self, key)
        self._key = key
        self.clock.take_from(
            lambda hear: self._sealed(CLOCK_TYPE, "/clock", hear, CLOCK, inline=True)
        )
        self.settings = WorldParameters.declared(self)
        self.mapping: Mapping | None = None
        self._undo: list[Callable[[], None]] = []

    def on_configure(self, previous: State) -> Outcome:
        """Reads the manifest and lays out the map."""
        self.settings.check()
        robot = load_robot(self.settings.robot_yaml)
        self._readings = JointReadings(robot)
        self._history = JointHistory()
        self._listener = TransformListener(self)
        self._undo_configured = self._listener.close
        self.mapping = None
        if self.settings.mapper and self.settings.depth_sensors(robot):
            buffer = self._listener.buffer
            self.mapping = Mapping(self, self._key, robot, self.settings, self._history, buffer)
        self.state_teller = WorldStateTeller(self, self._key, robot, self._readings, self._health)
        return Outcome.SUCCESS

    def on_activate(self, previous: State) -> Outcome:
        """Starts subscriptions and publishers."""
        kind = "sensor_msgs/msg/JointState"
        joints = self._sealed(kind, JOINT_STATES, self._on_joints, SENSOR)
        self._undo.append(partial(self.destroy_subscription, joints))
        self._undo.append(self.clock.on_jump(self._on_jump))
        if self.mapping is not None:
            self._undo += self.mapping.open()
        self._undo += self.state_teller.open(self.settings.state_hz)
        return Outcome.SUCCESS

    def on_deactivate(self, previous: State) -> Outcome:
        """Ends subscriptions and publishers."""
        while self._undo:
            self._undo.pop()()
        return Outcome.SUCCESS

    def on_cleanup(self, previous: State) -> Outcome:
        """Deactivates and releases all resources."""
        self.on_deactivate(previous)
        self._undo_configured()
        self.mapping = None
        return Outcome.SUCCESS

    def on_shutdown(self, previous: State) -> Outcome:
        """Deactivates and releases the transform listener."""
        self.on_deactivate(previous)
        if previous is not State.UNCONFIGURED:
            self._undo_configured()
        return Outcome.SUCCESS

    def _health(self) -> list[Any]:
        return self.mapping.health() if self.mapping is not None else []

    def _on_jump(self, jump: Jump) -> None:
        """Called on the clock's own thread, while the executor may be at work on the map."""
        self.in_executor(self._forget_twice)

    def _forget_twice(self) -> None:
        self._forget()
        # By then all messages queued at the jump have been received; they belong to the old time.
        self.in_executor(self._forget)

    def _forget(self) -> None:
        self._history.forget()
        self._listener.buffer.clear()
        self.state_teller.forget()
        if self.mapping is not None:
            self.mapping.forget()

    def _on_joints(self, message: Any) -> None:
        # Sealed by the owner of the clock, whose clock message may still be in transit.
        if self.clock.simulated is not None:
            self.clock.simulated.advance(stamp_ns(message))
        self._readings.take(message)
        stamp = self._readings.stamp_ns
        ahead = stamp - self.now()
        if ahead > AHEAD_NS:  # stored, it would mask all correctly stamped ones
            text = "joint states are stamped ahead of the clock"
            self.log.error(text, by_s=round(ahead / NS, 2), once="ahead")
        elif self._readings.complete:
            self._history.add(stamp, self._readings.q)
        if self.mapping is not None:
            self.mapping.work()
