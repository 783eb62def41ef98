"""What each control mode means to the kernel, on an arm beside a wall."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from openral.bench.robot import bench_robot
from openral.manifest.kinematics import Kinematics, matrix
from openral.safety import Box, Sphere, VoxelGrid
from tests.safety.helpers import HOME_Q, NOW, M, at_home, chunk, composite, mobile_robot

ARM = [f"joint{i + 1}" for i in range(7)]
FLOOR = Box("floor", (0.4, 0.0, -0.3), (1.0, 1.0, 0.05))


def tool_pose(q: np.ndarray) -> np.ndarray:
    robot = bench_robot()
    kinematics = Kinematics(robot)
    hand = kinematics.poses(q)[kinematics.links.index("hand")]
    return hand @ matrix(robot.end_effectors[0].tcp.xyz, (0, 0, 0))


WALL_X = float(tool_pose(HOME_Q)[0, 3]) + 0.2  # in front of the tool
WALL = Box("wall", (WALL_X + 0.05, 0.0, 0.5), (0.05, 1.0, 0.8))


def ramp(rows: int, **steps: float) -> np.ndarray:
    out = np.tile(HOME_Q, (rows, 1))
    for name, step in steps.items():
        out[:, ARM.index(name)] += step * np.arange(1, rows + 1)
    return out


def test_positions_along_the_wall_pass_and_into_it_are_refused() -> None:
    kernel = at_home(bench_robot(), [WALL, FLOOR])
    assert kernel.validate(chunk(M.JOINT_POSITION, ramp(10, joint1=0.01)), NOW).accepted
    verdict = kernel.validate(chunk(M.JOINT_POSITION, ramp(40, joint2=0.03)), NOW)
    assert verdict.status == "world_collision"
    assert verdict.object == "wall"
    assert verdict.link in {"hand", "link7", "link6"}
    assert verdict.row > 0
    assert verdict.latched and verdict.stopped
    assert "'wall'" in str(verdict) and "10 mm" in str(verdict)


def test_velocities_integrate_from_the_measured_state() -> None:
    kernel = at_home(bench_robot(), [WALL, FLOOR])
    rows = np.zeros((40, 7))
    rows[:, 1] = 0.6  # 0.03 rad a row at 20 Hz: the same motion as above
    slot = {"joint_names": ARM}
    assert kernel.validate(chunk(M.JOINT_VELOCITY, rows[:3] / 10, **slot), NOW).accepted
    verdict = kernel.validate(chunk(M.JOINT_VELOCITY, rows, **slot), NOW)
    assert verdict.status == "world_collision"
    assert verdict.mode == "joint_velocity"


def test_a_velocity_chunk_counts_the_way_the_robot_needs_to_stop() -> None:
    robot = bench_robot(stop_s=0.001)
    slow = bench_robot(stop_s=1.0)
    rows = np.zeros((4, 7))
    rows[:, 1] = 0.6
    accepted = [
        at_home(r, [WALL, FLOOR]).validate(chunk(M.JOINT_VELOCITY, rows, joint_names=ARM), NOW)
        for r in (robot, slow)
    ]
    assert accepted[0].accepted
    assert accepted[1].status == "world_collision"


def test_torque_without_an_acceleration_limit_is_bounded_by_speed_alone() -> None:
    x, y, z = tool_pose(HOME_Q)[:3, 3]
    near = Sphere("ball", (float(x) + 0.15, float(y), float(z) + 0.1), 0.03)
    kernel = at_home(bench_robot(), [near])  # full speed takes each joint 0.2 rad either way
    rows = np.zeros((2, 8))
    assert kernel.validate(chunk(M.JOINT_TORQUE, rows), NOW).accepted
    rows[:, 0] = 5
    verdict = kernel.validate(chunk(M.JOINT_TORQUE, rows), NOW)
    assert verdict.status == "world_collision"
    assert "cannot be shown to keep 10 mm" in str(verdict)
    kernel.reset()
    rows[:, 0] = 500
    assert kernel.validate(chunk(M.JOINT_TORQUE, rows), NOW).status == "effort_limit"


def test_torque_reaches_as_far_as_its_acceleration_and_holds_for_one_recheck() -> None:
    robot = bench_robot(acceleration=2.0)
    small, large = np.zeros((2, 8)), np.zeros((2, 8))
    small[:, 0], large[:, 0] = 2, 80
    kernel = at_home(robot, [WALL, FLOOR])
    verdict = kernel.validate(chunk(M.JOINT_TORQUE, small), NOW)
    assert verdict.accepted
    assert verdict.valid_ns == round(robot.safety.recheck_s * 1e9)
    near = Sphere("ball", (WALL_X - 0.14, 0.0, float(tool_pose(HOME_Q)[2, 3]) + 0.1), 0.03)
    kernel = at_home(robot, [near])
    assert kernel.validate(chunk(M.JOINT_TORQUE, large), NOW).status == "world_collision"


@pytest.mark.parametrize("mode", [M.CARTESIAN_DELTA, M.CARTESIAN_TWIST, M.CARTESIAN_POSE])
def test_cartesian_steps_pass_in_the_open_and_stop_at_the_wall(mode: M) -> None:
    def rows(step: float, count: int) -> np.ndarray:
        if mode is M.CARTESIAN_POSE:
            start = tool_pose(HOME_Q)
            quat = Rotation.from_matrix(start[:3, :3]).as_quat()
            out = [[*(start[:3, 3] + [step * (i + 1), 0, 0]), *quat] for i in range(count)]
            return np.array(out)
        out = np.zeros((count, 6))
        out[:, 0] = step if mode is M.CARTESIAN_DELTA else step / 0.1
        return out

    kernel = at_home(bench_robot(), [WALL, FLOOR])
    verdict = kernel.validate(chunk(mode, rows(-0.005, 4), dt=0.1), NOW)
    assert verdict.accepted, str(verdict)
    verdict = kernel.validate(chunk(mode, rows(0.02, 11), dt=0.1), NOW)
    assert verdict.status == "world_collision", str(verdict)
    assert verdict.object == "wall"


def test_a_delta_in_the_tool_frame_moves_along_the_tool() -> None:
    # The tool points down at home, so its z is down and the base's z is up.
    step = np.zeros((8, 6))
    step[:, 2] = 0.02
    below = Box("table", (0.6, 0.0, float(tool_pose(HOME_Q)[2, 3]) - 0.2), (0.35, 0.3, 0.05))
    kernel = at_home(bench_robot(), [below])
    up = kernel.validate(chunk(M.CARTESIAN_DELTA, step, dt=0.1, frame_id="link0"), NOW)
    assert up.accepted, str(up)
    down = kernel.validate(chunk(M.CARTESIAN_DELTA, step, dt=0.1, frame_id="hand"), NOW)
    assert down.status == "world_collision"


def test_a_base_brakes_before_the_wall() -> None:
    robot = mobile_robot()
    ahead = Box("wall", (1.6, 0.0, 0.5), (0.1, 2.0, 0.5))
    kernel = at_home(robot, [ahead])
    slow = np.tile([0.05, 0.0, 0.0], (5, 1))
    assert kernel.validate(chunk(M.BODY_TWIST, slow), NOW).accepted
    fast = np.tile([0.4, 0.0, 0.0], (60, 1))
    verdict = kernel.validate(chunk(M.BODY_TWIST, fast), NOW)
    assert verdict.status == "world_collision", str(verdict)
    kernel.reset()
    too_fast = np.tile([50.0, 0.0, 0.0], (2, 1))
    assert kernel.validate(chunk(M.BODY_TWIST, too_fast), NOW).status == "base_speed"


def test_base_joints_driven_as_joints_are_checked_like_the_base() -> None:
    robot = mobile_robot()
    wall = Box("wall", (1.2, 0.0, 0.5), (0.1, 2.0, 0.5))
    kernel = at_home(robot, [wall])
    slot = {"joint_names": ["base_x", "base_y", "base_yaw"]}
    rows = np.tile([0.3, 0.0, 0.0], (3, 1))
    assert kernel.validate(chunk(M.JOINT_VELOCITY, rows, **slot), NOW).accepted
    verdict = kernel.validate(chunk(M.JOINT_VELOCITY, np.tile(rows, (20, 1)), **slot), NOW)
    assert verdict.status == "world_collision"
    kernel.reset()
    torque = kernel.validate(chunk(M.JOINT_TORQUE, rows, **slot), NOW)
    assert torque.status == "unproven"
    kernel.reset()
    way = np.linspace([0.0, 0.0, 0.0], [0.8, 0.0, 0.0], 40)[1:]
    verdict = kernel.validate(chunk(M.JOINT_POSITION, way, **slot), NOW)
    assert verdict.status == "world_collision"


def test_composite_parts_are_judged_together() -> None:
    robot = mobile_robot()
    kernel = at_home(robot)
    base = chunk(M.BODY_TWIST, np.tile([0.1, 0.0, 0.1], (4, 1)))
    hand = chunk(M.CARTESIAN_DELTA, np.tile([0.0, 0.004, 0.0, 0, 0, 0], (4, 1)))
    grip = chunk(M.GRIPPER_BINARY, np.ones((4, 1)))
    verdict = kernel.validate(composite([base, hand, grip]), NOW)
    assert verdict.accepted, str(verdict)
    bad = chunk(M.GRIPPER_POSITION, np.full((4, 1), 9.0))
    verdict = kernel.validate(composite([base, hand, bad]), NOW)
    assert verdict.status == "gripper_range"
    assert verdict.slot == 2
    kernel.reset()
    assert kernel.validate(composite([hand, hand]), NOW).status == "slot_conflict"


def test_arm_and_base_towards_each_other_collide_though_each_alone_would_not() -> None:
    robot = mobile_robot()
    names = [j.name for j in robot.driven if j.role == "arm"]
    home = np.array([robot.home[n] for n in names])
    reach = np.tile(home, (40, 1))
    reach[:, 1] += 0.015 * np.arange(1, 41)
    arm = chunk(M.JOINT_POSITION, reach, joint_names=names)
    base = chunk(M.BODY_TWIST, np.tile([0.12, 0.0, 0.0], (40, 1)))
    statuses = set()
    for x in np.arange(0.6, 1.6, 0.05):
        post = Box("post", (float(x), 0.0, 0.7), (0.05, 0.5, 0.7))
        alone = [at_home(robot, [post]).validate(part, NOW).accepted for part in (arm, base)]
        both = at_home(robot, [post]).validate(composite([arm, base]), NOW)
        statuses.add((*alone, both.accepted))
        assert not both.accepted or all(alone)
    assert (True, True, False) in statuses


def test_grippers_need_no_state_but_keep_their_range() -> None:
    kernel = at_home(bench_robot())
    late = NOW + 10**12
    assert kernel.validate(chunk(M.GRIPPER_POSITION, [[0.03]]), late).accepted
    assert kernel.validate(chunk(M.GRIPPER_BINARY, [[1.0]]), late).accepted
    assert kernel.validate(chunk(M.GRIPPER_BINARY, [[3.0]]), late).status == "gripper_range"


def test_voxels_are_named_by_their_cell() -> None:
    cells = np.zeros((60, 60, 60), bool)
    tool = tool_pose(HOME_Q)[:3, 3]
    origin = (-0.5, -0.75, -0.3)
    cell = np.floor((tool + np.array([0.14, 0, 0.1]) - np.array(origin)) / 0.025).astype(int)
    cells[cell[0], cell[1], cell[2]] = True
    kernel = at_home(bench_robot())
    kernel.set_voxels(VoxelGrid(cells, origin, 0.025), NOW)
    assert kernel.validate(chunk(M.JOINT_POSITION, ramp(3, joint1=0.002)), NOW).accepted
    verdict = kernel.validate(chunk(M.JOINT_POSITION, ramp(30, joint2=0.03)), NOW)
    assert verdict.status == "voxel_collision"
    assert verdict.cell == cell.tolist()


def test_workspace_and_tool_speed() -> None:
    x, y, z = tool_pose(HOME_Q)[:3, 3]
    box = {"low": (x - 0.3, y - 0.1, z - 0.3), "high": (x + 0.3, y + 0.1, z + 0.3)}
    kernel = at_home(bench_robot(workspace=box))
    assert kernel.validate(chunk(M.JOINT_POSITION, ramp(3, joint1=0.01)), NOW).accepted
    assert (
        kernel.validate(chunk(M.JOINT_POSITION, ramp(30, joint1=0.02)), NOW).status == "workspace"
    )
    kernel = at_home(bench_robot(ee_speed_m_s=0.1))
    verdict = kernel.validate(chunk(M.JOINT_POSITION, ramp(10, joint1=0.05)), NOW)
    assert verdict.status == "tool_speed"
    assert verdict.value > verdict.limit == pytest.approx(0.1, rel=1e-5)
