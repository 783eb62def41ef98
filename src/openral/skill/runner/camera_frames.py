"""CameraFrames: the newest image of each camera that a skill needs, by its key."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any

import numpy as np

from openral.errors import CapabilityMismatch, choices
from openral.manifest import RobotDescription
from openral.manifest.sensor import Camera
from openral.ros.clock import NS
from openral.ros.node.node import Node
from openral.ros.node.subscription import Subscription
from openral.ros.qos import SENSOR
from openral.ros.stamps import stamp_ns
from openral.sim.rollout import Image
from openral.skill import topics

_PERIODS = 5  # of a camera, after which its last image is stale
_LEAST_AGE_S = 0.5
_CHANNELS = {"rgb8": slice(None), "bgr8": slice(None, None, -1)}


class CameraFrames:
    """Subscribes to cameras on demand."""

    def __init__(self, node: Node, robot: RobotDescription) -> None:
        self._node = node
        self._cameras = {c.key: c for c in robot.cameras if isinstance(c, Camera)}
        self._subscriptions: dict[str, Subscription] = {}
        self._frames: dict[str, Any] = {}

    def open(self, keys: Collection[str]) -> None:
        """Subscribes to cameras; CapabilityMismatch for one that the robot does not have."""
        for key in keys:
            if key not in self._cameras:
                hint = choices(key, self._cameras, "cameras")
                raise CapabilityMismatch(f"the robot has no camera '{key}'; {hint}")
            if key not in self._subscriptions:
                self._subscriptions[key] = self._node.create_subscription(
                    "sensor_msgs/msg/Image",
                    topics.image_topic(self._cameras[key].name),
                    partial(self._frames.__setitem__, key),
                    SENSOR,
                )

    def close(self) -> None:
        """Unsubscribes and drops all images."""
        for subscription in self._subscriptions.values():
            self._node.destroy_subscription(subscription)
        self._subscriptions.clear()
        self._frames.clear()

    def missing(self, keys: Collection[str]) -> str:
        """Which image is missing or stale, in a sentence; empty: none."""
        for key in keys:
            camera = self._cameras[key]
            where = topics.image_topic(camera.name)
            if key not in self._frames:
                return f"camera '{camera.name}' was never heard on {where}"
            age = (self._node.now() - stamp_ns(self._frames[key])) / NS
            limit = max(_PERIODS / camera.rate_hz, _LEAST_AGE_S)
            if age > limit:
                return f"camera '{camera.name}' sent its last picture {age:.2f} s ago on {where}"
        return ""

    def require(self, sizes: dict[str, tuple[int, int] | None]) -> None:
        """Raises CapabilityMismatch for an image size or encoding that the policy cannot take.

        `sizes` are (width, height) in pixels by camera key; None accepts any.
        """
        for key, wanted in sizes.items():
            frame = self._frames[key]
            size = (int(frame.width), int(frame.height))
            if wanted is not None and size != wanted:
                raise CapabilityMismatch(
                    f"camera '{self._cameras[key].name}' sends {size[0]}×{size[1]} pixels, "
                    f"the policy takes {wanted[0]}×{wanted[1]}"
                )
            if frame.encoding not in _CHANNELS:
                raise CapabilityMismatch(
                    f"camera '{self._cameras[key].name}' sends '{frame.encoding}'; "
                    f"{choices(frame.encoding, _CHANNELS, 'encodings')}"
                )

    def images(self, keys: Collection[str]) -> dict[str, Image]:
        """RGB images by key, uint8 (height, width, 3)."""
        return {key: picture(self._frames[key]) for key in keys}


def picture(frame: Any) -> Image:
    """An Image message as an RGB array, uint8 (height, width, 3)."""
    rows = np.asarray(frame.data, np.uint8).reshape(frame.height, frame.step)
    pixels = rows[:, : frame.width * 3].reshape(frame.height, frame.width, 3)
    return np.ascontiguousarray(pixels[..., _CHANNELS[frame.encoding]])
