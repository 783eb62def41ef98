"""What the processes of a graph use, by name."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_SHARED = Path("/dev/shm")
_WARDEN = "openral.skill.policy.warden"
_LAUNCH = "openral.deploy.launch"


def shared_files() -> set[str]:
    """Names of all files of shared memory that this user owns."""
    found = set()
    for path in _SHARED.iterdir():
        with suppress(FileNotFoundError):
            if path.stat().st_uid == os.geteuid():
                found.add(path.name)
    return found


class Members:
    """A supervisor and all that descends from it."""

    def __init__(self, supervisor: int) -> None:
        self._supervisor = supervisor

    def pids(self) -> dict[int, int]:
        """Each process with its parent."""
        parents = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                fields = path.read_text().rpartition(")")[2].split()
                parents[int(path.parent.name)] = int(fields[1])
        mine = {self._supervisor: parents.get(self._supervisor, 0)}
        while more := {p: q for p, q in parents.items() if q in mine and p not in mine}:
            mine |= more
        return mine

    def sample(self) -> dict[str, dict[str, float]]:
        """Megabytes, threads and descriptors of every process."""
        found: dict[str, dict[str, float]] = {}
        mine = self.pids()
        for pid, parent in mine.items():
            with suppress(OSError):
                name = self._name(pid, parent)
                used = _used(pid)
                if name in found:  # what one node has started several times
                    used = {what: found[name][what] + value for what, value in used.items()}
                found[name] = used
        return found

    def _name(self, pid: int, parent: int) -> str:
        if pid == self._supervisor:
            return "supervisor"
        words = _words(pid)
        if _WARDEN in words:
            return "policy" if _WARDEN in _words(parent) else "policy_warden"
        if _LAUNCH in words:
            return next(word for word in words[words.index(_LAUNCH) + 1 :] if "openral." in word)
        return Path(words[0]).name or "ended"


def _words(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")


def _used(pid: int) -> dict[str, float]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines if ":" in line)

    def megabytes(name: str) -> float:
        return int(fields[name].split()[0]) / 1024 if name in fields else 0.0

    return {
        "rss_mb": megabytes("VmRSS"),
        "shared_mb": megabytes("RssShmem"),
        "threads": float(fields["Threads"]),
        "descriptors": float(_descriptors(pid)),
    }


def _descriptors(pid: int) -> int:
    """Linux 6.2 tells everybody; before, it takes the right to look inside, and is 0 without."""
    folder = Path(f"/proc/{pid}/fd")
    with suppress(PermissionError):
        return folder.stat().st_size or len(list(folder.iterdir()))
    return 0
