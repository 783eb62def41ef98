from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openral.errors import (
    TransportError,
)
from openral.hal.drivers.feetech.hal import FeetechHAL

from .feetech_arm import SO101, calibrate
from .feetech_simulator import FeetechSimulator

HOME = SO101.home_position


@pytest.fixture
def simulator() -> Iterator[FeetechSimulator]:
    with FeetechSimulator() as running:
        yield running


@pytest.fixture
def build(simulator: FeetechSimulator, tmp_path: Path) -> Iterator[Callable[..., FeetechHAL]]:
    path = calibrate(simulator, tmp_path)
    built: list[FeetechHAL] = []

    def make(**options: object) -> FeetechHAL:
        settings: dict[str, object] = {"port": simulator.port, "calibration": path}
        settings |= {"timeout": 0.03, "attempts": 6, "ramp_seconds": 0.06}
        built.append(FeetechHAL(SO101, **(settings | options)))  # type: ignore[arg-type]
        return built[-1]

    yield make
    for hal in built:
        with contextlib.suppress(TransportError):  # the test pulled the plug
            hal.close()
