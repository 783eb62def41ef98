"""The example in docs/ros.md runs and does what it says."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from openral.ros.codec import types
from openral.ros.qos import SENSOR

PAGE = Path(__file__).parents[2] / "docs" / "ros.md"


def test_the_example_node(graph: Any, until: Any) -> None:
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    process = subprocess.Popen(
        [sys.executable, "-c", found.group(1)],
        env={**os.environ, "OPENRAL_DOMAIN": str(graph.domain)},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        publisher = graph.node("robot").create_publisher(
            "sensor_msgs/msg/JointState", "/joint_states", SENSOR
        )
        until(lambda: publisher.has_subscribers)
        heard: list[Any] = []
        graph.node("ear").create_subscription("rcl_interfaces/msg/Log", "/rosout", heard.append, 10)
        fast = types.new("sensor_msgs/msg/JointState", velocity=[0.1, -2.0])

        def told() -> bool:
            publisher.publish(fast)
            return any(m.name == "/watcher" and m.msg.startswith("fast") for m in heard)

        until(told)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
        assert process.returncode == 0
        assert "Traceback" not in errors
    finally:
        process.kill()
