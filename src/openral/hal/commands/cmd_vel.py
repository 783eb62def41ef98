"""/cmd_vel: converts twists of Nav2 or a joystick to candidates that the kernel judges.

Each twist is proposed for a short time and then ramped down to a standstill, so that the base stops
by itself when its publisher falls silent.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from openral.graph import topics
from openral.graph.ports import Ports
from openral.hal import topics as hal_topics
from openral.hal.graph_time import GraphTime
from openral.hal.mobile_base import base_state
from openral.hal.protocols import HAL
from openral.manifest import ControlMode, RobotDescription
from openral.manifest.robot import BaseDrive
from openral.ros import msg
from openral.ros.qos import QoS
from openral.ros.stamps import time_message

Vector = NDArray[np.float64]

_DT_S = 0.02
_KEEP_S = 0.2
"""How long a twist is kept before the base slows down, unless another one is received."""
_EVERY_S = 0.04
_SHARE = 0.95
"""Fraction of the envelope's speeds: a twist at the limit would be refused for its jitter."""


class CmdVelBridge:
    """Receives twists and proposes the newest as a BODY_TWIST chunk, at most 25 times a second."""

    def __init__(
        self, ports: Ports, hal: HAL, clock: GraphTime, may_move: Callable[[], bool]
    ) -> None:
        """Twists received while `may_move` is false are ignored."""
        self._hal, self._clock, self._may_move = hal, clock, may_move
        self._out = ports.publisher(
            "openral_msgs/msg/ActionChunk", topics.CANDIDATE, topics.COMMAND
        )
        ports.subscribe("geometry_msgs/msg/Twist", hal_topics.CMD_VEL, self._hear, QoS(depth=1))
        ports.wall_timer(_EVERY_S, self._flush)
        self._wanted: Vector | None = None
        self._sent_s = 0.0
        self._sequence = 0

    def _hear(self, twist: Any) -> None:
        wanted = np.array([twist.linear.x, twist.linear.y, twist.angular.z], float)
        if np.isfinite(wanted).all() and self._may_move():
            self._wanted = wanted
            if time.monotonic() - self._sent_s >= _EVERY_S:
                self._flush()

    def _flush(self) -> None:
        wanted, self._wanted = self._wanted, None
        if wanted is None:
            return
        self._sent_s = time.monotonic()
        base = base_state(self._hal.robot, self._hal.read_state())
        rows = rows_towards(self._hal.robot, [base.forward, base.left, base.turn], wanted)
        self._sequence += 1
        self._out.publish(twist_chunk(rows, self._clock.now(), self._sequence))


def rows_towards(robot: RobotDescription, now: ArrayLike, wanted: ArrayLike) -> Vector:
    """Rows from the twist `now` to `wanted` and then to a standstill, within the base's limits.

    Twists are forward, left (m/s) and yaw rate (rad/s); rows have shape (n, 3). For a differential
    base the sideways part is dropped.
    """
    speed, slow = limits(robot)
    can = [1.0, 0.0 if robot.base_drive is BaseDrive.DIFFERENTIAL else 1.0, 1.0]
    begin, end = (within(np.multiply(twist, can), speed) for twist in (now, wanted))
    return twist_rows(begin, end, slow)


def limits(robot: RobotDescription) -> tuple[Vector, Vector]:
    """Largest speeds (m/s, rad/s) and accelerations (m/s², rad/s²): forward, left and yaw."""
    safety = robot.safety
    linear = _SHARE * (safety.base_linear_m_s or 0.0)
    turn = _SHARE * (safety.base_angular_rad_s or 0.0)
    slow = safety.base_deceleration_m_s2
    return np.array([linear, linear, turn]), np.array([slow, slow, 2.0 * slow])


def within(twist: Vector, speed: Vector) -> Vector:
    """Scales a twist down to the speed limits; its direction is kept."""
    share = [np.hypot(*twist[:2]) / max(speed[0], 1e-9), abs(twist[2]) / max(speed[2], 1e-9)]
    return np.asarray(twist / max(1.0, *share))


def twist_rows(now: Vector, wanted: Vector, change: Vector) -> Vector:
    """Rows from the twist `now` to `wanted`, kept for a while, then to a standstill.

    `change`: largest acceleration, as in `limits`.
    """
    rows: list[Vector] = []
    twist = now
    while len(rows) * _DT_S < _KEEP_S:
        twist = twist + np.clip(wanted - twist, -change * _DT_S, change * _DT_S)
        rows.append(twist)
    while np.abs(twist).max() > 1e-3:
        twist = twist - np.clip(twist, -change * _DT_S, change * _DT_S)
        rows.append(twist)
    return np.array(rows)


def twist_chunk(rows: Vector, now_ns: int, sequence: int) -> msg.ActionChunk:
    """A candidate ActionChunk with rows of forward, left and yaw rate, shape (n, 3)."""
    mode = ControlMode.BODY_TWIST.byte
    return msg.ActionChunk(
        header=msg.Header(stamp=time_message(now_ns)),
        sequence=sequence,
        trace_id=np.frombuffer(secrets.token_bytes(16), np.uint8),
        control_mode=mode,
        dt=_DT_S,
        rows=len(rows),
        slots=[msg.ActionSlot(control_mode=mode, width=3, data=rows.ravel())],
    )
