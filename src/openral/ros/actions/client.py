"""ActionClient: sends goals to an action server and receives feedback and results."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

from openral.errors import GoalRejected, ServiceTimeout, ServiceUnavailable
from openral.ros import msg
from openral.ros.actions.goal import GoalStatus
from openral.ros.actions.server import uuid_message
from openral.ros.node.node import Node, TypeName, interface_name
from openral.ros.qos import ACTION_STATUS

Feedback = Callable[[Any], None]


class ClientGoal:
    """Client-side handle of a goal that a server has accepted."""

    def __init__(self, client: ActionClient, goal_id: bytes) -> None:
        self.goal_id = goal_id
        self.status = GoalStatus.ACCEPTED
        self._client = client

    def get_result_async(self) -> Future[tuple[GoalStatus, Any]]:
        """Future of (status, result) when the goal has ended; ServerGone if its server leaves."""
        return self._client._result_of(self)

    def get_result(self, timeout_s: float) -> tuple[GoalStatus, Any]:
        """Waits for the goal to end; ServiceTimeout after `timeout_s` of wall time."""
        try:
            return self.get_result_async().result(timeout_s)
        except FutureTimeout:
            raise ServiceTimeout(
                f"goal of '{self._client.name}' has not ended within {timeout_s:g} s; "
                f"it is {self.status.name.lower()}"
            ) from None

    def cancel(self, timeout_s: float = 5.0) -> bool:
        """Requests cancellation; False if the server refuses or the goal has ended."""
        return self._client._cancel(self, timeout_s)


class ActionClient:
    """Client of one action. Feedback callbacks run in the node's executor; any thread may wait."""

    def __init__(self, node: Node, action_type: TypeName, name: str) -> None:
        self.node = node
        self.name = node.resolve(name)
        self._type = interface_name(action_type)
        self._goals: dict[bytes, tuple[ClientGoal, Feedback | None]] = {}
        base = f"{self.name}/_action"
        with node.context.presence.batch_announcements():
            self._send = node.create_client(f"{self._type}_SendGoal", f"{base}/send_goal")
            self._cancels = node.create_client("action_msgs/srv/CancelGoal", f"{base}/cancel_goal")
            self._results = node.create_client(f"{self._type}_GetResult", f"{base}/get_result")
            self._subscriptions = [
                node.create_subscription(
                    f"{self._type}_FeedbackMessage", f"{base}/feedback", self._on_feedback
                ),
                node.create_subscription(
                    "action_msgs/msg/GoalStatusArray",
                    f"{base}/status",
                    self._on_status,
                    ACTION_STATUS,
                    inline=True,
                ),
            ]

    def server_is_ready(self) -> bool:
        """Whether a server is matched on all services and topics of the action."""
        clients = (self._send, self._cancels, self._results)
        return all(c.service_is_ready() for c in clients) and all(
            s.publisher_count for s in self._subscriptions
        )

    def wait_for_server(self, timeout_s: float) -> bool:
        """Waits until a server is available; False after `timeout_s` of wall time."""
        give_up = time.monotonic() + timeout_s
        while not self.server_is_ready():
            if time.monotonic() >= give_up:
                return False
            time.sleep(0.005)
        return True

    def send_goal_async(self, goal: Any, feedback: Feedback | None = None) -> Future[ClientGoal]:
        """Sends a goal; the future fails with GoalRejected if the server does not accept."""
        handle = ClientGoal(self, uuid.uuid4().bytes)
        self._goals[handle.goal_id] = (handle, feedback)
        answer: Future[ClientGoal] = Future()
        request = self._send.request_class(goal_id=uuid_message(handle.goal_id), goal=goal)
        self._send.call_async(request).add_done_callback(
            lambda sent: self._accepted(sent, handle, answer)
        )
        return answer

    def send_goal(
        self, goal: Any, feedback: Feedback | None = None, timeout_s: float = 5.0
    ) -> ClientGoal:
        """Sends a goal and waits for its acceptance, each step up to `timeout_s`."""
        if not self.wait_for_server(timeout_s):
            raise ServiceUnavailable(f"no action server for '{self.name}' within {timeout_s:g} s")
        try:
            return self.send_goal_async(goal, feedback).result(timeout_s)
        except FutureTimeout:
            raise ServiceTimeout(
                f"action '{self.name}' did not answer a goal within {timeout_s:g} s"
            ) from None

    def _accepted(self, sent: Future[Any], handle: ClientGoal, answer: Future[ClientGoal]) -> None:
        error = sent.exception()
        if error is None and not sent.result().accepted:
            error = GoalRejected(f"action '{self.name}' rejected the goal")
        if error is not None:
            self._goals.pop(handle.goal_id, None)
            answer.set_exception(error)
        else:
            answer.set_result(handle)

    def _result_of(self, handle: ClientGoal) -> Future[tuple[GoalStatus, Any]]:
        answer: Future[tuple[GoalStatus, Any]] = Future()

        def done(sent: Future[Any]) -> None:
            if error := sent.exception():
                answer.set_exception(error)
                return
            handle.status = GoalStatus(sent.result().status)
            self._goals.pop(handle.goal_id, None)
            answer.set_result((handle.status, sent.result().result))

        request = self._results.request_class(goal_id=uuid_message(handle.goal_id))
        self._results.call_async(request).add_done_callback(done)
        return answer

    def _cancel(self, handle: ClientGoal, timeout_s: float) -> bool:
        info = msg.GoalInfo(goal_id=uuid_message(handle.goal_id))
        answer = self._cancels.call(self._cancels.request_class(goal_info=info), timeout_s)
        return any(bytes(g.goal_id.uuid) == handle.goal_id for g in answer.goals_canceling)

    def _on_feedback(self, message: Any) -> None:
        _, feedback = self._goals.get(bytes(message.goal_id.uuid), (None, None))
        if feedback is not None:
            feedback(message.feedback)

    def _on_status(self, message: Any) -> None:
        for entry in message.status_list:
            handle, _ = self._goals.get(bytes(entry.goal_info.goal_id.uuid), (None, None))
            if handle is not None and entry.status in iter(GoalStatus):
                handle.status = GoalStatus(entry.status)

    def close(self) -> None:
        """Leaves the graph; goals continue on the server."""
        for client in (self._send, self._cancels, self._results):
            self.node.destroy_client(client)
        for subscription in self._subscriptions:
            self.node.destroy_subscription(subscription)
