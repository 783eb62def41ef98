"""Ros2ControlHAL against a simulated controller node in another process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openral.errors import CapabilityMismatch, ConfigError, SafetyViolation, TransportError
from openral.graph.states import HalStatus
from openral.hal.build import build_hal
from openral.hal.execution.tool_ik import ToolIK
from openral.hal.protocols import HAL
from openral.manifest import ControlMode, load_robot
from tests.hal.chunks import chunk, joint_chunk, slot
from tests.ros.conftest import _lend_domain

PROGRAM = Path(__file__).parent / "programs" / "controllers.py"
Start = Callable[..., Any]


def until(condition: Callable[[], Any], timeout_s: float = 30.0) -> None:
    give_up = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < give_up, "waited too long"
        time.sleep(0.01)


class Vendor:
    """Starts simulated drivers and connects HALs to them."""

    def __init__(self, domain: int) -> None:
        self.domain = domain
        self.processes: list[subprocess.Popen[str]] = []
        self.hals: list[Any] = []

    def hal(self, robot: str = "ur5e", kind: str = "trajectory", prefix: str = "") -> Any:
        process = subprocess.Popen(
            [sys.executable, str(PROGRAM), robot, kind, prefix],
            env={**os.environ, "OPENRAL_DOMAIN": str(self.domain)},
            stdout=subprocess.PIPE,
            text=True,
        )
        self.processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        described = load_robot(robot)
        # The machine may be busy: let states be older than a real robot's may be.
        described = described.model_copy(
            update={"safety": described.safety.model_copy(update={"state_max_age_s": 1.0})}
        )
        transport = {
            "controllers": {"arm_controller": {"kind": kind}},
            "namespace": "/vendor",
            "domain": self.domain,
            "timeout_s": 30.0,
        }
        if prefix:
            transport["joint_names"] = {name: prefix + name for name in described.joint_names}
        hal = build_hal(described, "real", transport)
        hal.connect()
        self.hals.append(hal)
        return hal

    def close(self) -> None:
        for hal in self.hals:
            hal.close()
        for process in self.processes:
            process.kill()
            process.communicate()


@pytest.fixture(scope="module")
def domain() -> Iterator[int]:
    """A DDS domain that no other test process on this machine uses."""
    yield from _lend_domain()


@pytest.fixture
def vendor(domain: int) -> Iterator[Vendor]:
    made = Vendor(domain)
    yield made
    made.close()


@pytest.mark.parametrize(("kind", "prefix"), [("trajectory", ""), ("position", "left_")])
def test_a_chunk_is_streamed_row_by_row_then_held(vendor: Vendor, kind: str, prefix: str) -> None:
    hal = vendor.hal(kind=kind, prefix=prefix)
    assert isinstance(hal, HAL)
    home = hal.read_state().positions
    assert np.allclose(home, load_robot("ur5e").home_position)
    rows = home + np.outer(np.arange(1, 11), np.full(6, 0.01))
    hal.send_action(joint_chunk(rows, dt=0.05, sequence=4))
    until(lambda: hal.read_state().motion.sequence == 4)
    until(lambda: hal.read_state().motion.reason == "finished")
    until(lambda: np.allclose(hal.read_state().positions, rows[-1], atol=1e-6))
    until(lambda: hal.read_state().fastest_joint < 1e-6)


def test_the_hal_decides_about_modes_and_cartesian_ones_work_on_hardware_too(
    vendor: Vendor,
) -> None:
    hal = vendor.hal()
    with pytest.raises(CapabilityMismatch, match="cannot execute joint_torque"):
        hal.send_action(joint_chunk([[0.0] * 6], mode=ControlMode.JOINT_TORQUE))
    ik = ToolIK(hal.robot, hal.robot.end_effectors[0])
    before = ik.pose(hal.read_state().positions)[:3, 3]
    rows = [[0.0, 0.004, 0.002, 0.0, 0.0, 0.0]] * 10
    hal.send_action(chunk(slot(ControlMode.CARTESIAN_DELTA, rows)))
    expected = before + np.array([0.0, 0.04, 0.02])

    def arrived() -> bool:
        at = ik.pose(hal.read_state().positions)[:3, 3]
        return bool(np.allclose(at, expected, atol=2e-3))

    until(arrived)


def test_an_estop_is_acknowledged_by_joints_at_rest_and_cleared_without_a_jump(
    vendor: Vendor,
) -> None:
    hal = vendor.hal()
    home = hal.read_state().positions
    hal.send_action(joint_chunk([[0.3] * 6] * 100, mode=ControlMode.JOINT_VELOCITY))
    until(lambda: hal.read_state().positions[0] > home[0] + 0.05)
    hal.estop("operator")
    stopped = hal.read_state()
    assert stopped.motion.status is HalStatus.STOPPED
    assert stopped.fastest_joint < 0.05
    with pytest.raises(SafetyViolation, match="operator"):
        hal.send_action(joint_chunk([home]))
    with pytest.raises(SafetyViolation, match="clear the stop"):
        hal.driver.send(home)
    stamp = stopped.stamp_ns
    until(lambda: hal.read_state().stamp_ns > stamp + 300_000_000)
    assert np.abs(hal.read_state().positions - stopped.positions).max() < 0.01
    hal.clear_estop()
    until(lambda: hal.read_state().motion.status is HalStatus.HOLDING)
    assert np.abs(hal.read_state().positions - stopped.positions).max() < 0.01
    hal.send_action(joint_chunk([home], dt=0.5))
    until(lambda: np.allclose(hal.read_state().positions, home, atol=1e-6))


def test_a_driver_that_dies_is_a_latched_fault_that_says_so(vendor: Vendor) -> None:
    hal = vendor.hal()
    vendor.processes[0].kill()

    def failed() -> bool:
        try:
            hal.read_state()
        except Exception as error:
            return "s old; at most" in str(error) or "not listen" in str(error)
        return False

    until(failed)
    until(lambda: hal._executor.stopped)
    with pytest.raises(SafetyViolation, match="fault: joint states"):
        hal.send_action(joint_chunk([hal.robot.home_position]))
    with pytest.raises(Exception, match=r"not listen|s old"):
        hal.clear_estop()


def test_a_hal_that_is_not_connected_says_so() -> None:
    hal = build_hal(load_robot("ur5e"), "real")
    assert ControlMode.JOINT_TORQUE not in hal.control_modes
    with pytest.raises(TransportError, match="'ur5e' is not connected"):
        hal.send_action(joint_chunk([load_robot("ur5e").home_position]))


def test_a_silent_driver_and_a_missing_controller_are_named(vendor: Vendor, domain: int) -> None:
    robot = load_robot("ur5e")
    silent = build_hal(robot, "real", {"domain": domain, "timeout_s": 0.2, "namespace": "/nobody"})
    with pytest.raises(TransportError, match=r"shoulder_pan_joint.*on /nobody/joint_states.*none"):
        silent.connect()
    vendor.hal()
    options = {"domain": domain, "timeout_s": 1.5, "namespace": "/vendor"}
    deaf = build_hal(robot, "real", options)
    with pytest.raises(TransportError, match=r"/vendor/joint_trajectory_controller/joint_traj"):
        deaf.connect()


@pytest.mark.parametrize(
    ("controllers", "text"),
    [
        ("arm_controller", "names with their fields"),
        ({"arm": {"kind": "effort"}}, "controller 'arm': kind is 'effort'"),
        ({"arm": {"joints": ["elbow"]}}, "no joint 'elbow'"),
        ({"arm": {}, "too": {}}, "drive 'shoulder_pan_joint' twice"),
        ({"arm": {"joints": ["elbow_joint"]}}, "drives shoulder_pan_joint, shoulder_lift_joint"),
    ],
)
def test_wrong_controllers_are_refused(controllers: Any, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        build_hal(load_robot("ur5e"), "real", {"controllers": controllers})
