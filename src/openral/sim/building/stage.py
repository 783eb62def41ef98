"""Stage: a robot's model at the pose that a scene wants, for the scene to build around."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from openral.errors import ConfigError
from openral.manifest import RobotDescription
from openral.manifest.base import Transform
from openral.manifest.kinematics import matrix
from openral.sim.twin.model_source import load_spec
from openral.sim.twin.sensor_mounts import add_sensors
from openral.sim.twin.twin import make_twin

Matrix = NDArray[np.float64]


class Stage:
    """The robot in an empty world.

    What a scene adds to `spec` comes after the robot, so that the robot's bodies, joints and
    actuators keep the lowest indices, whatever their names. A floating base is fixed.
    """

    def __init__(self, robot: RobotDescription, mount: Transform) -> None:
        self.robot = robot
        self.spec = (
            make_twin(robot, base="fixed") if robot.sim.mjcf_uri == "twin:" else load_spec(robot)
        )
        add_sensors(self.spec, robot)
        self.root_pose = self._anchor(matrix(mount.xyz, mount.rpy))
        for key in list(self.spec.keys):
            self.spec.delete(key)  # a keyframe fits the robot alone, not the scene
        self.bodies = len(self.spec.bodies)
        self.joints = len(self.spec.joints)
        self.actuators = len(self.spec.actuators)

    def compile(self) -> mujoco.MjModel:
        """Compiles the model of robot and scene."""
        try:
            return self.spec.compile()
        except (ValueError, mujoco.FatalError) as error:
            raise ConfigError(f"scene with '{self.robot.id}' does not compile: {error}") from None

    def _anchor(self, mount: Matrix) -> Matrix:
        """Fixes the root at the mount; further roots keep their pose relative to it."""
        pose = self.robot.sim.base_pose
        target = mount @ matrix(pose.xyz, pose.rpy)
        roots = list(self.spec.worldbody.bodies)
        if not roots:
            raise ConfigError(f"the model of '{self.robot.id}' has no body")
        move = target @ np.linalg.inv(_pose(roots[0]))
        for body in roots:
            place = move @ _pose(body)
            body.pos = place[:3, 3]
            body.quat = Rotation.from_matrix(place[:3, :3]).as_quat(scalar_first=True)
            for joint in list(body.joints):
                if joint.type == mujoco.mjtJoint.mjJNT_FREE:
                    self.spec.delete(joint)
        return target


def _pose(body: mujoco.MjsBody) -> Matrix:
    out = np.eye(4)
    out[:3, :3] = Rotation.from_quat(np.array(body.quat), scalar_first=True).as_matrix()
    out[:3, 3] = body.pos
    return out
