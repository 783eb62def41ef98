"""The start of a run: when its command began, and what makes a real robot hold by itself."""

from __future__ import annotations

import os
import time
from pathlib import Path

from openral.hal.parameters import HalParameters
from openral.manifest import RobotDescription
from openral.ros.priority import priority_hint
from openral.safety.node.parameters import KernelParameters

_START_FIELD = 19  # of /proc/self/stat after the name: clock ticks from boot to the start


def command_time() -> float:
    """Monotonic time in s at which the process started; now, if the system does not report it."""
    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        uptime = float(Path("/proc/uptime").read_text().split()[0])
    except OSError:
        return time.monotonic()
    age = uptime - int(fields[_START_FIELD]) / os.sysconf("SC_CLK_TCK")
    return time.monotonic() - max(0.0, age)


def deadman_text(robot: RobotDescription) -> str:
    """The limits that apply to this robot, one per line."""
    kernel, hal, envelope = KernelParameters(), HalParameters(), robot.safety
    driver = f"{robot.hal.real} {dict(robot.hal.parameters) or ''}".rstrip()
    lines = {
        "driver": driver,
        "heartbeat": f"the kernel beats at {kernel.heartbeat_hz:g} Hz; without it the robot holds "
        f"after {hal.heartbeat_s:g} s",
        "approval": f"a motion must start within {kernel.start_within_s:g} s or is dropped",
        "joint state": f"no motion passes on a state older than {envelope.state_max_age_s:g} s",
        "after a motion": "the robot holds its pose; it never repeats or extrapolates",
        "stopping": f"it is expected to stand within {envelope.stop_s:g} s",
        "priority": priority_hint() or "real-time, granted",
        "stop it": "Ctrl-C, `openral estop`, or your own emergency stop",
    }
    width = max(map(len, lines))
    body = "\n".join(f"  {name:<{width}}  {text}" for name, text in lines.items())
    return f"{robot.name} ({robot.id}), REAL HARDWARE\n{body}"
