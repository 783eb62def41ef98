"""SimLoop: one thread for the simulation, snapshots and requests for all others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from openral.errors import CapabilityMismatch, TransportError
from openral.graph.states import HalStatus
from openral.hal.build import build_hal
from openral.hal.sim.attached import SimAttachedHAL
from openral.hal.sim.loop import SimLoop
from openral.manifest import ControlMode, load_robot
from openral.sim.sensors.renderer import WrongThread
from tests.hal.chunks import joint_chunk
from tests.hal.kinematic_rollout import KinematicRollout


def until(condition: Callable[[], Any], timeout_s: float = 20.0) -> None:
    give_up = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < give_up, "waited too long"
        time.sleep(0.005)


@pytest.fixture
def loop() -> Iterator[SimLoop]:
    hal = build_hal(load_robot("so101_follower"), "sim")
    assert isinstance(hal, SimAttachedHAL)
    made = SimLoop(hal)
    made.start()
    yield made
    made.stop()


def test_time_runs_by_itself_and_an_action_is_executed(loop: SimLoop) -> None:
    hal = loop.hal
    until(lambda: hal.sim_time_ns() > 100_000_000)
    goal = np.array(hal.robot.home_position) + 0.1
    hal.send_action(joint_chunk([goal], dt=0.3, sequence=9))
    until(lambda: np.allclose(hal.read_state().positions, goal, atol=5e-3))
    assert hal.read_state().motion.sequence == 9
    until(lambda: loop.real_time_factor > 0.0)


def test_pictures_are_taken_on_the_simulations_thread_for_any_other(loop: SimLoop) -> None:
    frames: list[Any] = []

    def look() -> None:
        frames.append(loop.hal.read_image("wrist", (64, 48)))

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(frames) == 4
    assert all(frame.pixels.shape == (48, 64, 3) and frame.pixels.any() for frame in frames)


def test_only_the_simulations_thread_may_step(loop: SimLoop) -> None:
    for step in (loop.hal.step, loop.hal.idle_step):
        with pytest.raises(WrongThread, match="by the thread that connected it"):
            step()


def test_an_estop_from_another_thread_is_acknowledged_when_it_returns(loop: SimLoop) -> None:
    hal = loop.hal
    speed = [0.5] + [0.0] * 5
    hal.send_action(joint_chunk([speed] * 40, mode=ControlMode.JOINT_VELOCITY))
    until(lambda: hal.read_state().fastest_joint > 0.3)
    hal.estop("operator")
    assert hal.read_state().motion.status is HalStatus.STOPPED
    before = hal.sim_time_ns()
    until(lambda: hal.sim_time_ns() > before + 300_000_000)  # time goes on, the robot does not
    assert hal.read_state().fastest_joint < 0.01
    hal.clear_estop()
    until(lambda: hal.read_state().motion.status is HalStatus.HOLDING)


def test_the_scene_is_reset_from_another_thread(loop: SimLoop) -> None:
    loop.hal.reset_scene(3)
    assert loop.hal.read_state().motion.reason == "scene reset"


def test_what_connecting_raises_comes_out_of_start() -> None:
    rollout = KinematicRollout()
    rollout.action_dim = 11
    loop = SimLoop(SimAttachedHAL(rollout.robot, lambda: rollout))
    with pytest.raises(CapabilityMismatch, match="11 numbers"):
        loop.start()
    assert rollout.closed
    assert not loop.alive


def test_a_backend_that_breaks_ends_the_loop_with_its_reason_and_closes_it() -> None:
    rollout = KinematicRollout()
    loop = SimLoop(SimAttachedHAL(rollout.robot, lambda: rollout), real_time_factor=None)
    loop.start()
    rollout.broken = True
    loop.hal.send_action(joint_chunk([rollout.robot.home_position]))
    until(lambda: not loop.alive)
    assert "the backend broke" in str(loop.error)
    assert rollout.closed
    with pytest.raises(TransportError, match="not connected"):
        loop.hal.send_action(joint_chunk([rollout.robot.home_position]))


def test_as_fast_as_it_can_is_faster_than_real_time_for_a_light_backend() -> None:
    rollout = KinematicRollout()
    ticks: list[int] = []
    loop = SimLoop(
        SimAttachedHAL(rollout.robot, lambda: rollout),
        real_time_factor=None,
        on_tick=lambda state: ticks.append(state.stamp_ns),
    )
    start = time.monotonic()
    loop.start()
    until(lambda: len(ticks) > 400)  # 20 s of simulated time
    loop.stop()
    assert ticks == sorted(ticks)
    assert rollout.closed
    assert (ticks[-1] - ticks[0]) * 1e-9 > time.monotonic() - start


def test_a_flood_of_actions_does_not_make_time_run_faster() -> None:
    hal = build_hal(load_robot("so101_follower"), "sim")
    assert isinstance(hal, SimAttachedHAL)
    loop = SimLoop(hal)
    loop.start()
    home = [hal.robot.home_position]
    start, begun = time.monotonic(), hal.read_state().stamp_ns
    while time.monotonic() < start + 1.0:
        hal.send_action(joint_chunk(home))
    simulated = (hal.read_state().stamp_ns - begun) * 1e-9
    assert simulated <= time.monotonic() - start + 0.15
    loop.stop()
