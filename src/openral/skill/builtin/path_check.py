"""PathCheck: whether the safety kernel would accept a path of joint positions."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from openral.manifest import ControlMode, Kinematics
from openral.ros.codec.message import Message
from openral.ros.codec.types import new
from openral.safety import Box, Kernel
from openral.sim.rollout import StaticBox
from openral.skill.skill import Rows, SkillContext

_STATE_AGE_NS = 30_000_000


class PathCheck:
    """The planner's own kernel: what it refuses would be refused on the path to the motors too."""

    def __init__(self, context: SkillContext) -> None:
        self._rate_hz = context.rate_hz
        self._now = _STATE_AGE_NS
        self._kernel = Kernel(context.robot)
        self._root_to_base = Kinematics(context.robot)
        self._robot, self._boxes = context.robot, context.obstacles
        self._base_columns = [context.robot.joint_names.index(j) for j in context.robot.base_joints]
        self.refusal = ""
        """Why the last path was refused, in a sentence."""

    def clear(self, start: Rows, rows: Rows, speed: Rows | None = None) -> bool:
        """Whether the kernel would accept rows (n, dof) of joint positions that begin at `start`.

        `start` and `speed` are the joint positions and velocities before the first row, (dof,).
        """
        self._now += 1_000_000  # a kernel refuses to validate while its clock stands still
        self._kernel.reset()
        # On the graph the kernel uses a state that was measured shortly before.
        self._kernel.set_state(start, speed, stamp_ns=self._now - _STATE_AGE_NS)
        if self._base_columns:
            x, y, yaw = (float(start[column]) for column in self._base_columns)
            self._kernel.set_base((x, y, yaw), self._now)
        to_base = np.asarray(np.linalg.inv(self._base(start)), float)
        self._kernel.set_world([_in_base(box, to_base) for box in self._boxes], self._now)
        verdict = self._kernel.validate(_chunk(rows, 1 / self._rate_hz), self._now)
        self.refusal = "" if verdict.accepted else str(verdict)
        return bool(verdict.accepted)

    def _base(self, q: Rows) -> Rows:
        """Pose of the base frame in the root frame, 4×4: on a mobile robot the two differ."""
        poses = self._root_to_base.poses(q)
        return np.asarray(poses[self._root_to_base.links.index(self._robot.base_frame)])


def _in_base(box: StaticBox, to_base: Rows) -> Box:
    place = np.eye(4)
    place[:3, :3] = Rotation.from_quat(box.pose[3:], scalar_first=True).as_matrix()
    place[:3, 3] = box.pose[:3]
    seen = to_base @ place
    x, y, z, w = Rotation.from_matrix(seen[:3, :3]).as_quat().tolist()
    cx, cy, cz = seen[:3, 3].tolist()
    return Box(box.name, (cx, cy, cz), box.half, (x, y, z, w))


def _chunk(rows: Rows, dt: float) -> Message:
    mode = ControlMode.JOINT_POSITION.byte
    slot = new(
        "openral_msgs/msg/ActionSlot",
        control_mode=mode,
        width=rows.shape[1],
        data=np.asarray(rows, float).ravel(),
    )
    chunk: Message = new(
        "openral_msgs/msg/ActionChunk", control_mode=mode, dt=dt, rows=len(rows), slots=[slot]
    )
    return chunk
