"""PolicyLimits: the resources that a policy's process may use."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field

_SHARE_OF_MEMORY = 0.75
_TASKS = 128


@dataclass(frozen=True)
class PolicyLimits:
    """Limits of one policy; zero means the default."""

    memory_bytes: int = 0
    """Memory of the policy and its descendants; by default three quarters of the machine's."""
    tasks: int = 0
    """Processes and threads; by default 128 or four per core: more would starve the warden."""
    folders: tuple[str, ...] = field(default_factory=tuple)
    """Folders that it may write to, besides its own and the user's cache."""

    @property
    def memory(self) -> int:
        """Memory limit in bytes, defaults resolved."""
        if self.memory_bytes:
            return self.memory_bytes
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return int(_SHARE_OF_MEMORY * whole)

    @property
    def most_tasks(self) -> int:
        """Limit of processes and threads, defaults resolved."""
        return self.tasks or max(_TASKS, 4 * (os.cpu_count() or 1))

    def to_text(self) -> str:
        """The limits as a JSON text for a command line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> PolicyLimits:
        """The reverse of `to_text`."""
        given = json.loads(text)
        return cls(given["memory_bytes"], given["tasks"], tuple(given["folders"]))
