"""What a policy's process may use."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field

_SHARE_OF_MEMORY = 0.75
_TASKS = 128


@dataclass(frozen=True)
class PolicyLimits:
    """Zero: the default."""

    memory_bytes: int = 0
    """Of it and all that it starts; by default three quarters of the machine's."""
    tasks: int = 0
    """Processes and threads; by default 128, or four a core: more would starve their warden."""
    folders: tuple[str, ...] = field(default_factory=tuple)
    """Where it may write, besides a folder of its own and the user's cache."""

    @property
    def memory(self) -> int:
        """In bytes."""
        if self.memory_bytes:
            return self.memory_bytes
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return int(_SHARE_OF_MEMORY * whole)

    @property
    def most_tasks(self) -> int:
        """Processes and threads."""
        return self.tasks or max(_TASKS, 4 * (os.cpu_count() or 1))

    def to_text(self) -> str:
        """For a command line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> PolicyLimits:
        """Of `to_text`."""
        given = json.loads(text)
        return cls(given["memory_bytes"], given["tasks"], tuple(given["folders"]))
