"""SimAttachedHAL on backends that are not MuJoCo: state, time, width, episodes, idling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from openral.errors import CapabilityMismatch, ConfigError, OpenralError
from openral.graph.states import HalStatus
from openral.hal.protocols import HAL, IdleSteppable, SimTime
from openral.hal.sim.attached import SimAttachedHAL
from openral.manifest import ControlMode
from openral.manifest.skill import Representation
from openral.sim.rollout import SimRollout
from tests.hal.chunks import joint_chunk
from tests.hal.kinematic_rollout import KinematicRollout

PERIOD_NS = 50_000_000


def attach(**options: Any) -> tuple[SimAttachedHAL, KinematicRollout]:
    rollout = KinematicRollout(**options)
    assert isinstance(rollout, SimRollout)
    hal = SimAttachedHAL(rollout.robot, lambda: rollout)
    hal.connect()
    assert isinstance(hal, HAL)
    return hal, rollout


def ramp(start: np.ndarray, by: float, rows: int) -> np.ndarray:
    return start + np.outer(np.arange(1, rows + 1), np.full(start.size, by))


@pytest.mark.parametrize(
    "representation",
    [Representation.JOINT_POSITION, Representation.JOINT_VELOCITY, Representation.JOINT_DELTA],
)
def test_backend_agnostic_joint_state_has_positions_and_velocities(
    representation: Representation,
) -> None:
    hal, rollout = attach(representation=representation)
    home = rollout.q.copy()
    hal.send_action(joint_chunk(ramp(home, -0.01, 4)))
    for _ in range(4):
        hal.step()
    state = hal.read_state()
    assert list(state.names) == rollout.robot.joint_names
    assert np.allclose(state.positions, home - 0.04)
    assert np.allclose(state.velocities, -0.2)
    hal.step()
    assert np.allclose(hal.read_state().velocities, 0.0)
    assert np.allclose(hal.read_state().positions, home - 0.04)


def test_a_short_joint_vector_is_an_error_and_never_padded() -> None:
    rollout = KinematicRollout()
    rollout.missing = 1
    hal = SimAttachedHAL(rollout.robot, lambda: rollout)
    with pytest.raises(OpenralError, match=r"joint_positions of shape \(5,\) for the 6 joints"):
        hal.connect()
    assert rollout.closed
    hal, rollout = attach()
    rollout.missing = 1
    with pytest.raises(OpenralError, match="for the 6 joints"):
        hal.step()


@pytest.mark.parametrize("width", [None, 0, "six"])
def test_an_unknown_action_width_is_an_error_at_connect_never_a_guess(width: Any) -> None:
    rollout = KinematicRollout()
    rollout.action_dim = width
    hal = SimAttachedHAL(rollout.robot, lambda: rollout)
    with pytest.raises(ConfigError, match=r"'kinematic' \(KinematicRollout\).*action_dim"):
        hal.connect()


def test_a_width_that_is_not_the_robots_is_refused_with_its_joints() -> None:
    rollout = KinematicRollout()
    rollout.action_dim = 11
    with pytest.raises(CapabilityMismatch, match=r"11 numbers.*6 driven joints: shoulder_pan"):
        SimAttachedHAL(rollout.robot, lambda: rollout).connect()


def test_a_backend_that_takes_no_joint_actions_is_refused_at_connect() -> None:
    rollout = KinematicRollout(representation=Representation.EE_POSE)
    with pytest.raises(CapabilityMismatch, match=r"as ee_pose.*joint_position"):
        SimAttachedHAL(rollout.robot, lambda: rollout).connect()


def test_the_backend_decides_about_modes() -> None:
    hal, rollout = attach(robot="franka_panda")
    assert ControlMode.JOINT_TORQUE in rollout.robot.control_modes
    assert ControlMode.JOINT_TORQUE not in hal.control_modes
    with pytest.raises(CapabilityMismatch, match="cannot execute joint_torque"):
        hal.send_action(joint_chunk([np.zeros(8)], mode=ControlMode.JOINT_TORQUE))
    hal.step()
    assert np.array_equal(hal.read_state().positions, rollout.robot.home_position)


@pytest.mark.parametrize("clock", ["rewinds", "goes on"])
def test_sim_time_ns_never_decreases_across_resets(clock: Any) -> None:
    hal, _ = attach(clock=clock)
    assert isinstance(hal, SimTime)
    seen = [hal.sim_time_ns()]
    for _ in range(3):
        for _ in range(5):
            hal.step()
            seen.append(hal.sim_time_ns())
        hal.reset_scene()
        seen.append(hal.sim_time_ns())
    hal.idle_step()
    seen.append(hal.sim_time_ns())
    assert np.all(np.diff(np.array(seen, dtype=np.int64)) >= 0)
    assert seen[-1] == 16 * PERIOD_NS
    assert hal.read_state().stamp_ns == seen[-1]


def test_a_backend_without_a_clock_says_so_and_still_executes_rows_at_their_dt() -> None:
    hal, rollout = attach(clock="none")
    assert hal.sim_time_ns() is None
    home = rollout.q.copy()
    hal.send_action(joint_chunk(ramp(home, -0.005, 2), dt=0.1))
    for k in range(1, 5):
        hal.step()
        assert np.allclose(rollout.q, home - 0.0025 * k)


def test_a_terminated_episode_is_reset_before_the_next_real_step_not_at_once() -> None:
    hal, rollout = attach(ends_after=3)
    home = rollout.q.copy()
    hal.send_action(joint_chunk(ramp(home, -0.01, 10)))
    for _ in range(3):
        hal.step()
    for _ in range(4):
        hal.step()
    assert rollout.seeds == [0]
    assert np.allclose(rollout.q, home - 0.03)  # the rest of the chunk was dropped
    assert hal.read_state().motion.reason == "episode over"
    for _ in range(5):
        hal.idle_step()
    assert rollout.seeds == [0]
    hal.send_action(joint_chunk(ramp(rollout.q, -0.01, 3)))
    hal.step()
    assert rollout.seeds == [0, 1]
    assert np.allclose(rollout.q, home)  # that chunk was meant for the pose before the reset
    assert hal.read_state().motion.reason == "scene reset"
    hal.send_action(joint_chunk(ramp(home, -0.01, 1)))
    hal.step()
    assert np.allclose(rollout.q, home - 0.01)


def test_idling_never_ends_or_resets_an_episode() -> None:
    hal, rollout = attach(ends_after=2)
    for _ in range(20):
        assert hal.idle_step()
    assert rollout.seeds == [0]
    assert hal.read_state().motion.status is HalStatus.HOLDING


def test_an_episode_does_not_run_out_by_idle_steps() -> None:
    hal, rollout = attach(max_steps=5)
    for _ in range(20):
        hal.idle_step()
    home = rollout.q.copy()
    hal.send_action(joint_chunk(ramp(home, -0.01, 4)))
    for _ in range(4):
        hal.step()
    assert np.allclose(rollout.q, home - 0.04)
    assert hal.read_state().motion.status is HalStatus.EXECUTING
    hal.step()
    hal.step()
    assert hal.read_state().motion.reason == "episode over"
    assert rollout.seeds == [0]


@pytest.mark.parametrize(
    "representation", [Representation.JOINT_POSITION, Representation.JOINT_VELOCITY]
)
def test_free_running_idle_stepper_uses_the_hold_action_of_the_backend(
    representation: Representation,
) -> None:
    hal, rollout = attach(representation=representation)
    home = rollout.q.copy()
    before = hal.sim_time_ns()
    for _ in range(10):
        assert hal.idle_step()
    assert np.array_equal(rollout.q, home)
    assert np.array_equal(rollout.actions[-1], rollout.hold_action())
    assert hal.sim_time_ns() == before + 10 * PERIOD_NS


def test_idling_stops_with_one_warning_after_its_first_fault(
    capsys: pytest.CaptureFixture[str],
) -> None:
    hal, rollout = attach()
    assert isinstance(hal, IdleSteppable)
    rollout.broken = True
    assert not hal.idle_step()
    rollout.broken = False
    assert not hal.idle_step()
    assert rollout.actions == []
    assert capsys.readouterr().err.count("idle stepping is off") == 1
    hal.send_action(joint_chunk([rollout.q]))
    hal.step()
    assert len(rollout.actions) == 1
