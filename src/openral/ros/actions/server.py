"""ActionServer: executes goals on threads, with feedback and cancellation."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import numpy as np

from openral.errors import LifecycleError, OpenralError
from openral.ros import msg
from openral.ros.actions.goal import GoalHandle, GoalStatus
from openral.ros.codec import types
from openral.ros.node.node import Node, TypeName, interface_name
from openral.ros.qos import ACTION_STATUS
from openral.ros.stamps import time_message, time_ns

Execute = Callable[[GoalHandle], Any]
RESULT_KEPT_S = 900.0
FAREWELL_S = 2.0
_NO_ID = bytes(16)
_NONE, _REJECTED, _UNKNOWN_GOAL, _TERMINATED = 0, 1, 2, 3
"""The return codes of action_msgs/srv/CancelGoal."""


class ActionServer:
    """Runs `execute(goal)` on a thread per accepted goal; its return value is the result."""

    def __init__(
        self,
        node: Node,
        action_type: TypeName,
        name: str,
        execute: Execute,
        *,
        accept: Callable[[Any], bool] = lambda goal: True,
        accept_cancel: Callable[[GoalHandle], bool] = lambda goal: True,
    ) -> None:
        self.node = node
        self.name = node.resolve(name)
        self._type = interface_name(action_type)
        self._execute, self._accept, self._accept_cancel = execute, accept, accept_cancel
        self._result = types.message_class(f"{self._type}_Result")
        self._goals: dict[bytes, GoalHandle] = {}
        self._threads: dict[bytes, threading.Thread] = {}
        self._lock = threading.RLock()
        node.before_destroy(self.end_goals)
        base = f"{self.name}/_action"
        with node.context.presence.batch_announcements():
            self._feedback = node.create_publisher(
                f"{self._type}_FeedbackMessage", f"{base}/feedback"
            )
            self._status = node.create_publisher(
                "action_msgs/msg/GoalStatusArray", f"{base}/status", ACTION_STATUS
            )
            self._services = [
                node.create_service(f"{self._type}_SendGoal", f"{base}/send_goal", self._on_goal),
                node.create_service(
                    "action_msgs/srv/CancelGoal", f"{base}/cancel_goal", self._on_cancel
                ),
                node.create_service(
                    f"{self._type}_GetResult", f"{base}/get_result", self._on_result
                ),
            ]

    @property
    def goals(self) -> list[GoalHandle]:
        """Running goals, and ended ones whose results are still kept."""
        return list(self._goals.values())

    def _on_goal(self, request: Any, response: Any) -> Any:
        goal_id = bytes(request.goal_id.uuid)
        if goal_id in self._goals or not self._accept(request.goal):
            response.accepted = False
            return response
        now = self.node.now()
        goal = GoalHandle(goal_id, request.goal, now, self._tell_status, self._tell_feedback)
        with self._lock:
            self._goals[goal_id] = goal
        response.accepted, response.stamp = True, time_message(now)
        name = f"openral-action-{goal_id.hex()[:8]}"
        thread = threading.Thread(target=self._run, args=(goal,), name=name, daemon=True)
        self._threads[goal_id] = thread
        thread.start()
        return response

    def _run(self, goal: GoalHandle) -> None:
        result = None
        try:
            if not goal.is_cancel_requested:
                # A cancel may come between the check and the move: then the goal is canceling.
                with contextlib.suppress(LifecycleError):
                    goal.move_to(GoalStatus.EXECUTING)
            result = self._execute(goal)
        except Exception as error:
            self.node.callback_errors += 1
            self.node.log.exception("action failed", action=self.name, error=repr(error))
        if not goal.status.is_terminal:
            if result is not None:
                self.node.log.warning("goal ended without succeed, abort or canceled: aborted")
            goal.abort()
        wanted = result if isinstance(result, self._result) else self._result()
        goal.result.set_result((goal.status, wanted))
        self._threads.pop(goal.goal_id, None)
        self.node.context.io.call_later(RESULT_KEPT_S, lambda: self._forget(goal))

    def _forget(self, goal: GoalHandle) -> None:
        with self._lock:
            self._goals.pop(goal.goal_id, None)

    def _on_result(self, request: Any, response: Any) -> Any:
        goal = self._goals.get(bytes(request.goal_id.uuid))
        if goal is None:
            response.status = int(GoalStatus.UNKNOWN)
            return response
        answer: Future[Any] = Future()

        def done(result: Future[tuple[GoalStatus, Any]]) -> None:
            status, response.result = result.result()
            response.status = int(status)
            answer.set_result(response)

        goal.result.add_done_callback(done)
        return answer

    def _on_cancel(self, request: Any, response: Any) -> Any:
        goal_id = bytes(request.goal_info.goal_id.uuid)
        stamp = time_ns(request.goal_info.stamp)
        chosen = self._chosen(goal_id, stamp)
        canceling = [goal for goal in chosen if self._cancel(goal)]
        response.goals_canceling = [self._info(goal) for goal in canceling]
        response.return_code = _NONE
        if goal_id != _NO_ID and goal_id not in self._goals:
            response.return_code = _UNKNOWN_GOAL
        elif goal_id != _NO_ID and not canceling:
            ended = self._goals[goal_id].status.is_terminal
            response.return_code = _TERMINATED if ended else _REJECTED
        elif chosen and not canceling:
            response.return_code = _REJECTED
        return response

    def _chosen(self, goal_id: bytes, stamp: int) -> list[GoalHandle]:
        """Goals selected by id, by acceptance time (ns), or all, as CancelGoal defines it."""
        return [
            goal
            for goal in self.goals
            if not (goal.status.is_terminal and goal.goal_id != goal_id)
            and (
                goal.goal_id == goal_id
                or (stamp and goal.accepted_ns <= stamp)
                or (goal_id == _NO_ID and not stamp)
            )
        ]

    def _cancel(self, goal: GoalHandle) -> bool:
        if goal.is_cancel_requested:
            return True
        try:
            if goal.status.is_terminal or not self._accept_cancel(goal):
                return False
            goal.move_to(GoalStatus.CANCELING)
        except LifecycleError:
            return False
        return True

    def _info(self, goal: GoalHandle) -> msg.GoalInfo:
        return msg.GoalInfo(
            goal_id=uuid_message(goal.goal_id),
            stamp=time_message(goal.accepted_ns),
        )

    def _tell_status(self) -> None:
        with self._lock, contextlib.suppress(OpenralError):
            self._status.publish(
                msg.GoalStatusArray(
                    status_list=[
                        msg.GoalStatus(
                            goal_info=self._info(goal),
                            status=int(goal.status),
                        )
                        for goal in self.goals
                    ],
                )
            )

    def _tell_feedback(self, goal_id: bytes, feedback: Any) -> None:
        self._feedback.publish(
            lambda: types.new(
                f"{self._type}_FeedbackMessage", goal_id=uuid_message(goal_id), feedback=feedback
            )
        )

    def end_goals(self) -> None:
        """Cancels all goals without the cancel callback, and waits up to 2 s for their threads."""
        for goal in self.goals:
            with contextlib.suppress(LifecycleError):
                goal.move_to(GoalStatus.CANCELING)
        give_up = time.monotonic() + FAREWELL_S
        for thread in list(self._threads.values()):
            thread.join(max(0.0, give_up - time.monotonic()))

    def close(self) -> None:
        """Cancels running goals and leaves the graph."""
        self.end_goals()
        for service in self._services:
            self.node.destroy_service(service)
        for publisher in (self._feedback, self._status):
            self.node.destroy_publisher(publisher)


def uuid_message(goal_id: bytes) -> msg.UUID:
    """A goal's id as unique_identifier_msgs/msg/UUID."""
    return msg.UUID(uuid=np.frombuffer(goal_id, np.uint8))
