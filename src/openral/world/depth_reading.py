"""Decodes depth images, point clouds and camera models from messages; ConfigError if invalid."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from openral.errors import ConfigError, choices
from openral.world.voxel_map import Lens

_FLOAT32 = 7
_ENCODINGS = {"32FC1": "f4", "16UC1": "u2"}


def lens_of(info: Any) -> Lens:
    """The pinhole model of a CameraInfo."""
    fx, cx, fy, cy = (float(info.k[i]) for i in (0, 2, 4, 5))
    if not (fx > 1 and fy > 1 and np.isfinite([fx, fy, cx, cy]).all()):
        raise ConfigError(f"camera_info has focal lengths {fx:g} and {fy:g}; they must be positive")
    return Lens(fx, fy, cx, cy)


def depth_of(image: Any, info: Any) -> NDArray[np.float32]:
    """Depth (height, width) of an Image in m; 0 and NaN where nothing was measured."""
    if image.encoding not in _ENCODINGS:
        raise ConfigError(
            f"depth in encoding '{image.encoding}'; {choices(image.encoding, _ENCODINGS)}"
        )
    if (info.width, info.height) != (image.width, image.height):
        raise ConfigError(
            f"the picture has {image.width}×{image.height} pixels, "
            f"its camera_info {info.width}×{info.height}"
        )
    dtype = np.dtype((">" if image.is_bigendian else "<") + _ENCODINGS[image.encoding])
    width, height, row = int(image.width), int(image.height), int(image.step) // dtype.itemsize
    if width < 2 or height < 2 or row < width or len(image.data) != height * image.step:
        raise ConfigError(
            f"a picture of {width}×{height} pixels, {image.step} bytes a row and "
            f"{len(image.data)} bytes in all"
        )
    pixels = np.frombuffer(image.data, dtype).reshape(height, row)[:, :width]
    if image.encoding == "16UC1":
        return pixels.astype(np.float32) * np.float32(0.001)
    return np.ascontiguousarray(pixels, np.float32)


def points_of(cloud: Any) -> NDArray[np.float32]:
    """The points (n, 3) of a PointCloud2."""
    offsets = {f.name: f.offset for f in cloud.fields if f.datatype == _FLOAT32}
    missing = [name for name in "xyz" if name not in offsets]
    if missing:
        raise ConfigError(f"a cloud without {', '.join(missing)} as 32-bit floats")
    count, step = int(cloud.width) * int(cloud.height), int(cloud.point_step)
    if step < 12 or len(cloud.data) != count * step or cloud.row_step != step * cloud.width:
        raise ConfigError(
            f"a cloud of {count} points, {step} bytes each, and {len(cloud.data)} bytes in all"
        )
    order = ">" if cloud.is_bigendian else "<"
    if any(offset + 4 > step for offset in offsets.values()):
        raise ConfigError(f"a cloud whose fields lie outside its points of {step} bytes")
    raw = np.frombuffer(cloud.data, np.uint8).reshape(count, step)
    points = np.empty((count, 3), np.float32)
    for i, name in enumerate("xyz"):
        at = offsets[name]
        points[:, i] = np.ascontiguousarray(raw[:, at : at + 4]).view(f"{order}f4")[:, 0]
    return points
