"""reset_to_pose: moves the robot to a pose on a ramp that the kernel judges like any candidate."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import numpy as np

from openral.errors import ConfigError
from openral.graph import topics
from openral.graph.ports import Ports
from openral.graph.states import HalStatus, VerdictStatus
from openral.hal import topics as hal_topics
from openral.hal.commands import ramp
from openral.hal.graph_time import GraphTime
from openral.hal.protocols import HAL
from openral.ros.stamps import time_message

_HOME = ("", "home")
_POLL_S = 0.02
_ANSWER_S = 2.0
"""Timeout for the verdict, and then for the start of the motion."""


class PoseRefused(ConfigError):  # noqa: N818
    """A request that is refused; `reason` is the code in the response."""

    def __init__(self, reason: str, text: str) -> None:
        self.reason = reason
        super().__init__(text)


@dataclass
class _Ramp:
    """A ramp that is proposed or in execution."""

    trace_id: bytes
    response: Any
    answer: Future[Any]
    give_up_s: float
    begun: bool = False


class ResetToPoseBridge:
    """Proposes a ramp; answers once the robot has arrived, or with why it has not."""

    def __init__(
        self, ports: Ports, hal: HAL, clock: GraphTime, may_move: Callable[[], bool]
    ) -> None:
        self._hal, self._clock, self._may_move = hal, clock, may_move
        self._ramp: _Ramp | None = None
        chunk, verdict = "openral_msgs/msg/ActionChunk", "openral_msgs/msg/Verdict"
        self._out = ports.publisher(chunk, topics.CANDIDATE, topics.COMMAND)
        ports.subscribe(verdict, topics.VERDICT, self._judged, topics.STATE)
        name = hal_topics.reset_to_pose(hal.robot.id)
        ports.service("openral_msgs/srv/ResetToPose", name, self._asked)
        ports.wall_timer(_POLL_S, self._look)
        ports.at_end(lambda: self._end("deactivated", "the node was deactivated"))

    def _asked(self, request: Any, response: Any) -> Any:
        try:
            chunk = self._proposal(request)
        except ConfigError as error:
            response.success, response.message = False, str(error)
            response.reason = getattr(error, "reason", "out_of_range")
            return response
        trace_id = secrets.token_bytes(16)
        chunk.trace_id = np.frombuffer(trace_id, np.uint8)
        chunk.header.stamp = time_message(self._clock.now())
        answer: Future[Any] = Future()
        self._ramp = _Ramp(trace_id, response, answer, time.monotonic() + _ANSWER_S)
        self._out.publish(chunk)
        return answer

    def _proposal(self, request: Any) -> Any:
        motion = self._hal.read_state().motion
        goal = self._goal(request, motion.applied)
        if not self._may_move():
            raise PoseRefused("not_armed", "the kernel is not armed: call /openral/reset first")
        if self._ramp is not None or motion.status is HalStatus.EXECUTING:
            raise PoseRefused("busy", "a motion is being executed; wait for its end")
        return ramp.ramp_chunk(self._hal.robot, motion.applied, goal, request.duration)

    def _goal(self, request: Any, now: Any) -> Any:
        robot = self._hal.robot
        if request.pose not in _HOME:
            text = f"no pose '{request.pose}' of '{robot.id}'; poses: home"
            raise PoseRefused("unknown_pose", text)
        positions = [float(value) for value in request.positions]
        names = list(request.joint_names) or (robot.joint_names if positions else [])
        if len(names) != len(positions):
            text = f"{len(positions)} positions for {len(names)} joints"
            raise PoseRefused("wrong_width", text)
        unknown = [name for name in names if name not in robot.joint_names]
        if unknown:
            text = f"no joint '{unknown[0]}'; joints: {', '.join(robot.joint_names)}"
            raise PoseRefused("unknown_joint", text)
        # A mobile robot's home is at its present position: the base moves only if it is named.
        place = {name: float(now[robot.joint_names.index(name)]) for name in robot.base_joints}
        return ramp.goal_pose(robot, place | dict(zip(names, positions, strict=True)))

    def _judged(self, verdict: Any) -> None:
        going = self._ramp
        if going is None or bytes(bytearray(verdict.trace_id)) != going.trace_id:
            return
        if verdict.status in (VerdictStatus.REJECTED, VerdictStatus.DROPPED):
            self._end("refused", f"{verdict.reason}: {verdict.detail}")
        else:
            going.give_up_s = time.monotonic() + _ANSWER_S

    def _look(self) -> None:
        going = self._ramp
        if going is None:
            return
        motion = self._hal.read_state().motion
        if motion.trace_id != going.trace_id:
            if going.begun:
                self._end("replaced", "another motion took its place")
            elif time.monotonic() > going.give_up_s:
                self._end("no_answer", "the kernel did not pass the ramp on in time")
        elif motion.status is HalStatus.EXECUTING:
            going.begun = True
        elif motion.reason == "finished":
            self._end("", "arrived")
        else:
            self._end("interrupted", motion.reason)

    def _end(self, reason: str, message: str) -> None:
        going, self._ramp = self._ramp, None
        if going is not None:
            response = going.response
            response.success, response.reason, response.message = not reason, reason, message
            going.answer.set_result(response)
