"""`openral deploy run`: the same graph on a real HAL, its arm simulated at the servos' wire."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from openral.graph import topics
from tests.deploy.small_graph import alive
from tests.hal.conftest import simulator  # noqa: F401 - a fixture
from tests.hal.feetech_arm import calibrate, eventually, require_soft_release
from tests.hal.feetech_simulator import FeetechSimulator
from tests.hal.node_rig import needs_deadlines
from tests.hal.test_ros2_control import PROGRAM
from tests.system.conftest import Deploy
from tests.system.load import slowdown


def arguments(simulator: FeetechSimulator, folder: Path) -> list[str]:  # noqa: F811
    given = {"port": simulator.port, "calibration": calibrate(simulator, folder)}
    given |= {"timeout": 0.05, "attempts": 6, "ramp_seconds": 0.06}
    pairs = [word for key, value in given.items() for word in ("--transport", f"{key}={value}")]
    return ["--robot", "so101_follower", "--yes", *pairs]


@needs_deadlines
def test_a_real_arm_goes_home_and_is_let_go_softly(
    deploy: Deploy,
    simulator: FeetechSimulator,  # noqa: F811
    tmp_path: Path,
) -> None:
    graph = deploy(*arguments(simulator, tmp_path), "--skill", "home", command="run")
    summary = graph.end()
    assert summary["returncode"] == 0, graph.lines
    assert (summary["mode"], summary["clock"]) == ("real", "wall")
    assert summary["verdicts"]["accepted"] > 0
    assert abs(graph.observer.poses[-1].q).max() < 4.0
    eventually(lambda: all(s["torque_enable"] == 0 for s in simulator.registers().values()), "off")
    require_soft_release(simulator)


def test_a_killed_supervisor_leaves_the_arm_without_torque(
    deploy: Deploy,
    simulator: FeetechSimulator,  # noqa: F811
    tmp_path: Path,
) -> None:
    graph = deploy(*arguments(simulator, tmp_path), command="run")
    graph.wait_armed()
    eventually(lambda: all(s["torque_enable"] == 1 for s in simulator.registers().values()), "on")
    members = graph.members
    graph.process.kill()
    graph.process.wait()
    eventually(lambda: all(s["torque_enable"] == 0 for s in simulator.registers().values()), "off")
    eventually(lambda: not [pid for pid in members if alive(pid)], "all processes gone")


@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "frozen"])
def test_a_lost_kernel_stops_the_arm_once_and_lets_it_go_in_order(
    deploy: Deploy,
    simulator: FeetechSimulator,  # noqa: F811
    tmp_path: Path,
    fault: signal.Signals,
) -> None:
    """Nobody confirms the stop, so that it is told again and again: one ramp must be enough."""
    ramp = ("--transport", "estop_policy=release", "--transport", "ramp_seconds=0.5")
    graph = deploy(*arguments(simulator, tmp_path), *ramp, command="run")
    graph.wait_armed()
    eventually(lambda: all(s["torque_enable"] == 1 for s in simulator.registers().values()), "on")
    at = graph.signal("safety_kernel", fault)
    summary = graph.end()
    assert summary["returncode"] == 1
    assert summary["exit_reason"].startswith("safety_kernel")
    assert time.monotonic() - at < 10.0 * slowdown()
    assert not any("did not end: hal" in line for line in graph.lines), graph.lines
    eventually(lambda: all(s["torque_enable"] == 0 for s in simulator.registers().values()), "off")
    for entries in simulator.history().values():
        limits = [d[0] + 256 * d[1] for address, d in entries if address == 48]
        assert limits.count(950) == limits.count(50) == 1, limits


@needs_deadlines
def test_an_estop_is_acknowledged_by_the_arm(
    deploy: Deploy,
    simulator: FeetechSimulator,  # noqa: F811
    tmp_path: Path,
) -> None:
    graph = deploy(*arguments(simulator, tmp_path), command="run")
    graph.wait_armed()
    time.sleep(0.2)
    answer = graph.observer.call(
        "openral_msgs/srv/EStop", topics.ESTOP, source="operator", reason="test"
    )
    assert answer.applied
    assert graph.interrupt()["estop_reasons"] == ["operator: test"]


@needs_deadlines
def test_an_arm_of_a_vendors_driver_moves_and_its_loss_stops_the_run(
    deploy: Deploy, plugins: dict[str, str], domain: int
) -> None:
    """The driver's /joint_states and ours are the same topic, as on most robots."""
    vendor = subprocess.Popen(
        [sys.executable, str(PROGRAM), "ur5e", "trajectory", "", "/"],
        env={**os.environ, "OPENRAL_DOMAIN": str(domain)},
        stdout=subprocess.PIPE,
    )
    try:
        assert vendor.stdout is not None and vendor.stdout.readline() == b"ready\n"
        arm = ("--robot", "ur5e", "--transport", "controllers={arm_controller: {kind: trajectory}}")
        skill = ("--skill", "wave", "--param", "rows=20", "--param", "after=999")
        graph = deploy(*arm, *skill, "--yes", command="run", environment=plugins)
        graph.wait_armed()
        eventually(lambda: graph.observer.poses[-1].speed > 0.02, "it moves")
    finally:
        vendor.kill()
        vendor.communicate()
    summary = graph.end()
    assert summary["returncode"] == 1
    assert "hal" in summary["exit_reason"], summary  # the skill may be the first to end
    assert summary["estop_reasons"], summary
