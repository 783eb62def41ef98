"""`make demo` whose graph dies: it says so at once, and why."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.small_graph import alive, family
from tests.ros.conftest import wait_until
from tests.system.load import slowdown

DEMO = Path(__file__).parents[2] / "tools" / "demo.py"
HAL = ("openral.deploy.launch", "openral.hal")
NOTICED_WITHIN_S, ENDS_WITHIN_S = 1.0, 3.0
"""From the graph's end and from the fault to the end of the demo, on a machine that does nothing
else."""


@contextlib.contextmanager
def demo(domain: int, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """The demo in a folder of its own; whatever happens, nothing of it is left."""
    with (folder / "stdout").open("w") as out, (folder / "stderr").open("w") as err:
        process = subprocess.Popen(
            [sys.executable, str(DEMO)],
            cwd=folder,
            env={**os.environ, "OPENRAL_DOMAIN": str(domain)},
            stdout=out,
            stderr=err,
            text=True,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        members = family(process.pid)
        for pid in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()


def process_of(process: subprocess.Popen[str], *wanted: str) -> int:
    """A process of the demo by words of its command; 0 if it is not there yet."""
    for pid in family(process.pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
            if set(wanted) <= set(words):
                return pid
    return 0


@pytest.mark.parametrize("moment", ["while it starts", "in mid-run"])
def test_a_demo_whose_graph_dies_ends_at_once_and_says_why(
    domain: int, tmp_path: Path, moment: str
) -> None:
    with demo(domain, tmp_path) as process:

        def reached() -> bool:
            assert process.poll() is None, (tmp_path / "stderr").read_text()
            if moment == "while it starts":
                return bool(process_of(process, *HAL))
            return "the graph is up and armed" in (tmp_path / "stdout").read_text()

        wait_until(reached, 180.0)
        members, graph = family(process.pid), process_of(process, "deploy", "sim")
        slow = slowdown()
        at = time.monotonic()
        os.kill(process_of(process, *HAL), signal.SIGKILL)
        wait_until(lambda: not alive(graph), 60.0)
        ended = time.monotonic()
        process.wait(60.0)
        took, noticed = time.monotonic() - at, time.monotonic() - ended
        wait_until(lambda: not [pid for pid in members if alive(pid)])
    said = (tmp_path / "stderr").read_text()
    print(f"ended after {took:.2f} s, {noticed:.2f} s after the graph: {said}")
    assert process.returncode not in (0, None)
    assert "hal was killed by SIGKILL" in said
    assert "the graph has ended with exit code 1" in said
    assert noticed < NOTICED_WITHIN_S * slow
    assert took < ENDS_WITHIN_S * slow
