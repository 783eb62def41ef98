"""A graph that is started and ended again and again leaves nothing; OPENRAL_SOAK: 200 times."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
from pathlib import Path

from tests.deploy.small_graph import alive, family
from tests.ros.conftest import wait_until
from tests.system.graph import OPENRAL, blind_robot

TIMES = 200 if "OPENRAL_SOAK" in os.environ else 3
ENDINGS = (signal.SIGINT, signal.SIGKILL, signal.SIGTERM)
"""The second finds its successor before the first one's nodes are forgotten."""
SHARED = Path("/dev/shm")


def open_here() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def shared() -> set[str]:
    """Shared memory of this user: files and System V segments."""
    files = {path.name for path in SHARED.iterdir() if path.stat().st_uid == os.geteuid()}
    rows = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    return files | {f"segment {row[1]}" for row in rows if int(row[7]) == os.geteuid()}


def mentioning(text: str) -> list[int]:
    """Processes with that in their command."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if text in path.read_text(errors="replace"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def start_and_end(domain: int, robot: str, folder: Path, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [str(OPENRAL), "deploy", "sim", "--config", "bare", "--robot", robot],
        env={
            **os.environ,
            "OPENRAL_DOMAIN": str(domain),
            "TMPDIR": str(folder),
            "XDG_RUNTIME_DIR": str(folder),
        },
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    with process:
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            said.append(line)
            if "│ armed" in line:
                break
        assert process.poll() is None, said
        members = family(process.pid)
        assert len(members) >= 5
        process.send_signal(number)
        process.stderr.read()
        code = process.wait(60.0)
    assert code == (0 if number != signal.SIGKILL else -signal.SIGKILL), said
    wait_until(lambda: not [pid for pid in members if alive(pid)])


def test_nothing_is_left(domain: int, tmp_path: Path) -> None:
    robot, runtime = blind_robot("ur5e", tmp_path), tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    before = (open_here(), shared())
    for number in range(TIMES):
        start_and_end(domain, robot, runtime, ENDINGS[number % len(ENDINGS)])
        print(f"{number + 1} of {TIMES}", flush=True)
    assert not [pid for pid in mentioning(str(tmp_path)) if alive(pid)]
    assert (open_here(), shared() - before[1]) == (before[0], set())
    (lock,) = runtime.iterdir()
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
