"""Progress of the scene's task: publishes the episode and offers the service to reset it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

from openral.errors import OpenralError
from openral.graph.ports import Ports
from openral.graph.states import HalStatus
from openral.graph.topics import LATCHED
from openral.hal import topics
from openral.hal.protocols import HAL, Episode, SceneResettable
from openral.ros import msg


class EpisodeBridge:
    """Publishes changes as JSON, latched, and begins the next episode on request."""

    def __init__(self, ports: Ports, hal: HAL, armed: Callable[[], bool]) -> None:
        """`armed`: whether an action may arrive at any moment."""
        self._hal, self._armed = hal, armed
        self._out = ports.publisher("std_msgs/msg/String", topics.EPISODE, LATCHED)
        self._told: Episode | None = None
        if isinstance(hal, SceneResettable):
            ports.service("std_srvs/srv/Trigger", topics.RESET_SCENE, self._reset)

    def publish(self, episode: Episode) -> None:
        """Publishes the episode if it has changed."""
        if episode != self._told:
            self._told = episode
            fields = dataclasses.asdict(episode)
            data = json.dumps({"episode": fields.pop("number"), **fields})
            self._out.publish(msg.String(data=data))

    def _reset(self, request: Any, response: Any) -> Any:
        executing = self._hal.read_state().motion.status is HalStatus.EXECUTING
        response.success = False
        if executing and self._armed():
            response.message = "a motion is being executed; wait for its end, or stop it"
            return response
        assert isinstance(self._hal, SceneResettable)
        try:
            self._hal.reset_scene()
            response.success, response.message = True, "the next episode has begun"
        except OpenralError as error:
            response.message = str(error)
        return response
