"""How true a map is: the kitchen seen with noise, against what the simulator knows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation

from openral.manifest import load_robot, load_scene
from openral.manifest.kinematics import Kinematics, matrix
from openral.manifest.sensor import DepthCamera
from openral.sim.registry import make_rollout
from openral.sim.sensors.depth_cloud import unproject
from openral.world.body import Body
from openral.world.voxel_map import Lens, MapOptions, VoxelMap

ROBOT = load_robot("panda_mobile")
CAMERA = next(s for s in ROBOT.sensors if isinstance(s, DepthCamera))
OPTICAL = np.array([[0.0, 0, 1, 0], [-1, 0, 0, 0], [0, -1, 0, 0], [0, 0, 0, 1]])
LENS = Lens(CAMERA.lens.fx, CAMERA.lens.fy, CAMERA.lens.cx, CAMERA.lens.cy)


@dataclass
class Sight:
    """One view of the kitchen, in the robot's odometry frame."""

    depth: NDArray[np.float32]
    """As the simulator has it, the robot's own body included."""
    own: NDArray[np.bool_]
    """Pixels that show the robot."""
    q: NDArray[np.float64]

    @cached_property
    def camera(self) -> Any:
        kinematics = Kinematics(ROBOT)
        link = kinematics.poses(self.q)[kinematics.links.index(CAMERA.mount.link)]
        return link @ matrix(CAMERA.mount.xyz, CAMERA.mount.rpy) @ OPTICAL

    @cached_property
    def base(self) -> Any:
        kinematics = Kinematics(ROBOT)
        return kinematics.poses(self.q)[kinematics.links.index(ROBOT.base_frame)]

    def noisy(self, rng: np.random.Generator, sigma: float) -> NDArray[np.float32]:
        noise = rng.normal(0.0, sigma, self.depth.shape)
        return (self.depth + noise).astype(np.float32)

    def points(self) -> Any:
        """Surface points of the kitchen without noise, in the odometry frame."""
        cloud = unproject(np.where(self.own, np.nan, self.depth), CAMERA.lens).reshape(-1, 3)
        low, high = CAMERA.range_m
        cloud = cloud[(cloud[:, 2] >= low) & (cloud[:, 2] <= high)]
        return cloud @ self.camera[:3, :3].T + self.camera[:3, 3]


def sights(poses: list[tuple[float, float, float]]) -> list[Sight]:
    """What the camera sees from some places of the base."""
    rollout = make_rollout(load_scene("kitchen"), ROBOT)
    out = []
    try:
        for pose in poses:
            q = np.array(ROBOT.home_position)
            q[:3] = pose
            rollout.binding.place(rollout.data, q)
            rollout._stale = True
            depth = rollout.depth(CAMERA.name).copy()
            index = rollout._cameras.index(CAMERA.name)
            geoms = rollout.renderer.segments(rollout.data, index, CAMERA.resolution)
            out.append(Sight(depth, rollout._own_geoms[geoms], q))
    finally:
        rollout.close()
    return out


@dataclass
class Quality:
    surface_cells: int
    recall: float
    """Share of the surface cells that are occupied."""
    free_cells: int
    false_occupied: float
    """Share of the free cells, those that touch a surface cell left out, that are occupied."""
    false_beside: float
    """The same with those that touch a surface cell."""


def map_quality(
    seen: list[Sight], views: int, sigma: float = 0.01, options: MapOptions | None = None
) -> tuple[Quality, VoxelMap]:
    """Maps noisy views in turn and compares with the surfaces and rays of the true ones."""
    voxels = VoxelMap(options or MapOptions(low_m=0.05))
    body, rng = Body(ROBOT), np.random.default_rng(3)
    voxels.follow(*np.mean([sight.base[:3, 3] for sight in seen], axis=0).tolist())
    for i in range(views):
        sight = seen[i % len(seen)]
        shapes = body.shapes(sight.q, sight.base)
        noisy = sight.noisy(rng, sigma)
        voxels.see_depth(noisy, LENS, sight.camera, CAMERA.range_m, shapes)
    occupied = voxels.grid().cells.astype(bool)
    surface = np.zeros(occupied.shape, bool)
    crossed = np.zeros(occupied.shape, bool)
    for sight in seen:
        points = sight.points()
        surface[_cells(voxels, points)] = True
        _cross(voxels, crossed, sight.camera[:3, 3], points[::20])
    # The body's padding is not mapped on purpose.
    ignored = _padding(voxels, body, seen)
    surface &= ~ignored
    free = crossed & ~surface & ~ignored
    away = free & ~binary_dilation(surface, np.ones((3, 3, 3)))
    return (
        Quality(
            int(surface.sum()),
            float(occupied[surface].mean()),
            int(away.sum()),
            float(occupied[away].mean()),
            float(occupied[free].mean()),
        ),
        voxels,
    )


def _cells(voxels: VoxelMap, points: Any) -> tuple[Any, ...]:
    at = np.floor((points - np.array(voxels.origin)) / voxels.options.resolution_m).astype(int)
    inside = ((at >= 0) & (at < np.array(voxels.dims))).all(axis=1)
    return tuple(at[inside].T)


def _cross(voxels: VoxelMap, crossed: Any, start: Any, ends: Any) -> None:
    """Marks the cells between a camera and what it sees."""
    way = ends - start
    reach = np.linalg.norm(way, axis=1)
    for s in np.arange(0.35, 5.0, 0.0125):
        far = reach > s
        crossed[_cells(voxels, start + way[far] * (s / reach[far])[:, None])] = True


def _padding(voxels: VoxelMap, body: Body, seen: list[Sight]) -> Any:
    marks = VoxelMap(voxels.options)
    marks._core.recentre(np.array(voxels.origin) + np.array(voxels.dims) * 0.0125 + 1e-6)
    assert np.allclose(marks.origin, voxels.origin)
    for sight in seen:
        shapes = body.shapes(sight.q, sight.base)
        shapes[:, 6] += voxels.options.padding_m
        marks.assume_free(shapes)
    return marks.unpacked(marks.unknown_bits()) == 0
