"""A camera's pinhole model as a CameraInfo message."""

from __future__ import annotations

import numpy as np

from openral.manifest.sensor import Intrinsics
from openral.ros import msg


def camera_info(header: msg.Header, size: tuple[int, int], lens: Intrinsics) -> msg.CameraInfo:
    """A CameraInfo without distortion, as simulated lenses have none; `size`: width, height."""
    width, height = size
    k = [lens.fx, 0.0, lens.cx, 0.0, lens.fy, lens.cy, 0.0, 0.0, 1.0]
    p = [lens.fx, 0.0, lens.cx, 0.0, 0.0, lens.fy, lens.cy, 0.0, 0.0, 0.0, 1.0, 0.0]
    return msg.CameraInfo(
        header=header,
        height=height,
        width=width,
        distortion_model="plumb_bob",
        d=np.zeros(5),
        k=np.array(k),
        r=np.eye(3).ravel(),
        p=np.array(p),
    )
