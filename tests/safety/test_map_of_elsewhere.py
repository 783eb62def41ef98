"""A kernel process is sent maps of other places than the robot's: motion is dropped."""

from __future__ import annotations

from typing import Any

import numpy as np

from openral.graph import topics
from openral.ros.codec import types
from tests.ros.conftest import wait_until
from tests.safety.kernel_rig import ACCEPTED, ARMED, DROPPED, MSGS, REJECTED, ROBOT, Rig

CELL = 0.1


class Mapper:
    """Repeats an empty map, all of it seen."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._out = rig.sealed(f"{MSGS}/OccupancyVoxels", topics.VOXELS, topics.SENSOR)
        self.low, self.frame = (-1.5, -1.5, -0.2), ROBOT.base_frame
        self.dims = (30, 30, 20)
        rig.node.create_wall_timer(0.05, self._tell)

    def _tell(self) -> None:
        nothing = np.zeros((int(np.prod(self.dims)) + 7) // 8, np.uint8)
        made: Any = types.new(
            f"{MSGS}/OccupancyVoxels",
            header=self._rig.header(self.frame),
            resolution=CELL,
            dims=np.array(self.dims, np.uint32),
            bits=nothing,
            unknown=nothing,
            healthy=True,
        )
        made.origin.x, made.origin.y, made.origin.z = self.low
        self._out.publish(made)


def test_a_map_that_the_robot_is_not_in_drops_motion_until_one_comes(rig: Rig) -> None:
    mapper = Mapper(rig)
    rig.start_armed("requires_voxels=true")
    around = mapper.low

    def passes() -> bool:
        return bool(rig.propose(rig.stay()).status == ACCEPTED)

    def dropped() -> bool:
        verdict = rig.propose(rig.stay())
        return (verdict.status, verdict.reason) == (DROPPED, "voxel_unavailable")

    wait_until(passes)
    mapper.low = (1.0, -1.5, -0.2)
    wait_until(dropped)
    mapper.low = around
    wait_until(passes)
    mapper.frame = ""
    wait_until(dropped)
    mapper.frame = ROBOT.base_frame
    wait_until(passes)
    assert rig.state.state == ARMED and not rig.events


def test_an_arm_that_reaches_out_of_its_map_is_stopped_where_the_unknown_blocks(rig: Rig) -> None:
    mapper = Mapper(rig)
    rig.start_armed("requires_voxels=true", "unknown_blocks=true")
    wait_until(lambda: rig.propose(rig.stay()).status == ACCEPTED)
    mapper.dims = (30, 30, 6)
    wait_until(lambda: rig.propose(rig.stay()).status == REJECTED)
    assert rig.verdicts[-1].reason == "voxel_collision", rig.verdicts[-1].detail
