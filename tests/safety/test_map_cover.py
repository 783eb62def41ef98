"""A map says something about the space that it spans: the robot must be in it, and not leave it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from openral.errors import ConfigError
from openral.manifest import RobotDescription, load_robot
from openral.ros.codec import types
from openral.ros.stamps import time_message
from openral.safety import Kernel
from openral.safety.node.map_cover import MapCover
from openral.safety.node.obstacle_views import tell_voxels
from tests.safety.helpers import NOW, M, chunk, mobile_robot

ARM = load_robot("ur5e")
MOBILE = mobile_robot(base_linear_m_s=1.0, base_angular_rad_s=1.0)
CELL = 0.05
Vec3 = tuple[float, float, float]


def empty_map(frame: str, low: Vec3, size: Vec3) -> Any:
    """A healthy map without anything in it, all of it seen."""
    dims = [round(s / CELL) for s in size]
    nothing = np.zeros((int(np.prod(dims)) + 7) // 8, np.uint8)
    made = types.new(
        "openral_msgs/msg/OccupancyVoxels",
        header=types.new("std_msgs/msg/Header", stamp=time_message(NOW), frame_id=frame),
        resolution=CELL,
        dims=np.array(dims, np.uint32),
        bits=nothing,
        unknown=nothing,
        healthy=True,
    )
    made.origin.x, made.origin.y, made.origin.z = low
    return made


def told(robot: RobotDescription, map_: Any, unknown_blocks: bool = False, **at: Any) -> Kernel:
    """A kernel that has seen the robot at home, its base at `at`, and been told of the map."""
    kernel, cover = Kernel(robot, requires_voxels=True), MapCover(robot)
    kernel.set_state(robot.home_position, stamp_ns=NOW)
    if robot.base_joints:
        kernel.set_base(at.get("base", (0.0, 0.0, 0.0)), NOW)
    q = np.array(robot.home_position)

    def require(grid: Any, stamp: int) -> None:
        cover.require(kernel, grid, stamp, q)

    try:
        tell_voxels(kernel, map_, unknown_blocks, require, "odom")
    except ConfigError as error:
        assert "holds no link of the robot" in str(error), str(error)
    return kernel


def stay(kernel: Kernel) -> str:
    arm = [j for j in kernel.robot.driven if j.role == "arm"]
    row = [kernel.robot.home[j.name] for j in arm]
    names = [j.name for j in arm]
    return kernel.validate(chunk(M.JOINT_POSITION, [row] * 2, joint_names=names), NOW).status


@pytest.mark.parametrize(
    ("low", "status"),
    [
        ((-1.0, -1.0, -0.2), "accepted"),
        ((2.0, -1.0, -0.2), "voxel_unavailable"),
        ((-1.0, 1.9, -0.2), "voxel_unavailable"),
        ((-1.0, -1.0, 2.2), "voxel_unavailable"),
    ],
)
def test_a_map_beside_a_fixed_arm_is_no_map(low: Vec3, status: str) -> None:
    assert stay(told(ARM, empty_map(ARM.base_frame, low, (2.0, 2.0, 1.0)))) == status


@pytest.mark.parametrize(
    ("frame", "corner", "status"),
    [
        ("odom", (39.0, -18.0), "accepted"),
        ("odom", (42.3, -18.0), "voxel_unavailable"),
        ("odom", (-1.0, -1.0), "voxel_unavailable"),
        ("chassis", (-1.0, -1.0), "accepted"),
        ("chassis", (39.0, -18.0), "voxel_unavailable"),
    ],
)
def test_a_map_beside_a_base_that_drives_is_no_map(
    frame: str, corner: tuple[float, float], status: str
) -> None:
    """Also one around the place where the robot began, once it is gone from there."""
    made = empty_map(MOBILE.base_frame if frame == "chassis" else frame, (*corner, 0.05), (3, 3, 2))
    assert stay(told(MOBILE, made, base=(41.0, -17.0, 0.7))) == status


def test_no_map_is_taken_before_the_joints_are_known() -> None:
    kernel = Kernel(ARM)
    grid = tell_voxels(
        kernel, empty_map(ARM.base_frame, (-1, -1, -0.2), (2, 2, 2)), False, lambda grid, at: None
    )
    with pytest.raises(ConfigError, match="where the joints are"):
        MapCover(ARM).require(kernel, grid, NOW, np.full(6, np.nan))


@pytest.mark.parametrize(
    ("unknown_blocks", "status"), [(True, "voxel_collision"), (False, "accepted")]
)
def test_a_base_leaves_its_map_only_where_the_unknown_is_free(
    unknown_blocks: bool, status: str
) -> None:
    window = empty_map("odom", (-1.5, -1.5, 0.05), (3.0, 3.0, 2.0))
    within = [[0.3, 0.0, 0.0]] * 4
    beyond = [[0.8, 0.0, 0.0]] * 40
    for rows, expected in ((within, "accepted"), (beyond, status)):
        kernel = told(MOBILE, window, unknown_blocks)
        assert kernel.validate(chunk(M.BODY_TWIST, rows), NOW).status == expected


@pytest.mark.parametrize(
    ("unknown_blocks", "status"), [(True, "voxel_collision"), (False, "accepted")]
)
@pytest.mark.parametrize("side", ["up", "aside"])
def test_an_arm_reaches_out_of_its_map_only_where_the_unknown_is_free(
    unknown_blocks: bool, status: str, side: str
) -> None:
    reach = (3.0, 3.0, 0.8) if side == "up" else (0.6, 0.6, 3.0)
    low = (-1.5, -1.5, -0.2) if side == "up" else (-0.3, -0.3, -0.2)
    kernel = told(ARM, empty_map(ARM.base_frame, low, reach), unknown_blocks)
    assert stay(kernel) == status
