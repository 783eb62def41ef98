"""`make demo` as strangers run it: cold, busy, unprivileged, detached, on one core.

`python benchmarks/first_contact.py [RUNS] [CONDITION ...]` prints for each condition how many runs
ended with exit code 0, how long they took and at which real-time factor. Exit code 1 if one failed.
Dropping the page cache and limiting cores and memory need root; without it those parts are said to
be left out.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SUMMARY = ROOT / "out/demo/summary.json"
DEMO = ("make", "demo")
LONGEST_S = 900.0
CGROUPS = Path("/sys/fs/cgroup")
FOUR_GB = str(4 << 30)
_UNPRIVILEGED = ("setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice")
_SPIN = (sys.executable, "-c", "while True: pass")
_WRITE = """
import os, sys
block = os.urandom(1 << 20)
while True:
    with open(sys.argv[1], "wb") as out:
        for _ in range(256):
            out.write(block)
            os.fsync(out.fileno())
"""


@dataclass
class Run:
    """How one `make demo` is started, and what is beside it."""

    command: tuple[str, ...] = DEMO
    environment: dict[str, str] = field(default_factory=dict)
    left_out: str = ""
    """What of the condition this machine does not allow."""


Condition = Callable[[], contextlib.AbstractContextManager[Run]]


@contextlib.contextmanager
def beside(*commands: tuple[str, ...]) -> Iterator[None]:
    """Other programs that run meanwhile."""
    others = [subprocess.Popen(command) for command in commands]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


@contextlib.contextmanager
def idle() -> Iterator[Run]:
    yield Run()


@contextlib.contextmanager
def empty_caches() -> Iterator[Run]:
    """A new home, no bytecode, nothing of the disk in memory."""
    with tempfile.TemporaryDirectory() as home:
        new = {
            "HOME": home,
            "XDG_CACHE_HOME": f"{home}/cache",
            "PYTHONPYCACHEPREFIX": f"{home}/pyc",
        }
        left_out = ""
        os.sync()
        try:
            Path("/proc/sys/vm/drop_caches").write_text("3\n")
        except OSError as error:
            left_out = f"the page cache is not dropped: {error}"
        yield Run(environment=new, left_out=left_out)


@contextlib.contextmanager
def two_busy_loops() -> Iterator[Run]:
    with beside(_SPIN, _SPIN):
        yield Run()


@contextlib.contextmanager
def busy_disk() -> Iterator[Run]:
    with (
        tempfile.TemporaryDirectory(dir=ROOT / "out") as folder,
        beside((sys.executable, "-c", _WRITE, f"{folder}/junk")),
    ):
        yield Run()


@contextlib.contextmanager
def unprivileged() -> Iterator[Run]:
    """No real-time priority, as an ordinary user has none."""
    yield Run((*_UNPRIVILEGED, *DEMO) if os.geteuid() == 0 else DEMO)


@contextlib.contextmanager
def unprivileged_and_busy() -> Iterator[Run]:
    with unprivileged() as run, beside(_SPIN):
        yield run


@contextlib.contextmanager
def nohup() -> Iterator[Run]:
    yield Run(("nohup", *DEMO))


@contextlib.contextmanager
def background() -> Iterator[Run]:
    """A shell ignores SIGINT for what its scripts start in the background."""
    yield Run(("sh", "-c", "make demo & wait $!"))


@contextlib.contextmanager
def one_core_four_gb() -> Iterator[Run]:
    """A control group; where none can be made, the core alone."""
    name = f"openral-{os.getpid()}"
    try:
        places = _control_group(name)
    except OSError as error:
        yield Run(("taskset", "-c", "0", *DEMO), left_out=f"no limit on memory: {error}")
        return
    join = "".join(f"echo $$ > {place}/cgroup.procs; " for place in places)
    try:
        yield Run(("sh", "-c", f"{join}exec make demo"))
    finally:
        time.sleep(0.5)
        for place in places:
            with contextlib.suppress(OSError):
                place.rmdir()


def _control_group(name: str) -> list[Path]:
    if (CGROUPS / "cgroup.controllers").exists():
        place = CGROUPS / name
        place.mkdir()
        (place / "cpuset.cpus").write_text("0")
        (place / "memory.max").write_text(FOUR_GB)
        return [place]
    cores, memory = CGROUPS / "cpuset" / name, CGROUPS / "memory" / name
    for place in (cores, memory):
        place.mkdir()
    (cores / "cpuset.cpus").write_text("0")
    (cores / "cpuset.mems").write_text("0")
    (memory / "memory.limit_in_bytes").write_text(FOUR_GB)
    return [cores, memory]


CONDITIONS: tuple[Condition, ...] = (
    idle,
    empty_caches,
    two_busy_loops,
    busy_disk,
    unprivileged,
    unprivileged_and_busy,
    nohup,
    background,
    one_core_four_gb,
)


def one_run(condition: Condition) -> dict[str, Any]:
    """One `make demo`; what it printed, if it failed."""
    shutil.rmtree(SUMMARY.parent, ignore_errors=True)
    SUMMARY.parent.parent.mkdir(exist_ok=True)
    with condition() as run:
        began = time.monotonic()
        try:
            done = subprocess.run(
                run.command,
                cwd=ROOT,
                env={**os.environ, **run.environment},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=LONGEST_S,
                check=False,
            )
            code, said = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired as error:
            code, said = 124, str(error)
        seconds = time.monotonic() - began
    factor = None
    with contextlib.suppress(OSError, ValueError, KeyError):
        factor = json.loads(SUMMARY.read_text())["real_time_factor"]
    found: dict[str, Any] = {"code": code, "seconds": round(seconds, 1), "rtf": factor}
    if run.left_out:
        found["left_out"] = run.left_out
    if code:
        found["said"] = said[-2000:]
    return found


def table(runs: int, conditions: tuple[Condition, ...]) -> dict[str, Any]:
    """All conditions."""
    subprocess.run(("make", "setup"), cwd=ROOT, check=True, capture_output=True)
    rows: dict[str, Any] = {}
    for condition in conditions:
        found = [one_run(condition) for _ in range(runs)]
        good = [run for run in found if run["code"] == 0]
        factors = [run["rtf"] for run in good if run["rtf"] is not None]
        row: dict[str, Any] = {"passed": len(good), "of": runs}
        if good:
            row["median_s"] = statistics.median(run["seconds"] for run in good)
            row["longest_s"] = max(run["seconds"] for run in good)
        if factors:
            row["rtf_median"], row["rtf_least"] = statistics.median(factors), min(factors)
        row["failures"] = [run for run in found if run["code"]]
        if left_out := {run["left_out"] for run in found if "left_out" in run}:
            row["left_out"] = sorted(left_out)
        rows[condition.__name__] = row
        print(condition.__name__, json.dumps(row), file=sys.stderr, flush=True)
    return {"benchmark": "first_contact", "runs": runs, "conditions": rows}


def main() -> int:
    """Exit code 1 if a run failed, 2 for a condition that does not exist."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    by_name = {condition.__name__: condition for condition in CONDITIONS}
    wanted = sys.argv[2:] or list(by_name)
    if unknown := [name for name in wanted if name not in by_name]:
        print(f"no condition {', '.join(unknown)}; valid: {', '.join(by_name)}", file=sys.stderr)
        return 2
    result = table(runs, tuple(by_name[name] for name in wanted))
    print(json.dumps(result))
    return int(any(row["failures"] for row in result["conditions"].values()))


if __name__ == "__main__":
    sys.exit(main())
