"""How a benchmark ends: with one JSON object, and exit code 1 if it missed a target."""

from __future__ import annotations

import json
import sys
from typing import Any, NoReturn


def finish(result: dict[str, Any], within: dict[str, Any]) -> NoReturn:
    """Prints the result and `within`, which says for each target whether it was met.

    Groups of targets may be nested; `all_within` is what the exit code says.
    """
    met = all(_met(entry) for entry in within.values())
    print(json.dumps({**result, "within": within, "all_within": met}, indent=1))
    sys.exit(0 if met else 1)


def _met(entry: Any) -> bool:
    return all(_met(part) for part in entry.values()) if isinstance(entry, dict) else bool(entry)
