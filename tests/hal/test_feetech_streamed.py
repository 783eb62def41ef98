"""An SO-101 on its (simulated) bus behind the same contract as every other robot."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openral.errors import ConfigError, SafetyViolation, TransportError
from openral.graph.states import HalStatus
from openral.hal.build import build_hal, hal_names
from openral.hal.protocols import HAL, IdleSteppable, Steppable
from openral.manifest import ControlMode, load_robot, shipped_robots

from .chunks import joint_chunk
from .feetech_arm import SO101, calibrate
from .feetech_simulator import FeetechSimulator


def until(condition: Callable[[], Any], timeout_s: float = 20.0) -> None:
    give_up = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < give_up, "waited too long"
        time.sleep(0.01)


@pytest.fixture
def hal(simulator: FeetechSimulator, tmp_path: Path) -> Iterator[Any]:
    transport = {
        "port": simulator.port,
        "calibration": str(calibrate(simulator, tmp_path)),
        "timeout": 0.05,
        "attempts": 6,
        "ramp_seconds": 0.06,
    }
    made = build_hal(SO101, "real", transport)
    made.connect()
    yield made
    with contextlib.suppress(TransportError):  # a test may have pulled the plug
        made.close()


def test_every_robots_hardware_names_an_installed_hal() -> None:
    named = {load_robot(name).hal.real for name in shipped_robots()} - {None}
    assert named <= set(hal_names())


def test_a_chunk_is_executed_and_held(hal: Any) -> None:
    assert isinstance(hal, HAL)
    assert not isinstance(hal, IdleSteppable | Steppable)
    start = hal.read_state().positions
    goal = start.copy()
    goal[0] += 0.2
    rows = [start + (goal - start) * k / 10 for k in range(1, 11)]
    hal.send_action(joint_chunk(rows, dt=0.05, sequence=3))
    until(lambda: hal.read_state().motion.reason == "finished")
    until(lambda: abs(hal.read_state().positions[0] - goal[0]) < 0.01)
    assert np.allclose(hal.read_state().positions[1:], start[1:], atol=0.02)


def test_an_estop_reaches_the_servos_and_clears_without_a_jump(hal: Any) -> None:
    start = hal.read_state().positions
    speed = [0.4] + [0.0] * 5
    hal.send_action(joint_chunk([speed] * 40, mode=ControlMode.JOINT_VELOCITY))
    until(lambda: hal.read_state().positions[0] > start[0] + 0.05)
    hal.estop("operator")
    assert hal.driver.stopped
    assert hal.read_state().motion.status is HalStatus.STOPPED
    until(lambda: hal.read_state().fastest_joint < 0.05)
    at = hal.read_state().positions
    with pytest.raises(SafetyViolation, match="operator"):
        hal.send_action(joint_chunk([start]))
    hal.clear_estop()
    assert not hal.driver.stopped
    until(lambda: hal.read_state().motion.status is HalStatus.HOLDING)
    assert np.abs(hal.read_state().positions - at).max() < 0.02


def test_an_unplugged_arm_is_a_latched_fault(hal: Any, simulator: FeetechSimulator) -> None:
    simulator.unplug()

    def failed() -> bool:
        try:
            hal.read_state()
        except Exception:
            return True
        return False

    until(failed)
    until(lambda: hal._executor.stopped)
    with pytest.raises(SafetyViolation, match="fault"):
        hal.send_action(joint_chunk([SO101.home_position]))


def test_a_missing_port_is_named() -> None:
    described = SO101.model_copy(
        update={"hal": SO101.hal.model_copy(update={"parameters": {"baud_rate": 1_000_000}})}
    )
    with pytest.raises(ConfigError, match="HAL 'feetech' of 'so101_follower' needs 'port'"):
        build_hal(described, "real")
