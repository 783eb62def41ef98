"""Imports a model in a separate process: an untrusted file can neither hang nor fill this one.

`python -m openral.sim.importing.process MODEL ID` prints the manifest and its notes as JSON.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

from openral.errors import ConfigError, OpenralError
from openral.manifest import RobotDescription, dump_yaml, parse_yaml
from openral.sim.importing.importer import Imported, import_model

MAX_MEMORY_BYTES = 8 << 30
_REFUSED = 2


def import_apart(path: Path, robot_id: str | None, timeout_s: float) -> Imported:
    """Like `import_model`; also ConfigError for a model that takes too much time or memory."""
    command = [sys.executable, "-m", "openral.sim.importing.process", str(path), robot_id or ""]
    try:
        done = subprocess.run(
            command, capture_output=True, check=False, timeout=timeout_s, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise ConfigError(f"{path} cannot be imported within {timeout_s:g} s") from None
    if done.returncode == _REFUSED:
        raise ConfigError(done.stderr.decode(errors="replace").strip())
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        why = lines[-1] if lines else f"exit code {done.returncode}"
        raise ConfigError(f"{path} cannot be imported: {why}")
    told = json.loads(done.stdout)
    return Imported(parse_yaml(RobotDescription, told["robot"], path), told["notes"])


def main() -> int:
    """Runs the import; exit code 2 with a message for a file that is no valid model."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    limit = min(MAX_MEMORY_BYTES, memory)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    try:
        made = import_model(Path(sys.argv[1]), sys.argv[2] or None)
    except OpenralError as error:
        print(error, file=sys.stderr)
        return _REFUSED
    except (MemoryError, RecursionError, ValueError, LookupError, OSError) as error:
        print(f"{sys.argv[1]} cannot be imported: {error!r}", file=sys.stderr)
        return _REFUSED
    json.dump({"robot": dump_yaml(made.robot), "notes": made.notes}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
