"""The skill scripted-push: pushes the cube onto the goal, with any arm that can reach both."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openral.errors import CapabilityMismatch, ConfigError
from openral.manifest.base import Model, Positive
from openral.manifest.parts import EndEffector
from openral.sim.building.reach import survey
from openral.sim.rollout import Observation
from openral.skill.builtin.arm import Arm
from openral.skill.builtin.path_check import PathCheck
from openral.skill.builtin.pusher import Pace, Pusher
from openral.skill.builtin.tool_shape import ToolShape, closed_position
from openral.skill.skill import Rows, SkillContext

Vector = NDArray[np.float64]

_JOINT_SPEED = 0.5  # of each joint's limit
_WAIT_ROWS = 10  # held after an observation that led to no plan
_CORNER = 1.42  # a cube's corner is this much farther from its centre than its side
_ROOM_M = 0.01
_SIDE = 1.6  # parts of the hand above this many half edges do not push
_LIFT_M = 0.006  # above the cube, in addition to the gap
_GAP_STEP_M = 0.003
_MAX_GAP_M = 0.08
_PROBE_M = 0.02


class PushParameters(Model):
    """Parameters of scripted-push."""

    speed_m_s: Positive = 0.35
    """Speed of the tool when it touches nothing, for an arm that reaches a metre."""
    push_m_s: Positive = 0.12
    """Speed of the tool when it pushes."""
    rows: int = 6
    """Rows of one stroke between two looks at the cube."""


class ScriptedPush:
    """Moves behind the cube, pushes it towards the goal and observes again, until it is there."""

    cameras: tuple[str, ...] = ()

    def __init__(self, context: SkillContext, parameters: PushParameters) -> None:
        robot = context.robot
        if context.action_dim != len(robot.driven):
            raise ConfigError(
                f"scripted-push answers with {len(robot.driven)} joint positions, "
                f"the scene takes {context.action_dim} numbers"
            )
        for name in ("cube", "goal"):
            if name not in context.object_halves:
                raise CapabilityMismatch(f"scripted-push needs an object '{name}' in the scene")
        self._context, self._parameters = context, parameters
        self._half = context.object_halves["cube"][0]
        self._check = PathCheck(context)
        self._pusher: Pusher | None = None
        self._row: Rows | None = None
        self._seen = np.zeros(0)
        self._speed = np.zeros(len(robot.driven))
        self._pushing = False

    def reset(self, seed: int) -> None:
        """Forgets the last episode."""
        self._pusher, self._row, self._pushing = None, None, False
        self._speed = np.zeros_like(self._speed)

    def act(self, observation: Observation) -> Rows:
        """Returns the next stroke, approach or retreat; holds once nothing is left to do."""
        root = self._context.root_pose
        cube, goal = (
            (root[:3, :3] @ observation.objects[name][:3] + root[:3, 3])[:2]
            for name in ("cube", "goal")
        )
        if self._row is None:
            self._row = observation.joint_positions.copy()
        if self._pusher is None:
            self._pusher = self._begin(cube, observation)
        self._seen = observation.joint_positions
        rows = self._next(self._pusher, cube, goal)
        if rows is not None and not self._check.clear(self._row, rows, self._speed):
            self._pusher.gap += _GAP_STEP_M  # slightly higher, where the hand has more clearance
            rows = None
        if rows is None:
            self._pushing = False
            rows = np.tile(self._row, (_WAIT_ROWS, 1))
        last = rows[-2] if len(rows) > 1 else self._row
        self._speed = (rows[-1] - last) * self._context.rate_hz
        self._row = rows[-1].copy()
        return rows

    def _next(self, pusher: Pusher, cube: Vector, goal: Vector) -> Rows | None:
        assert self._row is not None
        tool = pusher.arm.tool(self._row)
        distance = float(np.linalg.norm(goal - cube))
        if distance < 0.35 * self._half:
            return self._leave(pusher)
        towards = (goal - cube) / distance
        if self._pushing:
            return self._stroke(pusher, cube, goal, towards)
        return self._approach(pusher, tool, cube, towards)

    def _approach(self, pusher: Pusher, tool: Vector, cube: Vector, towards: Vector) -> Rows | None:
        """Up, over and down behind the cube."""
        assert self._row is not None
        lift = 2 * self._half + _LIFT_M
        up = pusher.line(self._row, tool[:2, 3], lift)
        if up is None:
            up = self._row[None]
        behind = self._behind(pusher, up[-1], cube, towards)
        if behind is None:
            return None
        for across in (pusher.line, pusher.swing):
            over = across(up[-1], behind, lift)
            down = None if over is None else pusher.line(over[-1], behind, 0.0)
            if over is None or down is None:
                continue
            rows = np.concatenate([up, over, down])
            if self._check.clear(self._row, rows, self._speed):
                self._pushing = True
                return rows
        return None

    def _behind(self, pusher: Pusher, q: Rows, cube: Vector, towards: Vector) -> Vector | None:
        """Tool position (x, y) that puts the hand just behind the cube's middle; None if none."""
        wanted = cube - (_CORNER * self._half + _ROOM_M) * towards
        point = wanted
        for _ in range(4):
            found = pusher.over(point, 0.0, q)
            if found is None:
                found = pusher.over(point, 0.0, pusher.rested(q))
            if found is None:
                return None
            q, tool = found, pusher.arm.tool(found)
            off = wanted - pusher.shape.contact(tool, towards, pusher.table + _SIDE * self._half)
            point = tool[:2, 3] + off
            if np.linalg.norm(off) < 2e-3:
                break
        return np.asarray(point)

    def _stroke(self, pusher: Pusher, cube: Vector, goal: Vector, towards: Vector) -> Rows | None:
        """A short push through the cube's middle; a retreat when the hand is off to one side."""
        assert self._row is not None
        half = self._half
        aside = np.array([-towards[1], towards[0]])
        hand = pusher.arm.tool(self._seen)
        offset = pusher.shape.contact(hand, towards, pusher.table + _SIDE * half) - cube
        lateral, behind = float(offset @ aside), -float(offset @ towards)
        if behind < 0.4 * half or abs(lateral) > 0.8 * half:
            return self._leave(pusher)
        left = float(np.linalg.norm(goal - cube))
        dt = 1 / self._context.rate_hz
        step = self._parameters.push_m_s * dt
        length = min(step * self._parameters.rows, max(0.0, behind - half) + left)
        start = pusher.arm.tool(self._row)[:2, 3]
        target = start + length * towards - np.clip(lateral, -length, length) * aside
        rows = pusher.line(self._row, target, 0.0, step)
        return self._leave(pusher) if rows is None else rows

    def _leave(self, pusher: Pusher) -> Rows | None:
        """Retreats upwards; the next observation decides what follows."""
        assert self._row is not None
        tool = pusher.arm.tool(self._row)
        self._pushing = False
        if pusher.shape.lowest(tool) > pusher.table + 2 * self._half:
            return self._row[None]
        return pusher.line(self._row, tool[:2, 3], 2 * self._half + _LIFT_M)

    def _begin(self, cube: Vector, observation: Observation) -> Pusher:
        """Chooses the arm, closes its gripper and derives the table's height from the cube's."""
        assert self._row is not None
        context, robot = self._context, self._context.robot
        effector = self._nearest(cube)
        closed = closed_position(robot, effector)
        if closed is not None and effector.gripper is not None:
            self._row[robot.joint_names.index(effector.gripper)] = closed
        root = context.root_pose
        lies = root[:3, :3] @ observation.objects["cube"][:3] + root[:3, 3]
        table = float(lies[2]) - context.object_halves["cube"][2]
        pusher = Pusher(
            Arm(robot, effector, root),
            ToolShape(robot, effector),
            table,
            robot.safety.margin_m,
            self._pace(effector),
        )
        self._keep_off(pusher, cube)
        return pusher

    def _pace(self, effector: EndEffector) -> Pace:
        robot, dt = self._context.robot, 1 / self._context.rate_hz
        limits = np.array([j.limits.velocity for j in robot.driven if j.limits is not None])
        scale = min(1.0, survey(robot, effector.name).span)
        return Pace(
            _JOINT_SPEED * limits * dt,
            min(self._parameters.speed_m_s * scale, _JOINT_SPEED * robot.safety.ee_speed_m_s) * dt,
            _JOINT_SPEED * robot.safety.ee_angular_rad_s * dt,
        )

    def _keep_off(self, pusher: Pusher, cube: Vector) -> None:
        """Raises the gap until the kernel accepts motion along the table, and by one step more."""
        assert self._row is not None
        while pusher.gap < _MAX_GAP_M:
            at = pusher.over(cube, 0.0, pusher.rested(self._row))
            rows = None if at is None else pusher.line(at, cube + _PROBE_M, 0.0)
            if at is not None and rows is not None:
                moving = (rows[0] - at) * self._context.rate_hz
                if self._check.clear(at, rows, moving):
                    break
            pusher.gap += _GAP_STEP_M
        pusher.gap += _GAP_STEP_M

    def _nearest(self, cube: Vector) -> EndEffector:
        """The arm whose shoulder is nearest to the cube."""
        robot, root = self._context.robot, self._context.root_pose
        if not robot.end_effectors:
            raise CapabilityMismatch(f"robot '{robot.id}' has no arm to push with")
        kinematics_row = np.array(robot.home_position)

        def away(effector: EndEffector) -> float:
            arm = Arm(robot, effector, root)
            shoulder = robot.joint(arm.robot.joint_names[arm.columns[0]]).child
            pose = arm.kinematics.poses(kinematics_row)[arm.kinematics.links.index(shoulder)]
            return float(np.linalg.norm((root @ pose)[:2, 3] - cube))

        return min(robot.end_effectors, key=away)
