"""The map by itself: how true it is, what it ignores, and what it can be fed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openral.errors import ConfigError
from openral.graph.states import SensorState
from openral.ros import msg
from openral.world.body import Body
from openral.world.depth_reading import depth_of, lens_of, points_of
from openral.world.joint_history import JointHistory
from openral.world.sensor_watch import SensorWatch
from openral.world.voxel_map import Lens, MapOptions, VoxelMap
from tests.world.quality import CAMERA, LENS, ROBOT, map_quality, sights

NS = 1_000_000_000


def test_the_kitchen_is_mapped_as_it_is() -> None:
    """99 % of what is seen is there, and nothing is where nothing is, at 1 cm of noise."""
    quality, voxels = map_quality(sights([(0.0, 0.0, 0.0), (0.5, 0.1, 0.3)]), 16)
    assert quality.surface_cells > 2000 and quality.free_cells > 200_000
    assert quality.recall >= 0.99
    assert quality.false_occupied <= 0.001
    assert quality.false_beside <= 0.005
    assert voxels.memory < 16e6


def test_the_robots_own_arm_is_not_in_its_map() -> None:
    (sight,) = sights([(0.0, 0.0, 0.0)])
    assert sight.own.mean() > 0.05, "the arm is not in the picture"
    voxels, body = VoxelMap(MapOptions(low_m=0.05)), Body(ROBOT)
    shapes = body.shapes(sight.q, sight.base)
    for _ in range(5):
        voxels.see_depth(sight.depth, LENS, sight.camera, CAMERA.range_m, shapes)
    cells = np.argwhere(voxels.grid().cells)
    centres = np.array(voxels.origin) + (cells + 0.5) * voxels.options.resolution_m
    for row in shapes:
        way = row[3:6] - row[:3]
        t = np.clip((centres - row[:3]) @ way / max(float(way @ way), 1e-12), 0, 1)
        gap = np.linalg.norm(centres - row[:3] - t[:, None] * way, axis=1) - row[6]
        assert gap.min() > 0.04


@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)), min_size=1, max_size=6))
@settings(max_examples=30, deadline=None)
def test_a_rolling_window_keeps_to_its_lattice(places: list[tuple[float, float]]) -> None:
    voxels = VoxelMap(MapOptions(size_m=(1.0, 1.0, 0.4), resolution_m=0.05, low_m=0.05))
    for x, y in places:
        voxels.follow(x, y)
        corner = np.array(voxels.origin) / 0.05
        assert np.allclose(corner, np.round(corner), atol=1e-6)
        assert voxels.origin[2] == pytest.approx(0.05)
        middle = np.array(voxels.origin[:2]) + 0.05 * np.array(voxels.dims[:2]) / 2
        assert np.abs(middle - (x, y)).max() <= 9 * 0.05


def test_what_makes_no_map_is_refused() -> None:
    with pytest.raises(ConfigError, match="cells"):
        VoxelMap(MapOptions(resolution_m=0.001))
    voxels = VoxelMap(MapOptions(size_m=(1.0, 1.0, 1.0)))
    with pytest.raises(ConfigError, match="finite lens and pose"):
        voxels.see_depth(np.ones((8, 8), np.float32), Lens(0, 0, 0, 0), np.eye(4), (0.1, 5.0))
    with pytest.raises(ConfigError, match="centre is finite"):
        voxels.follow(float("nan"), 0.0)


def picture(values: Any, encoding: str, **fields: Any) -> Any:
    height, width = values.shape
    made = msg.Image(height=height, width=width, encoding=encoding, step=values.strides[0])
    made.data = np.frombuffer(values.tobytes(), np.uint8)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def about(width: int, height: int, f: float = 100.0) -> Any:
    k = np.array([f, 0, width / 2, 0, f, height / 2, 0, 0, 1.0])
    return msg.CameraInfo(width=width, height=height, k=k)


def test_depth_in_metres_and_in_millimetres() -> None:
    metres = np.linspace(0.5, 2.0, 12, dtype=np.float32).reshape(3, 4)
    assert np.array_equal(depth_of(picture(metres, "32FC1"), about(4, 3)), metres)
    swapped = picture(metres.astype(">f4"), "32FC1", is_bigendian=1)
    assert np.array_equal(depth_of(swapped, about(4, 3)), metres)
    whole = np.round(metres * 1000).astype(np.uint16)
    assert depth_of(picture(whole, "16UC1"), about(4, 3)) == pytest.approx(metres, abs=1e-3)
    assert lens_of(about(4, 3)) == Lens(100.0, 100.0, 2.0, 1.5)


@pytest.mark.parametrize(
    ("image", "info"),
    [
        (picture(np.ones((3, 4), np.float32), "rgb8"), about(4, 3)),
        (picture(np.ones((3, 4), np.float32), "32FC1"), about(2, 2)),
        (picture(np.ones((3, 4), np.float32), "32FC1", step=3), about(4, 3)),
        (picture(np.ones((3, 4), np.float32), "32FC1", data=np.zeros(5, np.uint8)), about(4, 3)),
    ],
)
def test_what_is_no_depth_picture_is_refused(image: Any, info: Any) -> None:
    with pytest.raises(ConfigError):
        depth_of(image, info)


def test_clouds_with_other_fields_between() -> None:
    table = np.zeros((5, 5), np.float32)
    table[:, [0, 2, 3]] = np.arange(15).reshape(5, 3)
    fields = [msg.PointField(n, 4 * c, 7, 1) for n, c in zip("xyz", (0, 2, 3), strict=True)]
    cloud = msg.PointCloud2(
        height=1, width=5, fields=fields, point_step=20, row_step=100,
        data=np.frombuffer(table.tobytes(), np.uint8),
    )  # fmt: skip
    assert np.array_equal(points_of(cloud), np.arange(15).reshape(5, 3))
    cloud.fields = fields[:2]
    with pytest.raises(ConfigError, match="without z"):
        points_of(cloud)


def test_a_sensor_is_silent_then_well_then_stale() -> None:
    watch = SensorWatch("eye", 0.5)
    assert watch.state(NS)[0] is SensorState.SILENT
    for i in range(5):
        watch.used(NS + i * NS // 10)
    now = NS + 4 * NS // 10
    assert watch.state(now)[0] is SensorState.OK
    assert watch.message(now).rate == pytest.approx(10.0)
    assert watch.state(now + NS)[0] is SensorState.STALE
    assert watch.state(now - NS)[0] is SensorState.STALE, "time went back"
    watch.failed(SensorState.BLIND, "dark")
    assert watch.state(now) == (SensorState.BLIND, "dark")
    watch.used(now + NS // 10)
    assert watch.state(now + NS // 10)[0] is SensorState.OK


@given(
    st.lists(st.integers(0, 10**10), min_size=1, max_size=30, unique=True), st.integers(0, 10**10)
)
def test_joints_are_interpolated_and_never_guessed(stamps: list[int], asked: int) -> None:
    history = JointHistory()
    kept: list[int] = []
    for stamp in stamps:
        history.add(stamp, np.array([stamp * 1e-9]))
        if kept and stamp < kept[-1] - NS:  # time was set back
            kept = []
        if not kept or stamp > kept[-1]:
            kept.append(stamp)
    found = history.at(asked)
    if asked > kept[-1] or asked < kept[0]:
        assert found is None
    elif found is not None:
        assert found[0] == pytest.approx(asked * 1e-9, abs=1e-6)


def held(name: str, link: str) -> Any:
    made = msg.CollisionPrimitive(id=name, shape=0, attached_link=link)
    made.size = np.array([0.05, 0.0, 0.0])
    made.pose.position.z = 0.15
    return made


def test_what_is_grasped_leaves_the_map_and_goes_with_the_hand() -> None:
    body, q, hand = Body(ROBOT), np.array(ROBOT.home_position), ROBOT.end_effectors[0].link
    assert body.hold([held("cup", hand)]) == ["cup"]
    assert body.hold([held("cup", hand)]) == [], "it is not new"
    (cup,) = body.shapes(q, np.eye(4), ["cup"])
    assert len(body.shapes(q, np.eye(4))) == len(Body(ROBOT).shapes(q, np.eye(4))) + 1
    moved = q.copy()
    moved[3] += 0.3
    assert np.linalg.norm(body.shapes(moved, np.eye(4), ["cup"])[0, :3] - cup[:3]) > 0.1
    voxels = VoxelMap(MapOptions(size_m=(2.0, 2.0, 2.0), low_m=0.0))
    voxels.follow(0.0, 0.0)
    points = (cup[:3] + np.random.default_rng(1).uniform(-0.04, 0.04, (500, 3))).astype(np.float32)
    voxels.see_points(points, np.eye(4), (0.1, 5.0))
    assert voxels.grid().cells.any()
    voxels.hide(body.shapes(q, np.eye(4), ["cup"]))
    assert not voxels.grid().cells.any()
    voxels.see_points(points, np.eye(4), (0.1, 5.0), *body.parts(q, np.eye(4)))
    assert not voxels.grid().cells.any(), "what is held is the robot's"
    assert body.hold([]) == [] and not body.held
    with pytest.raises(ConfigError, match="no link of the robot"):
        body.hold([held("cup", "tentacle")])
