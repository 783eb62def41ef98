"""SimAttachedHAL and MujocoHAL on MuJoCo: modes, hold, e-stop, idling, ramps, pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from openral.errors import CapabilityMismatch, ConfigError, SafetyViolation, TransportError
from openral.graph.states import HalStatus
from openral.hal.build import build_hal
from openral.hal.execution.tool_ik import ToolIK
from openral.hal.protocols import (
    HAL,
    CameraSource,
    DepthSource,
    IdleSteppable,
    LidarSource,
    MobileBase,
    PoseResettable,
    SceneResettable,
    SimTime,
    Steppable,
)
from openral.hal.sim.attached import SimAttachedHAL
from openral.hal.sim.idle import should_idle_step
from openral.hal.sim.mujoco_hal import MujocoHAL
from openral.manifest import ControlMode, load_robot, load_scene, shipped_robots
from openral.sim.registry import make_rollout
from tests.hal.chunks import chunk, joint_chunk, slot


def twin(robot: str = "franka_panda") -> Any:
    hal = build_hal(load_robot(robot), "sim")
    hal.connect()
    return hal


def attached(robot: str = "franka_panda", **options: Any) -> Any:
    hal = build_hal(load_robot(robot), "sim", options, sim_env_yaml="bare")
    hal.connect()
    return hal


def run(hal: Any, seconds: float) -> list[Any]:
    states = []
    for _ in range(round(seconds * 1e9 / hal.tick_ns)):
        hal.step()
        states.append(hal.read_state())
    return states


@pytest.mark.parametrize("robot", shipped_robots())
def test_every_robot_holds_home_and_has_all_capabilities_of_a_simulation(robot: str) -> None:
    hal = twin(robot)
    for protocol in (
        HAL,
        CameraSource,
        DepthSource,
        LidarSource,
        IdleSteppable,
        PoseResettable,
        SceneResettable,
        SimTime,
        Steppable,
        MobileBase,
    ):
        assert isinstance(hal, protocol), protocol
    run(hal, 0.2)
    for _ in range(20):
        assert hal.idle_step()
    state = hal.read_state()
    home = load_robot(robot).home_position
    assert np.allclose(state.positions, home, atol=1e-6)
    assert hal.control_modes == set(load_robot(robot).control_modes)
    assert state.motion.status is HalStatus.HOLDING
    hal.close()
    hal.close()


def test_rows_are_executed_at_their_own_dt_within_a_control_period() -> None:
    hal = twin()
    home = hal.read_state().positions
    rows = home + np.outer(np.arange(1, 21), [0.01, 0, 0, 0, 0, 0, 0, 0])
    hal.send_action(joint_chunk(rows, dt=0.01))  # faster than the scene's 50 Hz
    states = run(hal, 0.2)
    assert [s.motion.row for s in states[::5]] == list(range(0, 20, 2))
    told = np.array([s.motion.applied[0] for s in states])
    assert np.allclose(told, 0.001 * 4 * np.arange(1, 51), atol=1e-9)
    settled = run(hal, 1.0)
    assert settled[0].motion.reason == "finished"
    assert np.allclose(settled[-1].positions, rows[-1], atol=2e-3)


def test_driving_by_the_hal_equals_stepping_the_rollout() -> None:
    """`sim run` and `deploy sim` see the same scene in the same state."""
    hal = attached()
    twin_rollout = make_rollout(load_scene("bare"), load_robot("franka_panda"))
    period = twin_rollout.steps_per_period * twin_rollout.timestep_s
    home = hal.read_state().positions
    for _ in range(25):
        twin_rollout.step(home)
    run(hal, 25 * period)
    assert np.array_equal(hal.read_state().positions, twin_rollout.joint_positions())
    assert hal.sim_time_ns() == twin_rollout.sim_time_ns()
    for camera in ("overhead", "wrist"):
        assert np.array_equal(hal.read_image(camera).pixels, twin_rollout.image(camera))
        assert np.array_equal(hal.read_depth(camera).depth, twin_rollout.depth(camera))
    twin_rollout.close()
    hal.close()


def test_pictures_come_by_sensor_name_and_by_policy_key_with_the_time_of_the_state() -> None:
    hal = twin()
    run(hal, 0.1)
    by_name, by_key = hal.read_image("wrist", (64, 48)), hal.read_image("camera2", (64, 48))
    assert by_name.pixels.shape == (48, 64, 3)
    assert np.array_equal(by_name.pixels, by_key.pixels)
    assert by_name.stamp_ns == hal.read_state().stamp_ns == 100_000_000
    with pytest.raises(ConfigError, match=r"no camera 'front'.*overhead, wrist"):
        hal.read_image("front")
    hal.close()


def test_a_bare_twins_lidar_sees_nothing_as_far_as_it_reaches() -> None:
    robot = load_robot("panda_mobile")
    hal = twin("panda_mobile")
    assert isinstance(hal, MujocoHAL)
    for lidar in robot.lidars:
        scan = hal.read_scan(lidar.name)
        assert scan.ranges.shape == (lidar.beams,)
        assert (scan.ranges == np.float32(lidar.range_m[1])).all()
    with pytest.raises(ConfigError, match="no lidar 'sonar'"):
        hal.read_scan("sonar")


MODES: list[tuple[str, Any, Any]] = [
    (
        "joint_velocity",
        lambda: joint_chunk([[0.2] + [0.0] * 7] * 10, mode=ControlMode.JOINT_VELOCITY),
        lambda before, after: abs(after[0] - before[0] - 0.1) < 3e-3,
    ),
    (
        "joint_trajectory",
        lambda: joint_chunk([[0.1, -0.1]], mode=ControlMode.JOINT_TRAJECTORY, dt=0.5, joints=J[:2]),
        lambda before, after: np.allclose(after[:2] - before[:2], [0.1, -0.1], atol=3e-3),
    ),
    (
        "gripper_binary",
        lambda: chunk(slot(ControlMode.GRIPPER_BINARY, [[0.0]], name="tcp")),
        lambda before, after: after[7] < 0.002 and np.allclose(after[:7], before[:7], atol=2e-3),
    ),
    (
        "gripper_position",
        lambda: chunk(slot(ControlMode.GRIPPER_POSITION, [[0.02]], name="tcp")),
        lambda before, after: abs(after[7] - 0.02) < 1e-3,
    ),
]
J = load_robot("franka_panda").joint_names


@pytest.mark.parametrize(("name", "action", "holds"), MODES, ids=[m[0] for m in MODES])
def test_joint_and_gripper_modes_move_what_they_say(name: str, action: Any, holds: Any) -> None:
    hal = twin()
    before = hal.read_state().positions
    hal.send_action(action())
    run(hal, 1.5)
    assert holds(before, hal.read_state().positions)
    assert hal.read_state().fastest_joint < 1e-2


@pytest.mark.parametrize("mode", ["cartesian_delta", "cartesian_twist", "cartesian_pose"])
def test_cartesian_modes_move_the_simulated_tool(mode: str) -> None:
    robot = load_robot("franka_panda")
    hal = twin()
    ik = ToolIK(robot, robot.end_effectors[0])
    before = ik.pose(hal.read_state().positions)
    if mode == "cartesian_pose":
        from scipy.spatial.transform import Rotation

        quaternion = Rotation.from_matrix(before[:3, :3]).as_quat()
        rows = [
            [*(before[:3, 3] + [0.0, 0.004 * k, -0.002 * k]), *quaternion] for k in range(1, 11)
        ]
    else:
        scale = 1.0 if mode == "cartesian_delta" else 20.0
        rows = [[0.0, 0.004 * scale, -0.002 * scale, 0.0, 0.0, 0.0]] * 10
    hal.send_action(chunk(slot(ControlMode(mode), rows)))
    run(hal, 1.5)
    after = ik.pose(hal.read_state().positions)
    assert np.allclose(after[:3, 3] - before[:3, 3], [0.0, 0.04, -0.02], atol=3e-3)


def test_torques_act_as_torques_and_the_servos_come_back() -> None:
    hal = twin()
    model, data = hal.rollout.mujoco_handles()
    gains = model.actuator_gainprm.copy(), model.actuator_biasprm.copy()
    before = hal.read_state().positions
    torque = np.zeros(8)
    torque[6] = 0.5
    names = [joint.name for joint in hal.robot.driven if joint.role.value == "arm"]
    hal.send_action(
        joint_chunk([torque[:7]] * 2, mode=ControlMode.JOINT_TORQUE, joints=names, dt=0.02)
    )
    hal.step()
    force = data.actuator(hal.robot.driven[6].sim_joint_name).force
    assert force == pytest.approx(0.5)
    moved = run(hal, 0.036)[-1]
    assert moved.velocities[6] > 0.05
    run(hal, 0.5)
    after = hal.read_state()
    assert after.fastest_joint < 1e-2
    assert after.positions[6] > before[6] + 1e-3
    assert np.array_equal(model.actuator_gainprm, gains[0])
    assert np.array_equal(model.actuator_biasprm, gains[1])


def test_idling_right_after_torque_holds_where_the_joints_are() -> None:
    hal = twin()
    hal.send_action(joint_chunk([[0, 0, 0, 0, 0, 0, 1.0, 0]], mode=ControlMode.JOINT_TORQUE))
    run(hal, 0.04)
    at = hal.read_state().positions[6]
    for _ in range(100):
        hal.idle_step()
    assert abs(hal.read_state().positions[6] - at) < 0.05
    assert hal.read_state().fastest_joint < 1e-2


def test_body_twist_drives_the_base_and_odometry_says_so() -> None:
    hal = twin("panda_mobile")
    rows = [[0.4, 0.0, 0.8]] * 20
    hal.send_action(chunk(slot(ControlMode.BODY_TWIST, rows), dt=0.05))
    run(hal, 0.8)
    moving = hal.read_base()
    assert moving.forward == pytest.approx(0.4, abs=0.05)
    assert moving.turn == pytest.approx(0.8, abs=0.1)
    assert abs(moving.left) < 0.05
    run(hal, 1.5)
    at = hal.read_base()
    expected = [0.5 * np.sin(0.8), 0.5 * (1 - np.cos(0.8)), 0.8]
    assert np.allclose([at.x, at.y, at.yaw], expected, atol=5e-3)
    with pytest.raises(CapabilityMismatch, match="no mobile base"):
        twin().read_base()


def test_arm_gripper_and_base_of_one_action_start_in_the_same_tick() -> None:
    hal = twin("panda_mobile")
    start = hal.read_state().motion.applied
    arm = [j.name for j in hal.robot.driven if j.role.value == "arm"]
    hal.send_action(
        chunk(
            slot(ControlMode.JOINT_VELOCITY, [[0.2] * 7], joints=arm),
            slot(ControlMode.GRIPPER_BINARY, [[0.0]], name="tcp"),
            slot(ControlMode.BODY_TWIST, [[0.3, 0.0, 0.0]]),
        )
    )
    hal.step()
    moved = hal.read_state().motion.applied != start
    assert moved[0] and moved[3:].all() and not moved[1:3].any()


def test_free_running_idle_stepper_leaves_the_arm_where_it_was_told_to_be() -> None:
    """Not at zero radians: a position servo reads a zero vector as a target."""
    hal = twin("so101_follower")
    goal = np.array(hal.robot.home_position) + 0.1
    hal.send_action(joint_chunk([goal], dt=0.5))
    run(hal, 1.0)
    at = hal.read_state()
    for _ in range(250):
        assert hal.idle_step()
    after = hal.read_state()
    assert np.allclose(after.positions, at.positions, atol=1e-3)
    assert after.stamp_ns == at.stamp_ns + 250 * hal.tick_ns
    assert np.array_equal(hal.rollout.hold_action(), at.motion.applied)


def test_idling_never_touches_the_state_of_a_commanded_action() -> None:
    plain, idled = twin(), twin()
    rows = np.array(plain.robot.home_position) + np.outer(np.arange(1, 11), np.full(8, -0.003))
    for hal in (plain, idled):
        hal.send_action(joint_chunk(rows))
    run(plain, 0.5)
    run(idled, 0.2)
    motion = idled.read_state().motion
    for _ in range(10):
        idled.idle_step()
    assert idled.read_state().motion is motion
    assert run(idled, 0.3)[-1].motion.applied.tolist() == plain.read_state().motion.applied.tolist()


def test_should_idle_step_yields_within_the_window_and_starts_at_once() -> None:
    assert should_idle_step(0, None)
    assert not should_idle_step(1_000, 900, hold_ns=200)
    assert should_idle_step(1_100, 900, hold_ns=200)


def test_a_refused_action_stamps_the_window_first() -> None:
    hal = twin()
    assert hal.last_action_ns is None
    with pytest.raises(ConfigError):
        hal.send_action(joint_chunk([[0.0]]))
    assert hal.last_action_ns is not None
    before = hal.last_action_ns
    hal.estop("test")
    with pytest.raises(SafetyViolation):
        hal.send_action(joint_chunk([hal.robot.home_position]))
    assert hal.last_action_ns > before


def test_idle_steps_are_not_counted_by_the_episode() -> None:
    hal = attached()
    for _ in range(50):
        hal.idle_step()
    hal.send_action(joint_chunk([hal.robot.home_position], dt=0.02))
    ended = []
    end_period = hal.rollout.end_period
    hal.rollout.end_period = lambda: ended.append(end_period()) or ended[-1]
    run(hal, 0.02)
    assert [step.info["steps"] for step in ended] == [1]


@pytest.mark.parametrize("robot", ["franka_panda", "so101_follower", "ur5e", "panda_mobile"])
def test_mistake_11_an_estop_reaches_the_simulator_is_cleared_and_nothing_drives_to_zero(
    robot: str,
) -> None:
    hal = twin(robot)
    home = np.array(hal.robot.home_position)
    arm = [i for i, j in enumerate(hal.robot.driven) if j.role.value == "arm"]
    speed = np.zeros(home.size)
    speed[arm[0]] = 0.8
    hal.send_action(joint_chunk([speed] * 20, mode=ControlMode.JOINT_VELOCITY))
    assert max(s.fastest_joint for s in run(hal, 0.3)) > 0.5
    hal.estop("operator")
    acknowledged = hal.read_state()
    assert acknowledged.motion.status is HalStatus.STOPPED
    assert acknowledged.motion.reason == "estop: operator"
    frozen_at = hal.sim_time_ns()
    assert not hal.idle_step()
    assert hal.sim_time_ns() == frozen_at
    assert hal.read_state() is acknowledged
    stopped = run(hal, 0.15)[-1]
    assert stopped.fastest_joint < 0.05
    still = run(hal, 1.0)[-1]
    assert still.fastest_joint < 0.01
    assert np.abs(still.positions - stopped.positions).max() < 0.01
    with pytest.raises(SafetyViolation, match="operator"):
        hal.send_action(joint_chunk([home]))
    hal.clear_estop()
    after = run(hal, 0.5)
    assert after[0].motion.status is HalStatus.HOLDING
    assert max(np.abs(s.positions - still.positions).max() for s in after) < 0.01
    assert hal.idle_step()
    hal.send_action(joint_chunk([after[-1].positions], dt=0.1))
    assert run(hal, 0.04)[-1].motion.status is HalStatus.EXECUTING


def test_hold_ends_a_chunk_quickly_and_without_a_jump() -> None:
    hal = twin()
    speed = [0.8] + [0.0] * 7
    hal.send_action(joint_chunk([speed] * 40, mode=ControlMode.JOINT_VELOCITY))
    run(hal, 0.3)
    hal.hold("heartbeat lost")
    held = run(hal, 0.15)
    assert held[0].motion.reason == "heartbeat lost"
    assert held[-1].fastest_joint < 0.05
    assert np.abs(run(hal, 0.5)[-1].positions - held[-1].positions).max() < 5e-3


def test_reset_to_pose_is_a_ramp_within_the_limits() -> None:
    hal = twin()
    speed = [0.5, -0.3] + [0.0] * 6
    hal.send_action(joint_chunk([speed] * 20, mode=ControlMode.JOINT_VELOCITY))
    run(hal, 1.5)
    seconds = hal.reset_to_pose({"panda_joint3": 0.3})
    states = run(hal, seconds + 0.5)
    goal = np.array(hal.robot.home_position)
    goal[2] = 0.3
    assert np.allclose(states[-1].positions, goal, atol=2e-3)
    told = np.array([s.motion.applied for s in states])
    limits = np.array([j.limits.velocity for j in hal.robot.driven])
    assert (np.abs(np.diff(told, axis=0)) <= 0.51 * limits * hal.tick_ns * 1e-9).all()
    assert hal.reset_to_pose(seconds=3.0) == pytest.approx(3.0)
    with pytest.raises(ConfigError, match="no joint 'elbow'"):
        hal.reset_to_pose({"elbow": 0.0})
    with pytest.raises(ConfigError, match=r"9 is outside the limits of 'panda_joint1'"):
        hal.reset_to_pose({"panda_joint1": 9.0})


TRACKING = [
    "aloha_bimanual",
    "franka_panda",
    "h1",
    "openarm",
    "rizon4",
    "so100_follower",
    "so101_follower",
    "ur10e",
    "ur5e",
]


@pytest.mark.parametrize("robot", TRACKING)
def test_joints_stay_within_the_tracking_error_that_the_kernel_counts_on(robot: str) -> None:
    hal = twin(robot)
    pose = {}
    for joint in hal.robot.driven:
        low, high = joint.position_range
        home = hal.robot.home[joint.name]
        room = high - home if high - home > home - low else low - home
        pose[joint.name] = home + np.clip(0.25 * room, -0.5, 0.5)
        if joint.role.value in ("gripper", "hand"):
            pose[joint.name] = home
    states = run(hal, hal.reset_to_pose(pose, 1.0) + 0.3)
    assert max(state.fastest_joint for state in states) > 0.7
    error = max(np.abs(state.positions - state.motion.applied).max() for state in states)
    assert error <= hal.robot.safety.tracking_error


def test_reset_scene_starts_anew_and_time_goes_on() -> None:
    hal = attached()
    hal.send_action(joint_chunk([np.array(hal.robot.home_position) - 0.05], dt=0.3))
    run(hal, 0.2)
    before = hal.sim_time_ns()
    hal.reset_scene(seed=5)
    assert np.allclose(hal.read_state().positions, hal.robot.home_position)
    assert hal.read_state().motion.reason == "scene reset"
    run(hal, 0.1)
    assert hal.sim_time_ns() == before + 100_000_000
    assert np.allclose(hal.read_state().positions, hal.robot.home_position, atol=1e-6)


def test_a_hal_that_is_not_connected_says_so() -> None:
    hal = build_hal(load_robot("ur5e"), "sim")
    for call in (hal.read_state, hal.hold, lambda: hal.send_action(None), hal.clear_estop):
        with pytest.raises(TransportError, match="'ur5e' is not connected"):
            call()


def test_a_scene_with_another_robot_is_refused() -> None:
    hal = SimAttachedHAL(
        load_robot("ur5e"), lambda: make_rollout(load_scene("bare"), load_robot("ur10e"))
    )
    with pytest.raises(CapabilityMismatch, match="holds 'ur10e', not 'ur5e'"):
        hal.connect()
