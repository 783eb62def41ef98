"""CDR codec: microseconds for the messages that matter, beside rosbags' codec in the same run."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rosbags.typesys import Stores, get_typestore

from openral.ros import msg
from openral.ros.codec.types import Message, decode, encode

STORE = get_typestore(Stores.ROS2_JAZZY)


def microseconds(jobs: dict[str, Callable[[], Any]], rounds: int = 7) -> dict[str, float]:
    """Median over rounds in which the jobs take turns, so that all meet the same conditions."""
    taken: dict[str, list[float]] = {name: [] for name in jobs}
    for turn in range(rounds + 1):
        for name, job in jobs.items():
            begin, count = time.perf_counter(), 0
            while (passed := time.perf_counter() - begin) < 0.03:
                for _ in range(20):
                    job()
                count += 20
            if turn:  # the first round warms up
                taken[name].append(passed / count * 1e6)
    return {name: float(np.median(times)) for name, times in taken.items()}


def cases() -> dict[str, Message]:
    random = np.random.default_rng(0)
    header = msg.Header(msg.Time(1_700_000_000, 1), "base_link")
    names = [f"panda_joint{i}" for i in range(8)]
    fields = [msg.PointField(n, 4 * i, msg.PointField.FLOAT32, 1) for i, n in enumerate("xyz")]
    transform = msg.TransformStamped(header, "panda_link1")
    cloud = random.integers(0, 255, 640 * 480 * 12, np.uint8)
    return {
        "joint_state_8": msg.JointState(header, names, *(random.random(8) for _ in range(3))),
        "image_640x480": msg.Image(
            header, 480, 640, "rgb8", 0, 1920, random.integers(0, 255, 640 * 480 * 3, np.uint8)
        ),
        "point_cloud_640x480": msg.PointCloud2(
            header, 480, 640, fields, False, 12, 7680, cloud, True
        ),
        "tf_20": msg.TFMessage([transform] * 20),
        "odometry": msg.Odometry(header, "base"),
    }


def measure(message: Message) -> dict[str, float]:
    name, wire = message.__ros_type__, encode(message)
    result = microseconds(
        {
            "encode_us": lambda: encode(message),
            "decode_us": lambda: decode(name, wire),
            "rosbags_encode_us": lambda: STORE.serialize_cdr(message, name),
            "rosbags_decode_us": lambda: STORE.deserialize_cdr(wire, name),
        }
    )
    for way in ("encode", "decode"):
        result[f"{way}_speedup"] = result[f"rosbags_{way}_us"] / result[f"{way}_us"]
    return {"bytes": len(wire)} | {key: round(value, 2) for key, value in result.items()}


if __name__ == "__main__":
    print(json.dumps({"ros_codec": {name: measure(m) for name, m in cases().items()}}, indent=2))
