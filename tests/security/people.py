"""Runs programs as somebody who is not root: root may read everything, so it proves nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SOMEBODY = 61_337
"""A user id that nobody has."""
_KEEPS = "-all,+dac_read_search"
_BECOME = [
    *("setpriv", f"--reuid={SOMEBODY}", f"--regid={SOMEBODY}", "--clear-groups"),
    *(f"--inh-caps={_KEEPS}", f"--ambient-caps={_KEEPS}", f"--bounding-set={_KEEPS}"),
]


def as_somebody(program: str, *arguments: str, **options: Any) -> subprocess.Popen[str]:
    """A Python program of one unprivileged user: of this one, or of SOMEBODY where it is root.

    SOMEBODY may read all files, since the interpreter may lie in root's home, and nothing more.
    """
    return subprocess.Popen(
        [*_BECOME, sys.executable, "-c", program, *arguments]
        if os.geteuid() == 0
        else [sys.executable, "-c", program, *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"},
        **options,
    )
