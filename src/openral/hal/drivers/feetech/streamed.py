"""FeetechStreamedHAL: an SO-100 or SO-101 arm behind the HAL contract."""

from __future__ import annotations

from collections.abc import Mapping

from openral.hal.drivers.feetech.hal import EstopPolicy, FeetechHAL
from openral.hal.drivers.streamed import StreamedHAL
from openral.manifest import RobotDescription


class FeetechStreamedHAL(StreamedHAL):
    """Streams targets to the serial servos; see FeetechHAL for how it stops and ends."""

    def __init__(
        self,
        robot: RobotDescription,
        *,
        port: str,
        baud_rate: int = 1_000_000,
        calibration: str | None = None,
        rest_pose: Mapping[str, float] | None = None,
        estop_policy: EstopPolicy = "hold",
        ramp_seconds: float = 1.5,
        park_speed: float = 0.3,
        timeout: float = 0.02,
        attempts: int = 3,
        rate_hz: float = 50.0,
    ) -> None:
        """Reads the calibration; touches no hardware."""
        driver = FeetechHAL(
            robot,
            port=port,
            baud_rate=baud_rate,
            calibration=calibration,
            rest_pose=rest_pose,
            estop_policy=estop_policy,
            ramp_seconds=ramp_seconds,
            park_speed=park_speed,
            timeout=timeout,
            attempts=attempts,
        )
        super().__init__(robot, driver, rate_hz=rate_hz)
        self.driver: FeetechHAL = driver
