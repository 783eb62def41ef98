"""The libraries that openral is timed against, in a virtual environment of their own."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def peers_python() -> Path:
    """The Python that has them; CalledProcessError where they cannot be installed."""
    subprocess.run([ROOT / "tools" / "peers.sh"], check=True, capture_output=True, text=True)
    return ROOT / ".venv-peers" / "bin" / "python"
