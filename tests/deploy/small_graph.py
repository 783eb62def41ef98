"""Starts a supervisor over small nodes as a process, and looks at what it leaves behind."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from tests.ros.conftest import wait_until

ROOT = Path(__file__).parents[2]


def start_supervisor(
    domain: int, nodes: list[tuple[str, str]], seconds: float, stderr: int = subprocess.PIPE
) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.deploy.programs.supervise"]
    return subprocess.Popen(
        [*command, json.dumps(nodes), str(seconds)],
        env={**os.environ, "OPENRAL_DOMAIN": str(domain)},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        start_new_session=True,
    )


class SmallGraph:
    """`nodes` are pairs of a name and what is wrong with it."""

    def __init__(self, domain: int, nodes: list[tuple[str, str]], seconds: float = 0.0) -> None:
        self.lines: list[str] = []
        self.process = start_supervisor(domain, nodes, seconds)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line.rstrip())

    def wait_active(self, count: int) -> list[int]:
        """The process ids of the nodes, once all are active."""
        return wait_until(lambda: self._pids(count), 60.0)

    def _pids(self, count: int) -> list[int]:
        assert self.process.poll() is None, self.lines
        found = [re.search(r"active as (\d+)", line) for line in self.lines]
        pids = [int(match[1]) for match in found if match]
        return pids if len(pids) >= count else []

    def end(self, timeout_s: float = 60.0) -> dict[str, Any]:
        """Waits for the end; the summary, with the exit code beside it."""
        assert self.process.stdout is not None
        text = self.process.stdout.read()
        self.process.wait(timeout_s)
        self._reader.join(5.0)
        return {**(json.loads(text) if text else {}), "returncode": self.process.returncode}

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def alive(pid: int) -> bool:
    """Whether a process is there and not just waiting to be reaped."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def family(pid: int) -> set[int]:
    """A process and all that descend from it."""
    found = {pid}
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        parents[int(path.parent.name)] = int(fields[1])
    grown = True
    while grown:
        more = {child for child, parent in parents.items() if parent in found} - found
        grown = bool(more)
        found |= more
    return found
