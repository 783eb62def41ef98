"""What a simulated robot senses, measured on the simulation's own thread for any other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from openral.errors import CapabilityMismatch
from openral.hal.mailbox import Mailbox
from openral.hal.mobile_base import base_state
from openral.hal.protocols import BaseState, CloudFrame, DepthFrame, Frame, Scan
from openral.hal.snapshot import Snapshot
from openral.manifest import RobotDescription
from openral.sim.rollout import CameraInfo, CloudSource, ScanSource, SimRollout

Size = tuple[int, int] | None


class _Simulated(Protocol):
    robot: RobotDescription
    _mailbox: Mailbox

    @property
    def rollout(self) -> SimRollout: ...

    def read_state(self) -> Snapshot: ...


class SimSources:
    """CameraSource, DepthSource, CloudMeasuring, LidarSource and MobileBase of a rollout."""

    @property
    def cameras(self: _Simulated) -> Mapping[str, CameraInfo]:
        """All cameras of the scene by name, the manifest's first."""
        return self.rollout.cameras

    def read_image(self: _Simulated, camera: str, size: Size = None) -> Frame:
        """A picture."""
        return self._mailbox.call(
            lambda: Frame(self.rollout.image(camera, size), self.read_state().stamp_ns)
        )

    def read_depth(self: _Simulated, camera: str, size: Size = None) -> DepthFrame:
        """A depth picture."""
        return self._mailbox.call(
            lambda: DepthFrame(self.rollout.depth(camera, size), self.read_state().stamp_ns)
        )

    def read_cloud(self: _Simulated, camera: str, size: Size = None) -> CloudFrame:
        """A point cloud without the robot itself."""

        def measure() -> CloudFrame:
            if not isinstance(self.rollout, CloudSource):
                raise CapabilityMismatch(f"scene '{self.rollout.scene.id}' measures no clouds")
            return CloudFrame(self.rollout.cloud(camera, size), self.read_state().stamp_ns)

        return self._mailbox.call(measure)

    def read_scan(self: _Simulated, lidar: str) -> Scan:
        """One turn of a lidar among the scene's objects."""

        def measure() -> Scan:
            if not isinstance(self.rollout, ScanSource):
                raise CapabilityMismatch(f"scene '{self.rollout.scene.id}' measures no scans")
            return Scan(self.rollout.scan(lidar), self.read_state().stamp_ns)

        return self._mailbox.call(measure)

    def read_base(self: _Simulated) -> BaseState:
        """Odometry of a mobile base."""
        return base_state(self.robot, self.read_state())
