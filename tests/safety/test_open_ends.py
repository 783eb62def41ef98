"""What is not known exactly counts to its end: late bases, old grippers, old states of tools."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from openral.bench.robot import bench_robot
from openral.graph.attached_object import AttachedObject
from openral.hal.execution.tool_ik import ToolIK
from openral.manifest import load_robot
from openral.manifest.kinematics import Kinematics
from openral.ros.codec import types
from openral.safety import Box, Gate, Kernel, Sphere
from tests.safety.helpers import HOME_Q, NOW, M, at_home, chunk, mobile_robot

PANDA = load_robot("franka_panda")
TOOL = PANDA.end_effectors[0]
EASY = {"ee_speed_m_s": 50.0, "ee_angular_rad_s": 50.0}


def driving(robot: Any, obstacles: Any, **speeds: float) -> Kernel:
    kernel = Kernel(robot)
    kernel.set_state(robot.home, dict.fromkeys(robot.joint_names, 0.0) | speeds, NOW)
    kernel.set_base((0.0, 0.0, 0.0), NOW)
    kernel.set_world(obstacles, NOW)
    return kernel


def test_a_base_that_starts_late_strays_by_all_that_it_was_told() -> None:
    """It may stand at its start while it has been told to go far: odometry errs there, too."""
    robot = mobile_robot(tracking_error=0.02, margin_m=0.01, stop_s=0.2, **EASY)
    away = chunk(M.BODY_TWIST, np.tile([0.3, 0.0, 0.0], (40, 1)), dt=0.005)
    # The chassis ends at x = -0.24.
    for gap, fine in ((0.02, False), (0.04, True)):
        wall = Box("wall", (-0.24 - gap - 0.05, 0.0, 0.25), (0.05, 0.5, 0.2))
        assert driving(robot, [wall]).validate(away, NOW).accepted is fine


def test_a_base_may_keep_its_velocity_for_the_time_of_a_stop_and_then_be_stopped() -> None:
    """Told to stand, it may go on for `stop_s`; a stop at that time takes it on once more."""
    robot = mobile_robot(tracking_error=0.0, stop_s=0.4, base_deceleration_m_s2=10.0, **EASY)
    still = chunk(M.BODY_TWIST, np.zeros((12, 3)), dt=0.05)
    speed = 0.2
    front = 0.34  # of the chassis
    margin = robot.safety.margin_m
    for way, fine in ((1.9, False), (2.1, True)):
        gap = way * speed * 0.4 + margin
        wall = Box("wall", (front + gap + 0.05, 0.0, 0.25), (0.05, 0.5, 0.2))
        assert driving(robot, [wall], base_x=speed).validate(still, NOW).accepted is fine, way


def test_a_base_recovers_from_a_wall() -> None:
    robot = mobile_robot(tracking_error=0.02, **EASY)
    wall = Box("wall", (-0.24 - 0.005 - 0.05, 0.0, 0.25), (0.05, 0.5, 0.2))
    kernel = driving(robot, [wall])
    share = robot.safety.recovery_speed * 0.9
    away = chunk(M.BODY_TWIST, np.tile([share, 0.0, 0.0], (10, 1)), dt=0.05)
    assert kernel.validate(away, NOW).status == "world_collision"
    kernel.recover()
    assert kernel.validate(away, NOW).accepted and kernel.gate is Gate.RECOVERING
    towards = chunk(M.BODY_TWIST, np.tile([-share, 0.0, 0.0], (10, 1)), dt=0.05)
    assert not kernel.validate(towards, NOW).accepted


def test_a_gripper_outside_its_range_has_gone_on_since_it_was_measured() -> None:
    robot = load_robot("so100_follower")
    arm = list(robot.joint_names[:5])
    home = np.array([robot.home[n] for n in arm])
    stick = AttachedObject(
        "stick", "moving_jaw", (0, 0, 0), (0, -0.25, 0), 0.005, ("gripper_body", "wrist")
    )
    jaw, speed, age = robot.joint("gripper").position_range[1], 3.0, 0.045
    hold = chunk(M.JOINT_POSITION, home[None], joint_names=arm)
    kinematics = Kinematics(robot)
    link = kinematics.links.index("moving_jaw")
    place = kinematics.poses(np.array([*home, jaw + speed * age]))[link]
    x, y, z = (place[:3, :3] @ np.array(stick.p1) + place[:3, 3]).tolist()
    ball = Sphere("ball", (x, y, z), 0.01)

    def verdict(seconds: float) -> Any:
        kernel = Kernel(robot)
        velocities = np.zeros(6)
        velocities[5] = speed
        kernel.set_state([*home, jaw], velocities, stamp_ns=NOW - round(seconds * 1e9))
        kernel.set_world([ball], NOW, [stick])
        return kernel.validate(hold, NOW)

    assert verdict(0.0).accepted
    assert verdict(age).status == "world_collision"


@pytest.mark.parametrize("frame", ["", TOOL.link])
def test_a_tool_keeps_to_its_path_from_wherever_its_joints_are_by_now(frame: str) -> None:
    """Velocities that were found for where the joints should be by now lead on from where they
    were measured."""
    robot, rows = PANDA, 20
    ik = ToolIK(robot, TOOL)
    rng = np.random.default_rng(5)
    solved = 0
    for _ in range(200):
        kernel = Kernel(robot)
        kernel.set_world([], NOW)
        q = np.array(robot.home_position)
        q[:7] += rng.uniform(-0.4, 0.4, 7)
        velocities = np.zeros(len(q))
        velocities[:7] = rng.uniform(-0.8, 0.8, 7)
        kernel.set_state(q, velocities, stamp_ns=NOW - 45_000_000)
        step = np.array([*rng.uniform(-0.004, 0.004, 3), *rng.uniform(-0.02, 0.02, 3)])
        candidate = chunk(M.CARTESIAN_DELTA, np.tile(step, (rows, 1)), frame_id=frame)
        payload = types.encode(candidate)
        verdict = kernel.validate_bytes(payload, NOW)
        if not verdict.accepted:
            continue
        solved += 1
        done = types.decode("openral_msgs/msg/ActionChunk", kernel.action(payload, verdict))
        rates = np.array(done.slots[0].data).reshape(rows, -1)
        pose, at = ik.pose(q), q.copy()
        for rate in rates:
            at[:7] += rate[:7] * done.dt
            turn = Rotation.from_rotvec(step[3:]).as_matrix()
            pose[:3, 3] += pose[:3, :3] @ step[:3] if frame else step[:3]
            pose[:3, :3] = pose[:3, :3] @ turn if frame else turn @ pose[:3, :3]
            there = ik.pose(at)
            assert np.linalg.norm(there[:3, 3] - pose[:3, 3]) <= robot.safety.cartesian_error_m
            off = Rotation.from_matrix(there[:3, :3] @ pose[:3, :3].T).magnitude()
            assert off <= robot.safety.cartesian_error_rad
    assert solved > 10


def test_recovery_leads_out_of_the_margin_before_anything_else() -> None:
    """The hand is near one thing, not inside its margin, and gains; the elbow must not lose."""
    robot = bench_robot(tracking_error=0.03)

    def nearest(spots: Any, gap: float) -> Sphere:
        balls = [Sphere("ball", (float(x), 0.0, float(z)), 0.03) for x, z in spots]
        return next(b for b in balls if at_home(robot, [b]).clearance(HOME_Q)[0] < gap)

    inside = nearest([(x, 0.557) for x in np.arange(-0.6, -0.2, 0.0005)], 0.007)
    ahead = nearest([(0.307, z) for z in np.arange(0.3, 0.62, 0.0005)], 0.014)
    kernel = at_home(robot, [inside, ahead])
    start = float(kernel.clearance(HOME_Q)[0])
    assert 0.005 < start < robot.safety.margin_m
    accepted = 0
    rng = np.random.default_rng(3)
    for _ in range(400):
        goal = HOME_Q.copy()
        goal[:7] += rng.uniform(-0.01, 0.01, 7)
        rows = np.linspace(HOME_Q, goal, 11)[1:]
        kernel = at_home(robot, [inside, ahead])
        kernel.estop("test")
        kernel.recover()
        if kernel.validate(chunk(M.JOINT_POSITION, rows), NOW).accepted:
            accepted += 1
            assert float(kernel.clearance(goal)[0]) > start
    assert accepted > 20
