"""Server-side goal handle of an action: its status and the valid status transitions."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from enum import IntEnum
from typing import Any

from openral.errors import LifecycleError


class GoalStatus(IntEnum):
    """Status codes of action_msgs/msg/GoalStatus."""

    UNKNOWN = 0
    ACCEPTED = 1
    EXECUTING = 2
    CANCELING = 3
    SUCCEEDED = 4
    CANCELED = 5
    ABORTED = 6

    @property
    def is_terminal(self) -> bool:
        """Whether the goal has ended."""
        return self >= GoalStatus.SUCCEEDED


_ALLOWED = {
    GoalStatus.ACCEPTED: {GoalStatus.EXECUTING, GoalStatus.CANCELING},
    GoalStatus.EXECUTING: {GoalStatus.SUCCEEDED, GoalStatus.ABORTED, GoalStatus.CANCELING},
    GoalStatus.CANCELING: {GoalStatus.SUCCEEDED, GoalStatus.ABORTED, GoalStatus.CANCELED},
}


class GoalHandle:
    """A goal as passed to the action server's execute callback."""

    def __init__(
        self,
        goal_id: bytes,
        request: Any,
        accepted_ns: int,
        changed: Callable[[], None],
        send_feedback: Callable[[bytes, Any], None],
    ) -> None:
        self.goal_id = goal_id
        self.request = request
        self.accepted_ns = accepted_ns
        self.result: Future[tuple[GoalStatus, Any]] = Future()
        """Set when the goal has ended."""
        self._status = GoalStatus.ACCEPTED
        self._changed = changed
        self._send_feedback = send_feedback
        self._lock = threading.Lock()

    @property
    def status(self) -> GoalStatus:
        """The current status."""
        return self._status

    @property
    def is_cancel_requested(self) -> bool:
        """Whether to stop: the execute callback should poll this and end with `canceled`."""
        return self._status is GoalStatus.CANCELING

    def publish_feedback(self, feedback: Any) -> None:
        """Publishes feedback to clients."""
        self._send_feedback(self.goal_id, feedback)

    def succeed(self) -> None:
        """Ends the goal as succeeded."""
        self.move_to(GoalStatus.SUCCEEDED)

    def abort(self) -> None:
        """Ends the goal as aborted: it cannot be reached."""
        self.move_to(GoalStatus.ABORTED)

    def canceled(self) -> None:
        """Ends the goal as canceled, after a cancel request."""
        self.move_to(GoalStatus.CANCELED)

    def move_to(self, status: GoalStatus) -> None:
        """Changes the status; LifecycleError if the transition is not valid."""
        with self._lock:
            allowed = _ALLOWED.get(self._status, set())
            if status not in allowed:
                possible = ", ".join(s.name.lower() for s in sorted(allowed))
                raise LifecycleError(
                    f"goal {self.goal_id.hex()[:8]} is {self._status.name.lower()} and cannot "
                    f"become {status.name.lower()}; possible: "
                    f"{possible or 'nothing, it has ended'}"
                )
            self._status = status
        self._changed()
