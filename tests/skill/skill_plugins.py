"""Skills of an installed package, good and bad ones, as `openral.skills` entry points."""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

NAMES = {
    "wave": "Wave",
    "raises": "Raises",
    "hangs": "Hangs",
    "nan": "NotANumber",
    "wide": "TooWide",
    "dies": "Dies",
    "slow": "Slow",
    "nothing": "Nothing",
    "looks": "Looks",
    "steady": "Steady",
    "broken": "Broken",
    "forks": "Forks",
    "hogs": "Hogs",
    "hogs_in_parts": "HogsInParts",
    "creeps": "Creeps",
    "closes": "Closes",
    "deaf": "Deaf",
    "huge": "Huge",
    "huge_bytes": "HugeBytes",
    "drips": "Drips",
    "pickles": "Pickles",
    "breaks_out": "BreaksOut",
    "leaves_children": "LeavesChildren",
    "good_faith": "GoodFaith",
}


def install(folder: Path) -> dict[str, str]:
    """Makes a package of these skills; returns the environment that finds it."""
    info = folder / "openral_test_skills-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: openral-test-skills\nVersion: 1\n")
    lines = "\n".join(f"{name} = openral_test_skills:{made}" for name, made in NAMES.items())
    (info / "entry_points.txt").write_text(f"[openral.skills]\n{lines}\n")
    (folder / "openral_test_skills.py").write_text(Path(__file__).read_text())
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path}


class Wave:
    """Moves the first joint a little to and fro; `after` good answers its child does its worst."""

    cameras: tuple[str, ...] = ()

    def __init__(self, context: Any, parameters: dict[str, Any]) -> None:
        self.context = context
        self.rows = int(parameters.get("rows", 4))
        self.after = int(parameters.get("after", 0))
        self.size = float(parameters.get("size", 0.02))
        self.moment = str(parameters.get("moment", ""))
        """File that is told when the worst begins, in the system's monotonic time."""
        self.answers = 0
        self.start: Any = None

    def reset(self, seed: int) -> None:
        self.start, self.answers = None, 0

    def act(self, observation: Any) -> Any:
        if self.start is None:
            self.start = observation.joint_positions.copy()
        self.answers += 1
        if self.answers > self.after:
            if self.moment:
                Path(self.moment).write_text(str(time.monotonic()))
            return self.worst(self.wave())
        return self.wave()

    def wave(self) -> Any:
        rows = np.tile(self.start, (self.rows, 1))
        phase = np.arange(1, self.rows + 1) / self.rows * np.pi
        rows[:, 0] += self.size * np.sin(phase) * (-1) ** self.answers
        return rows

    def worst(self, rows: Any) -> Any:
        return rows


class Raises(Wave):
    def worst(self, rows: Any) -> Any:
        raise RuntimeError("out of ideas")


class Hangs(Wave):
    def worst(self, rows: Any) -> Any:
        while True:
            time.sleep(3600)


class NotANumber(Wave):
    def worst(self, rows: Any) -> Any:
        rows[-1, 0] = np.nan
        return rows


class TooWide(Wave):
    def worst(self, rows: Any) -> Any:
        return np.hstack([rows, rows])


class Dies(Wave):
    def worst(self, rows: Any) -> Any:
        os._exit(7)


class Slow(Wave):
    def worst(self, rows: Any) -> Any:
        time.sleep(0.8)
        return rows


class Nothing(Wave):
    def worst(self, rows: Any) -> Any:
        return "go there"


class Broken(Wave):
    def __init__(self, context: Any, parameters: dict[str, Any]) -> None:
        raise ImportError("no torch")


class Looks(Wave):
    """Answers with the state that it was given, and remembers what it saw."""

    def act(self, observation: Any) -> Any:
        self.seen = observation
        return observation.state[None]


class Steady(Wave):
    """Gives the same row again and again, `answers` times."""

    def __init__(self, context: Any, parameters: dict[str, Any]) -> None:
        super().__init__(context, parameters)
        self.row, self.left = parameters["row"], int(parameters["answers"])

    def finished(self, observation: Any) -> bool:
        return self.answers >= self.left

    def act(self, observation: Any) -> Any:
        self.answers += 1
        return np.tile(self.row, (self.rows, 1))


class Forks(Wave):
    """As fast as it can, each in a session of its own."""

    def worst(self, rows: Any) -> Any:
        while True:
            with suppress(OSError):
                if os.fork() == 0:
                    with suppress(OSError):
                        os.setsid()


class Hogs(Wave):
    def worst(self, rows: Any) -> Any:
        self.kept = np.ones(20 * 10**9 // 8)
        return rows


class HogsInParts(Wave):
    """In children, none of which has much."""

    def worst(self, rows: Any) -> Any:
        for _ in range(8):
            if os.fork() == 0:
                kept = bytearray(os.urandom(1 << 20)) * 300
                time.sleep(3600)
                os._exit(len(kept) & 1)
        time.sleep(3600)


class Creeps(Wave):
    """Takes 4 GB, bit by bit."""

    def worst(self, rows: Any) -> Any:
        self.kept = [np.ones(1 << 22) for _ in range(128)]
        return rows


class Closes(Wave):
    def worst(self, rows: Any) -> Any:
        os.closerange(0, 65536)
        time.sleep(3600)


class Deaf(Wave):
    """To all that asks it to end."""

    def worst(self, rows: Any) -> Any:
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
            with suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_IGN)
        while True:
            time.sleep(3600)


class Huge(Wave):
    def worst(self, rows: Any) -> Any:
        return np.zeros((1 << 28, 1), np.float32)


def _link() -> socket.socket:
    """The socket to the runner, wherever it is."""
    for number in range(3, 64):
        with suppress(OSError):
            link = socket.socket(fileno=os.dup(number))
            if link.family == socket.AF_UNIX:
                link.getpeername()
                return link
    raise OSError("no link")


class HugeBytes(Wave):
    """Goes round the code that would have refused it."""

    def worst(self, rows: Any) -> Any:
        link = _link()
        link.sendall(struct.pack("=Q", 1 << 40))
        while True:
            link.sendall(bytes(1 << 20))


class Drips(Wave):
    """Begins an answer and does not go on."""

    def worst(self, rows: Any) -> Any:
        _link().sendall(struct.pack("=Q", 1000) + b"A")
        time.sleep(3600)


class _Evil:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (self.path,)


class Pickles(Wave):
    """Wants its runner to make a folder."""

    def worst(self, rows: Any) -> Any:
        body = pickle.dumps(_Evil(self.moment + ".made"))
        _link().sendall(struct.pack("=Q", len(body)) + body)
        time.sleep(3600)


class LeavesChildren(Wave):
    def worst(self, rows: Any) -> Any:
        for _ in range(3):
            command = [sys.executable, "-c", "import time; time.sleep(3600)"]
            subprocess.Popen(command, process_group=0)
        os._exit(3)


class BreaksOut(Wave):
    """Tries whatever could harm others; `told` gets what each attempt came to."""

    def __init__(self, context: Any, parameters: dict[str, Any]) -> None:
        super().__init__(context, parameters)
        self.told, self.victims = Path(parameters["told"]), parameters["victims"]
        self.elsewhere = Path(parameters["elsewhere"])

    def worst(self, rows: Any) -> Any:
        self.libc = ctypes.CDLL(None, use_errno=True)
        done: dict[str, Any] = {}
        for pid in [os.getppid(), *self.victims]:
            for name, attempt in self.attempts(pid).items():
                done.setdefault(name, []).append(self.outcome(attempt))
        for name, attempt in self.others().items():
            done[name] = [self.outcome(attempt)]
        done["environment"] = sorted(name for name in os.environ if "RUN_KEY" in name)
        self.told.write_text(json.dumps(done))
        raise RuntimeError("tried everything")

    def outcome(self, attempt: Any) -> Any:
        try:
            value = attempt()
        except OSError as error:
            return f"refused: {error.strerror}"
        if isinstance(value, int) and value < 0:
            return f"refused: {os.strerror(ctypes.get_errno())}"
        return f"done: {value}"

    def attempts(self, pid: int) -> dict[str, Any]:
        libc = self.libc
        return {
            "kill": lambda: os.kill(pid, signal.SIGKILL),
            "stop": lambda: os.kill(pid, signal.SIGSTOP),
            "kill group": lambda: os.killpg(pid, signal.SIGKILL),
            "pidfd kill": lambda: signal.pidfd_send_signal(os.pidfd_open(pid), signal.SIGKILL),
            "ptrace": lambda: libc.ptrace(0x4206, pid, 0, 0),
            "process_vm_readv": lambda: libc.process_vm_readv(pid, None, 0, None, 0, 0),
            "pidfd_getfd": lambda: libc.syscall(438, os.pidfd_open(pid), 0, 0),
            "mem": lambda: os.open(f"/proc/{pid}/mem", os.O_RDWR),
            "environ": lambda: Path(f"/proc/{pid}/environ").read_bytes(),
            "fd": lambda: Path(f"/proc/{pid}/fd/0").readlink(),
            "renice": lambda: os.setpriority(os.PRIO_PROCESS, pid, 19),
            "affinity": lambda: os.sched_setaffinity(pid, {0}),
        }

    def others(self) -> dict[str, Any]:
        libc = self.libc
        elsewhere = self.elsewhere
        return {
            "kill all": lambda: os.kill(-1, signal.SIGKILL),
            "write elsewhere": lambda: elsewhere.write_text("mine"),
            "append elsewhere": lambda: (elsewhere.parent / "there").open("a"),
            "remove elsewhere": (elsewhere.parent / "there").unlink,
            "rename elsewhere": lambda: (elsewhere.parent / "there").rename(elsewhere),
            "join the graph": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
            "raw socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1),
            "keyctl": lambda: libc.syscall({"x86_64": 250}.get(os.uname().machine, 219), 0, -3, 0),
            "new namespace": lambda: libc.unshare(0x10000000),
            "mount": lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None),
            "set the clock": lambda: libc.clock_settime(0, ctypes.byref((ctypes.c_long * 2)())),
            "serial port": lambda: os.open("/dev/ttyS0", os.O_RDWR | os.O_NONBLOCK),
        }


class GoodFaith(Wave):
    """Does what frameworks do: temporary files, a cache, threads, children, TCP, its own limits."""

    def worst(self, rows: Any) -> Any:
        import tempfile
        import threading

        with tempfile.NamedTemporaryFile() as file:
            file.write(b"x")
        cache = Path("~/.cache").expanduser() / f"openral-test-{os.getpid()}"
        cache.write_text("weights")
        cache.unlink()
        thread = threading.Thread(target=lambda: np.ones((500, 500)) @ np.ones((500, 500)))
        thread.start()
        thread.join()
        text = subprocess.run([sys.executable, "-c", "print(6*7)"], capture_output=True, check=True)
        assert text.stdout == b"42\n"
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        child.terminate()
        assert child.wait(30) == -signal.SIGTERM
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname()).close()
        socket.getaddrinfo("localhost", 80)
        Path("/proc/self/status").read_text()
        Path("/etc/passwd").read_text()
        Path("/dev/null").write_text("x")
        return rows
