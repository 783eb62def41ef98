"""The start time of this process, as reported by the system."""

from __future__ import annotations

import os
import time
from pathlib import Path

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
