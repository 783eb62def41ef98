"""WorldStateTeller: publishes the state of the robot and its surroundings for skills."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openral.graph import topics
from openral.graph.joint_readings import JointReadings
from openral.graph.sealed import Secret, subscribe_sealed
from openral.graph.states import SensorState
from openral.graph.topics import LATCHED, ODOM, SAFETY_STATE, SENSOR, STATE, WORLD
from openral.manifest.kinematics import matrix
from openral.manifest.robot import RobotDescription
from openral.ros import msg
from openral.ros.node.node import Node
from openral.ros.stamps import stamp_ns, time_message
from openral.ros.tf.rigid import Rigid
from openral.world.body import Body
from openral.world.object_view import ObjectView

Matrix = NDArray[np.float64]
_STEP_S = 1e-4


class WorldStateTeller:
    """Subscribes to what is needed beyond the joints and assembles WorldState messages."""

    def __init__(
        self,
        node: Node,
        key: Secret,
        robot: RobotDescription,
        readings: JointReadings,
        health: Callable[[], list[Any]],
    ) -> None:
        self._key = key
        self._node, self._robot, self._readings = node, robot, readings
        self._health = health
        self._body = Body(robot)
        self._odom: Any = None
        self._objects = ObjectView(robot)
        self._safety: Any = None
        self._perceived: Callable[[], bool] = lambda: False
        """Whether there is a publisher of perceived objects."""

    def open(self, hz: float) -> list[Callable[[], None]]:
        """Starts subscriptions, and publishing at `hz`; returns the calls that end them."""
        node, hear = self._node, self._node.create_subscription
        with node.context.presence.batch_announcements():
            self._states = node.create_publisher(msg.WorldState, topics.WORLD_STATE, STATE)
            known = hear(
                msg.WorldCollision,
                WORLD,
                lambda message: self._objects.take_known(message, known.source, node.now()),
                LATCHED,
            )
            seen = hear(msg.WorldCollision, topics.OBJECTS, self._objects.take_seen, SENSOR)
            made = [
                known,
                seen,
                hear(msg.SafetyState, SAFETY_STATE, partial(setattr, self, "_safety"), LATCHED),
            ]
            if self._robot.base_joints:
                kind = "nav_msgs/msg/Odometry"
                made.append(subscribe_sealed(node, self._key, kind, ODOM, self._on_odom, SENSOR))
        self._perceived = lambda: seen.publisher_count > 0
        timer = node.create_timer(1 / hz, self.tell)
        return [
            partial(node.destroy_timer, timer),
            *(partial(node.destroy_subscription, one) for one in made),
            partial(node.destroy_publisher, self._states),
        ]

    def tell(self) -> None:
        """Publishes the state, once all joints are known."""
        if self._readings.complete:
            self._states.publish(self.message)

    def forget(self) -> None:
        """Time was set back: drops received messages, which belong to the old time."""
        self._odom = None
        self._objects.forget()

    def message(self) -> msg.WorldState:
        """The present state as a WorldState, stamped with the oldest of its sources."""
        measured = stamp = self._readings.stamp_ns
        around = self._objects.now(self._node.now())
        if seen := self._objects.seen_ns:
            stamp = min(stamp, seen)
        elif self._perceived():
            silent = msg.SensorHealth(name=topics.OBJECTS, state=SensorState.SILENT)
            around.health.append(silent)
        state = msg.WorldState(
            joints=msg.JointState(
                header=msg.Header(stamp=time_message(measured)),
                name=self._readings.names,
                position=self._readings.q.copy(),
                velocity=self._readings.qd.copy(),
            ),
            end_effectors=self._hands(),
            sensors=[*self._health(), *around.health],
            obstacles=list(around.obstacles.values()),
            objects=list(around.objects.values()),
        )
        if self._odom is not None:
            odom = self._odom
            state.has_base = True
            state.base = msg.PoseStamped(odom.header, odom.pose.pose)
            state.base_twist = odom.twist.twist
            stamp = min(stamp, stamp_ns(odom))
        if self._safety is not None:
            state.safety = self._safety
        state.header = msg.Header(stamp=time_message(stamp), frame_id=self._robot.base_frame)
        return state

    def _on_odom(self, odom: Any) -> None:
        self._odom = odom
        self._objects.take_odom(odom)

    def _hands(self) -> list[Any]:
        q, qd = self._readings.q, self._readings.qd
        now = self._body.link_poses(q)
        before = self._body.link_poses(q - qd * _STEP_S)
        after = self._body.link_poses(q + qd * _STEP_S)
        hands = []
        for effector in self._robot.end_effectors:
            tcp = matrix(effector.tcp.xyz, effector.tcp.rpy)
            a, b = before[effector.link] @ tcp, after[effector.link] @ tcp
            hands.append(
                msg.EndEffectorState(
                    name=effector.name,
                    link=effector.link,
                    pose=Rigid.from_matrix(now[effector.link] @ tcp).to_pose(),
                    twist=_twist(a, b, 2 * _STEP_S),
                    opening=self._opening(effector.gripper),
                )
            )
        return hands

    def _opening(self, gripper: str | None) -> float:
        if gripper is None:
            return float("nan")
        low, high = self._robot.joint(gripper).position_range
        q = self._readings.q[self._readings.names.index(gripper)]
        return float(np.clip((q - low) / (high - low), 0.0, 1.0))


def _twist(before: Matrix, after: Matrix, seconds: float) -> msg.Twist:
    linear = (after[:3, 3] - before[:3, 3]) / seconds
    spin = after[:3, :3] @ before[:3, :3].T
    turn = np.array([spin[2, 1] - spin[1, 2], spin[0, 2] - spin[2, 0], spin[1, 0] - spin[0, 1]])
    angular = turn / 2 / seconds
    return msg.Twist(msg.Vector3(*linear.tolist()), msg.Vector3(*angular.tolist()))
