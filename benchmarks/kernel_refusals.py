"""Counts small honest motions from home, with shipped manifests, that the kernel does not let pass.

    python benchmarks/kernel_refusals.py [ROBOT ...]

Prints one JSON object, a row for each robot and kind of motion, with the verdicts of what was
refused or dropped. Whether such a motion is truly too close, by hulls instead of capsules, is not
judged here.
"""

from __future__ import annotations

import json
import sys

from openral.bench.refusals import table
from openral.manifest.library import shipped_robots

if __name__ == "__main__":
    rows = [row for name in sys.argv[1:] or shipped_robots() for row in table(name)]
    print(json.dumps({"benchmark": "kernel_refusals", "rows": rows}, indent=1))
