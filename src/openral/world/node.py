"""The world's node: the voxel map that the kernel believes, and the state that skills read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from openral.manifest.library import load_robot
from openral.ros import msg
from openral.ros.lifecycle_machine import Outcome, State
from openral.ros.lifecycle_node import LifecycleNode
from openral.ros.tf import TransformListener
from openral.safety.joint_readings import JointReadings
from openral.safety.topics import JOINT_STATES, SENSOR
from openral.world.joint_history import JointHistory
from openral.world.mapping import Mapping
from openral.world.world_parameters import WorldParameters
from openral.world.world_state import WorldStateTeller


class WorldNode(LifecycleNode):
    """Maps what the robot's depth sensors see and tells the state of the robot and its world."""

    def __init__(self, **options: Any) -> None:
        super().__init__("world", **options)
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
            self.mapping = Mapping(self, robot, self.settings, self._history, buffer)
        self.state_teller = WorldStateTeller(self, robot, self._readings, self._health)
        return Outcome.SUCCESS

    def on_activate(self, previous: State) -> Outcome:
        """Begins to listen and to tell."""
        joints = self.create_subscription(msg.JointState, JOINT_STATES, self._on_joints, SENSOR)
        self._undo.append(partial(self.destroy_subscription, joints))
        self._undo.append(self.clock.on_jump(lambda jump: self._history.forget()))
        if self.mapping is not None:
            self._undo += self.mapping.open()
        self._undo += self.state_teller.open(self.settings.state_hz)
        return Outcome.SUCCESS

    def on_deactivate(self, previous: State) -> Outcome:
        """Falls silent."""
        while self._undo:
            self._undo.pop()()
        return Outcome.SUCCESS

    def on_cleanup(self, previous: State) -> Outcome:
        """Gives everything back."""
        self.on_deactivate(previous)
        self._undo_configured()
        self.mapping = None
        return Outcome.SUCCESS

    def on_shutdown(self, previous: State) -> Outcome:
        """Leaves."""
        self.on_deactivate(previous)
        if previous is not State.UNCONFIGURED:
            self._undo_configured()
        return Outcome.SUCCESS

    def _health(self) -> list[Any]:
        return self.mapping.health() if self.mapping is not None else []

    def _on_joints(self, message: Any) -> None:
        self._readings.take(message)
        if self._readings.complete:
            self._history.add(self._readings.stamp_ns, self._readings.q)
        if self.mapping is not None:
            self.mapping.work()
