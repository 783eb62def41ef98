"""A base that moves: views of the world are put where they belong by odometry."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from openral.safety import Box, Capsule, Kernel, Obstacle, Sphere, VoxelGrid
from tests.safety.helpers import NOW, M, at_home, chunk, mobile_robot

ROBOT = mobile_robot()
Pose = tuple[float, float, float]
poses = st.tuples(st.floats(-200, 200), st.floats(-200, 200), st.floats(-7, 7))
seeds = st.integers(0, 2**32 - 1)


def kernel_at(*trail: tuple[Pose, float]) -> Kernel:
    """A kernel that has heard where the base was, each so many seconds ago."""
    kernel = Kernel(ROBOT)
    kernel.set_state(ROBOT.home_position, stamp_ns=NOW)
    for pose, age in trail:
        kernel.set_base(pose, NOW - round(age * 1e9))
    return kernel


def into(pose: Pose, points: np.ndarray) -> np.ndarray:
    """Points of a fixed frame in the frame of a base that is at `pose`."""
    turn = Rotation.from_euler("z", pose[2])
    return np.asarray(turn.inv().apply(points - np.array([pose[0], pose[1], 0.0])))


def boxes(grid: VoxelGrid, pose: Pose) -> list[Obstacle]:
    """Every occupied cell of a grid in a fixed frame as a box in the base's frame."""
    cells = np.argwhere(grid.cells)
    centres = into(pose, np.array(grid.origin) + (cells + 0.5) * grid.resolution)
    x, y, z, w = Rotation.from_euler("z", -pose[2]).as_quat().tolist()
    half = (grid.resolution / 2,) * 3
    return [Box(f"{i}", tuple(c), half, (x, y, z, w)) for i, c in enumerate(centres.tolist())]


def some_grid(rng: np.random.Generator, around: Pose) -> VoxelGrid:
    cells = np.zeros((40, 40, 24), np.uint8)
    count = rng.integers(1, 12)
    cells[tuple(rng.integers(0, (40, 40, 24), (count, 3)).T)] = 1
    corner = np.round((np.array(around[:2]) - 1.0) / 0.05) * 0.05
    return VoxelGrid(cells, (float(corner[0]), float(corner[1]), 0.2), 0.05, fixed=True)


@given(seeds, poses)
@settings(max_examples=60, deadline=None)
def test_a_fixed_map_is_as_far_away_as_its_cells(seed: int, pose: Pose) -> None:
    grid = some_grid(np.random.default_rng(seed), pose)
    seen, known = kernel_at((pose, 0.0)), kernel_at((pose, 0.0))
    seen.set_voxels(grid, NOW - 300_000_000)
    known.set_world(boxes(grid, pose), NOW)
    q = ROBOT.home_position
    gap = seen.clearance(q, 3.0)[0]
    assert gap == pytest.approx(known.clearance(q, 3.0)[0], abs=2e-4)
    margin = ROBOT.safety.margin_m
    if abs(gap - margin) > 1e-3:
        assert bool(seen.clear([q])[0]) == bool(known.clear([q])[0]) == (gap > margin)


@given(seeds, poses, st.tuples(st.floats(-1, 1), st.floats(-1, 1), st.floats(-1, 1)))
@settings(max_examples=60, deadline=None)
def test_obstacles_stay_where_they_were_seen_while_the_base_drives_on(
    seed: int, now: Pose, moved: Pose
) -> None:
    rng = np.random.default_rng(seed)
    then = (now[0] + moved[0], now[1] + moved[1], now[2] + moved[2])
    ends = rng.uniform(-3, 3, (2, 3)) + np.array([now[0], now[1], 1.0])
    old, fresh = into(then, ends), into(now, ends)
    q = ROBOT.home_position
    exact = kernel_at((now, 0.0))
    exact.set_world([_rod(fresh)], NOW)
    truth = exact.clearance(q, 5.0)[0]
    alone = kernel_at((then, 0.4), (now, 0.0))
    alone.set_world([_rod(old)], NOW - 400_000_000)
    assert alone.clearance(q, 5.0)[0] == pytest.approx(truth, abs=2e-4)
    with_map = kernel_at((then, 0.4), (now, 0.0))
    with_map.set_world([_rod(old)], NOW - 400_000_000)
    nothing = np.zeros((8, 8, 8), np.uint8)
    with_map.set_voxels(VoxelGrid(nothing, (now[0], now[1], 0.0), 0.1, fixed=True), NOW)
    assert with_map.clearance(q, 5.0)[0] == pytest.approx(truth, abs=2e-4)
    fixed = kernel_at((now, 0.0))
    fixed.set_world([_rod(ends)], NOW - 400_000_000, fixed=True)
    assert fixed.clearance(q, 5.0)[0] == pytest.approx(truth, abs=2e-4)


def _rod(ends: np.ndarray) -> Capsule:
    return Capsule("rod", tuple(ends[0].tolist()), tuple(ends[1].tolist()), 0.03)


def wall_ahead(pose: Pose, gap: float) -> VoxelGrid:
    """Cells of a fixed lattice that a wall `gap` metres in front of the base's origin touches."""
    corner = (math.floor(pose[0] / 0.05) * 0.05 - 3.0, math.floor(pose[1] / 0.05) * 0.05 - 3.0)
    index = np.stack(np.meshgrid(*[np.arange(n) for n in (120, 120, 20)], indexing="ij"), -1)
    centres = index * 0.05 + 0.025 + np.array([corner[0], corner[1], 0.1])
    local = into(pose, centres.reshape(-1, 3)).reshape(index.shape)
    hit = (np.abs(local[..., 0] - gap - 0.1) < 0.1) & (np.abs(local[..., 1]) < 1.2)
    return VoxelGrid(hit.astype(np.uint8), (corner[0], corner[1], 0.1), 0.05, fixed=True)


@pytest.mark.parametrize("yaw", [0.0, 0.7, 2.5, -1.3])
def test_a_base_stops_short_of_a_wall_wherever_it_stands(yaw: float) -> None:
    pose = (41.3, -17.2, yaw)
    drive = [[0.5, 0.0, 0.0]] * 4  # 0.2 m, and 0.125 m to brake
    for gap, status in ((1.6, "accepted"), (0.6, "voxel_collision"), (0.36, "voxel_collision")):
        kernel = kernel_at((pose, 0.0))
        state = np.array(ROBOT.home_position)
        state[:3] = pose
        kernel.set_state(state, stamp_ns=NOW)
        kernel.set_voxels(wall_ahead(pose, gap), NOW - 200_000_000)
        assert kernel.validate(chunk(M.BODY_TWIST, drive), NOW).status == status, gap
    away = kernel_at((pose, 0.0))
    away.set_voxels(wall_ahead(pose, 0.6), NOW)
    assert away.validate(chunk(M.BODY_TWIST, [[-0.5, 0.0, 0.0]] * 4), NOW).accepted


def test_a_map_that_says_where_it_stands_does_not_age_with_the_base() -> None:
    """In the base's frame, half a metre of driving since the picture is doubt; on a fixed lattice
    it is known."""
    past = [((0.1 * i, 0.0, 0.0), 0.5 - 0.1 * i) for i in range(6)]
    kernel = kernel_at(*past)
    kernel.set_voxels(wall_ahead((0.5, 0.0, 0.0), 1.2), NOW - 450_000_000)
    assert kernel.validate(chunk(M.BODY_TWIST, [[0.3, 0.0, 0.0]] * 2), NOW).accepted


def test_a_map_of_elsewhere_is_none() -> None:
    kernel = kernel_at(((0.0, 0.0, 0.0), 0.0))
    cells = np.zeros((8, 8, 8), np.uint8)
    kernel.set_voxels(VoxelGrid(cells, (60.0, 0.0, 0.0), 0.1, fixed=True), NOW)
    verdict = kernel.validate(chunk(M.BODY_TWIST, [[0.1, 0.0, 0.0]]), NOW)
    assert verdict.status == "voxel_unavailable" and not verdict.latched


def test_odometry_that_goes_back_in_time_starts_anew() -> None:
    kernel = kernel_at(((5.0, 0.0, 0.0), -3.0), ((0.0, 0.0, 0.0), 0.0))
    kernel.set_world([Box("crate", (1.0, 0.0, 0.4), (0.1, 0.1, 0.1))], NOW)
    assert kernel.validate(chunk(M.BODY_TWIST, [[-0.1, 0.0, 0.0]]), NOW).accepted


def test_a_pose_that_was_overtaken_changes_nothing() -> None:
    kernel = kernel_at(((0.0, 0.0, 0.0), 0.3), ((0.3, 0.0, 0.0), 0.0), ((9.0, 9.0, 0.0), 0.01))
    kernel.set_world([Box("crate", (1.3, 0.0, 0.4), (0.1, 0.1, 0.1))], NOW - 300_000_000)
    gap = kernel.clearance(ROBOT.home_position, 2.0)[0]
    exact = kernel_at(((0.3, 0.0, 0.0), 0.0))
    exact.set_world([Box("crate", (1.0, 0.0, 0.4), (0.1, 0.1, 0.1))], NOW)
    assert gap == pytest.approx(exact.clearance(ROBOT.home_position, 2.0)[0], abs=1e-4)


def test_a_view_from_before_odometry_began_is_dropped_and_not_a_stop() -> None:
    """Nobody knows where it belongs, so it is neither clear nor a hit."""
    kernel = kernel_at(((0.0, 0.0, 0.0), 0.0))
    kernel.set_world([Box("crate", (1.0, 0.0, 0.4), (0.1, 0.1, 0.1))], NOW - 900_000_000)
    verdict = kernel.validate(chunk(M.BODY_TWIST, [[0.1, 0.0, 0.0]]), NOW)
    assert verdict.status == "base_unavailable" and not verdict.latched
    kernel.set_world([Box("crate", (2.0, 0.0, 0.4), (0.1, 0.1, 0.1))], NOW)
    assert kernel.validate(chunk(M.BODY_TWIST, [[0.1, 0.0, 0.0]]), NOW).accepted


@pytest.mark.parametrize("age_s", [0.15, 0.9])
def test_a_list_of_nothing_from_before_odometry_began_is_no_reason_for_doubt(age_s: float) -> None:
    """It belongs nowhere: a base that had just come up was refused as if it might be elsewhere."""
    kernel = kernel_at(((0.0, 0.0, 0.0), 0.0))
    kernel.set_voxels(wall_ahead((0.0, 0.0, 0.0), 0.8), NOW)
    known = kernel.validate(chunk(M.BODY_TWIST, [[0.3, 0.0, 0.0]] * 4), NOW)
    kernel.set_world([], NOW - round(age_s * 1e9))
    verdict = kernel.validate(chunk(M.BODY_TWIST, [[0.3, 0.0, 0.0]] * 4), NOW)
    assert known.accepted and verdict.accepted, str(verdict)


@pytest.mark.parametrize("scalar", [False, True])
def test_a_base_may_drive_an_arc_around_a_post(scalar: bool) -> None:
    robot = mobile_robot(tracking_error=0.0)
    post = (0.0, 0.6, 0.1)  # the middle of the arc: its distance stays the same all the way
    kernel = at_home(robot, [Sphere("post", post, 0.01)], scalar_only=scalar)
    room = kernel.clearance(robot.home_position, 2.0)[0] - robot.safety.margin_m
    around = chunk(M.BODY_TWIST, np.tile([0.3, 0.0, 0.5], (4, 1)), dt=1.5)
    for more, accepted in ((-0.002, True), (0.0005, False)):
        kernel.reset()
        kernel.set_world([Sphere("post", post, 0.01 + room + more)], NOW)
        assert kernel.validate(around, NOW).accepted is accepted
