"""Sensors of a simulated robot, measured on the simulation's own thread for any caller."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from openral.errors import CapabilityMismatch, OpenralError
from openral.hal.mobile_base import base_state
from openral.hal.protocols import BaseState, CloudFrame, DepthFrame, Frame, Scan, SceneObject
from openral.hal.sim.owner_thread import OwnerThread
from openral.hal.snapshot import Snapshot
from openral.manifest import RobotDescription
from openral.manifest.sensor import DepthCamera
from openral.sim.rollout import (
    CameraInfo,
    CloudSource,
    ObjectSource,
    ScanSource,
    SimRollout,
    StaticBox,
    Surveyed,
)

Size = tuple[int, int] | None


class _Simulated(Protocol):
    robot: RobotDescription
    _mailbox: OwnerThread

    @property
    def rollout(self) -> SimRollout: ...

    def read_state(self) -> Snapshot: ...


class SimSources:
    """Sensor data of a rollout: images, clouds, scans, odometry, and the scene around."""

    @property
    def cameras(self: _Simulated) -> Mapping[str, CameraInfo]:
        """All cameras of the scene by name, the manifest's first."""
        return self.rollout.cameras

    def draw_once(self: _Simulated) -> None:
        """Renders a first image of every camera, on the simulation's thread.

        The first one takes a second or more on a cold machine: too long once other nodes depend on
        the clock. A camera that cannot be rendered raises when its images are requested.
        """
        depth = {sensor.name for sensor in self.robot.cameras if isinstance(sensor, DepthCamera)}
        for name in self.rollout.cameras:
            with suppress(OpenralError):
                (self.rollout.depth if name in depth else self.rollout.image)(name, None)

    def read_image(self: _Simulated, camera: str, size: Size = None) -> Frame:
        """See CameraSource."""
        return self._mailbox.look(
            lambda: Frame(self.rollout.image(camera, size), self.read_state().stamp_ns)
        )

    def read_depth(self: _Simulated, camera: str, size: Size = None) -> DepthFrame:
        """See DepthSource."""
        return self._mailbox.look(
            lambda: DepthFrame(self.rollout.depth(camera, size), self.read_state().stamp_ns)
        )

    def read_cloud(self: _Simulated, camera: str, size: Size = None) -> CloudFrame:
        """A point cloud without the robot itself; see CloudMeasuring."""

        def measure() -> CloudFrame:
            if not isinstance(self.rollout, CloudSource):
                raise CapabilityMismatch(f"scene '{self.rollout.scene.id}' measures no clouds")
            return CloudFrame(self.rollout.cloud(camera, size), self.read_state().stamp_ns)

        return self._mailbox.look(measure)

    def read_scan(self: _Simulated, lidar: str) -> Scan:
        """One scan of a lidar among the scene's objects."""

        def measure() -> Scan:
            if not isinstance(self.rollout, ScanSource):
                raise CapabilityMismatch(f"scene '{self.rollout.scene.id}' measures no scans")
            return Scan(self.rollout.scan(lidar), self.read_state().stamp_ns)

        return self._mailbox.look(measure)

    def read_base(self: _Simulated) -> BaseState:
        """Odometry of a mobile base."""
        return base_state(self.robot, self.read_state())

    def root_pose(self: _Simulated) -> NDArray[np.float64] | None:
        """Pose of the robot's root in the scene, 4×4; see SceneSource."""

        def survey() -> NDArray[np.float64] | None:
            return self.rollout.root_pose if isinstance(self.rollout, Surveyed) else None

        return self._mailbox.call(survey)

    def known_boxes(self: _Simulated) -> tuple[StaticBox, ...]:
        """Furniture and walls; none if the backend does not report them."""

        def survey() -> tuple[StaticBox, ...]:
            return self.rollout.static_boxes if isinstance(self.rollout, Surveyed) else ()

        return self._mailbox.call(survey)

    def read_objects(self: _Simulated) -> tuple[SceneObject, ...]:
        """The task's objects at present; none if the backend does not report them."""

        def look() -> tuple[SceneObject, ...]:
            rollout = self.rollout
            if not isinstance(rollout, ObjectSource) or not isinstance(rollout, Surveyed):
                return ()
            halves = rollout.object_halves
            poses = rollout.object_poses().items()
            return tuple(SceneObject(name, pose, halves[name]) for name, pose in poses)

        return self._mailbox.call(look)
