"""Starts programs in the virtual environment that holds a real ROS 2."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
VENV = HERE.parents[2] / ".venv-interop"


def start_ros(domain: int, program: str, *arguments: str) -> subprocess.Popen[str]:
    """A program of this folder as a ROS 2 node; skips the test where no ROS 2 is installed."""
    if not (VENV / ".ready").exists():
        why = VENV / ".unavailable"
        reason = why.read_text().strip() if why.exists() else "not set up; run `make interop`"
        pytest.skip(f"no real ROS 2 to talk to: {reason}")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("ROS_", "RMW_"))
    }
    environment |= {
        "ROS_DOMAIN_ID": str(domain),
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        "FASTRTPS_DEFAULT_PROFILES_FILE": str(HERE / "fastdds.xml"),
    }
    return subprocess.Popen(
        [str(VENV / "bin" / "python"), str(HERE / program), *arguments],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def end_ros(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def tell(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()


def hear(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, "the ROS peer died"
    return json.loads(line)
