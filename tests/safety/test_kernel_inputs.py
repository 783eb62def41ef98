"""What the graph tells the kernel node: by name, by stamp, and unusable where it cannot be used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from openral.errors import ConfigError
from openral.graph.joint_readings import JointReadings
from openral.graph.obstacles import Box, Capsule, Sphere, obstacle
from openral.graph.voxel_message import MAX_CELLS, voxel_grid
from openral.manifest import load_robot
from openral.ros.codec import types
from openral.ros.stamps import time_message
from openral.safety.kernel import Kernel
from openral.safety.node.known_objects import KnownObjects
from openral.safety.node.map_cover import MapCover
from openral.safety.node.obstacle_views import tell_voxels
from openral.safety.node.running_chunk import RunningChunk
from tests.hal.chunks import joint_chunk
from tests.safety.helpers import M, chunk

ROBOT = load_robot("ur5e")
HOME = np.array(ROBOT.home_position)
MSGS = "openral_msgs/msg"
NOW = 9_000_000_000


def header(frame: str = "", stamp: int = NOW) -> Any:
    return types.new("std_msgs/msg/Header", stamp=time_message(stamp), frame_id=frame)


def joints(names: list[str], q: Any, stamp: int, qd: Any = None) -> Any:
    return types.new(
        "sensor_msgs/msg/JointState",
        header=header(stamp=stamp),
        name=names,
        position=np.asarray(q, float),
        velocity=np.zeros(len(q)) if qd is None else np.asarray(qd, float),
    )


def cover(grid: Any, stamp: int) -> None:
    MapCover(ROBOT).require(armed(), grid, stamp, HOME)


def verdict(kernel: Kernel) -> str:
    kernel.reset()
    return kernel.validate(joint_chunk([HOME] * 2), NOW).status


def armed() -> Kernel:
    kernel = Kernel(ROBOT)
    kernel.set_state(HOME, stamp_ns=NOW)
    return kernel


@given(st.permutations(range(6)), st.integers(1, 5))
def test_a_state_in_parts_is_as_old_as_its_oldest_part(order: list[int], cut: int) -> None:
    readings, kernel = JointReadings(ROBOT), armed()
    names = [ROBOT.joint_names[i] for i in order]
    readings.take(joints([*names[:cut], "stranger"], [*HOME[order][:cut], 7.0], NOW - 50))
    assert not readings.complete
    readings.tell(kernel)
    assert verdict(kernel) == "state_unavailable"
    readings.take(joints(names[cut:], HOME[order][cut:], NOW))
    assert readings.complete and readings.stamp_ns == NOW - 50
    assert np.array_equal(readings.q, HOME)
    readings.tell(kernel)
    assert verdict(kernel) == "accepted"


def test_a_state_without_velocities_is_none() -> None:
    readings = JointReadings(ROBOT)
    readings.take(joints(ROBOT.joint_names, HOME, NOW, qd=[]))
    assert not readings.complete


def primitive(shape: int, size: list[float], **fields: Any) -> Any:
    made = types.new(f"{MSGS}/CollisionPrimitive", id="it", shape=shape, **fields)
    made.size = np.array(size)
    made.pose.position.x = 1.0
    return made


def test_primitives() -> None:
    assert obstacle(primitive(0, [0.2, 0, 0])) == Sphere("it", (1.0, 0.0, 0.0), 0.2)
    box = obstacle(primitive(1, [0.2, 0.4, 0.6]))
    assert isinstance(box, Box) and box.half == (0.1, 0.2, 0.3)
    lying = primitive(2, [0.1, 2.0, 0])
    lying.pose.orientation.y = lying.pose.orientation.w = np.sqrt(0.5)
    capsule = obstacle(lying)
    assert isinstance(capsule, Capsule) and capsule.radius == 0.1
    assert np.allclose([capsule.p0, capsule.p1], [[0, 0, 0], [2, 0, 0]])


@pytest.mark.parametrize(
    ("frame", "made"),
    [
        ("map", primitive(0, [0.1, 0, 0])),
        ("", primitive(0, [0.1, 0, 0])),
        (ROBOT.base_frame, primitive(0, [0.1, 0, 0], attached_link="no_such_link")),
        (ROBOT.base_frame, primitive(7, [0.1, 0, 0])),
        (ROBOT.base_frame, primitive(0, [float("nan"), 0, 0])),
    ],
)
def test_a_world_that_cannot_be_used_drops_motion(frame: str, made: Any) -> None:
    kernel = armed()
    good = types.new(f"{MSGS}/WorldCollision", header=header(ROBOT.base_frame))
    known = KnownObjects(kernel)
    world = known.take(good, 0, NOW)
    assert world is not None and world.obstacles == []
    assert verdict(kernel) == "accepted"
    bad = types.new(f"{MSGS}/WorldCollision", header=header(frame), primitives=[made])
    with pytest.raises(ConfigError):
        known.take(bad, 0, NOW)
    assert verdict(kernel) == "world_unavailable"
    with pytest.raises(ConfigError):  # what another publisher says does not mend it
        known.take(good, 1, NOW)
    assert verdict(kernel) == "world_unavailable"
    known.take(good, 0, NOW)
    assert verdict(kernel) == "accepted"


def voxels(cells: Any, encoding: int, **fields: Any) -> Any:
    flat = np.asarray(cells).transpose(2, 1, 0).ravel()
    made = types.new(
        f"{MSGS}/OccupancyVoxels",
        header=header(ROBOT.base_frame),
        resolution=0.05,
        dims=np.array(np.shape(cells), np.uint32),
        encoding=encoding,
        healthy=True,
        **fields,
    )
    made.origin.x = made.origin.y = made.origin.z = -0.01
    if encoding == 0:
        made.bits = np.packbits(flat, bitorder="little")
    else:
        made.cells = np.flatnonzero(flat).astype(np.uint32)
    return made


grids = hnp.arrays(bool, hnp.array_shapes(min_dims=3, max_dims=3, max_side=6))


@given(grids, st.integers(0, 1))
def test_voxels_in_both_encodings(cells: Any, encoding: int) -> None:
    message = types.decode(f"{MSGS}/OccupancyVoxels", types.encode(voxels(cells, encoding)))
    assert np.array_equal(voxel_grid(message, False).cells, cells)
    x, y, z = np.array(cells.shape) - 1
    index = x + cells.shape[0] * (y + cells.shape[1] * z)
    message.unknown = np.zeros((cells.size + 7) // 8, np.uint8)
    message.unknown[index // 8] = 1 << index % 8
    blocked = cells.copy()
    blocked[x, y, z] = True
    blocked[[0, -1]] = blocked[:, [0, -1]] = blocked[:, :, -1] = True
    assert np.array_equal(voxel_grid(message, True).cells, blocked)
    assert np.array_equal(voxel_grid(message, False).cells, cells)


def test_voxels_that_cannot_be_used_drop_motion() -> None:
    cells = np.zeros((4, 4, 4), bool)
    sick = voxels(cells, 0)
    sick.healthy = False
    short = voxels(cells, 0)
    short.bits = short.bits[:-1]
    beyond = voxels(cells, 1)
    beyond.cells = np.array([64], np.uint32)
    odd = voxels(cells, 0)
    odd.encoding = 9
    blind = voxels(cells, 0)
    with pytest.raises(ConfigError, match="does not tell"):
        tell_voxels(armed(), blind, True, cover)
    elsewhere = voxels(cells, 0)
    elsewhere.header = header("camera")
    nowhere = voxels(cells, 0)
    nowhere.header = header("")
    aside = voxels(cells, 0)
    aside.origin.y = 1.0
    for bad in (sick, short, beyond, odd, elsewhere, nowhere, aside):
        kernel = armed()
        tell_voxels(kernel, voxels(cells, 0), False, cover)
        assert verdict(kernel) == "accepted"
        with pytest.raises(ConfigError):
            tell_voxels(kernel, bad, False, cover)
        assert verdict(kernel) == "voxel_unavailable"
    huge = voxels(cells, 1)
    huge.dims = np.array([MAX_CELLS, 2**31, 2**31], np.uint32)
    kernel = armed()
    tell_voxels(kernel, huge, False, cover)
    assert verdict(kernel) == "voxel_overflow"


@given(st.integers(1, 12), st.floats(0.01, 0.2), st.floats(0, 2), st.booleans())
def test_what_is_left_of_a_motion(rows: int, dt: float, share: float, told: bool) -> None:
    made: Any = chunk(M.JOINT_VELOCITY, np.tile([0.01, 0, 0, 0, 0, 0.1], (rows, 1)), dt=dt)
    running = RunningChunk(types.encode(made), 3, NOW, 50_000_000)
    started = NOW
    if told:  # the HAL began a little later
        started += 2_000_000
        at = started + round(dt * 1e9 * 0.0)
        hal = types.new(f"{MSGS}/HalState", header=header(stamp=at), sequence=3, row=0)
        running.heard(hal)
    length = rows * dt * 1e9
    now = started + round(share * length)
    left: Any = running.remainder(now)
    done = (now - (NOW if not told else max(NOW, started - dt * 1e9))) / length
    if left is None or done >= 1 + 1e-6:
        assert left is None and done >= 1 - 1e-6  # the end itself is a matter of rounding
        return
    table = np.reshape(left.slots[0].data, (left.rows, 6))
    assert table.sum(axis=0) == pytest.approx((1 - done) * rows * made.slots[0].data[:6], abs=1e-6)
    assert left.dt == made.dt


def test_time_without_a_proof_is_noticed() -> None:
    made: Any = chunk(M.JOINT_TORQUE, np.zeros((10, 6)), dt=0.1)
    running = RunningChunk(types.encode(made), 1, NOW, 50_000_000)
    assert not running.proven_to_the_end
    assert not running.overran(NOW + 49_000_000)
    assert running.overran(NOW + 51_000_000)
    assert running.overran(NOW - 1)
    running.renew(NOW + 960_000_000, 50_000_000)
    assert running.proven_to_the_end and not running.overran(NOW + 2_000_000_000)
