"""Counts what the kernel refuses for nothing: small honest motions from home, shipped manifests.

    python benchmarks/kernel_refusals.py [ROBOT ...]

Prints one JSON object, a row for each robot and kind of motion; exit code 1 if a motion was refused
that brings no hull of the robot within the margin of another one. Hulls are those of the published
meshes in the manifest, posed by MuJoCo's own kinematics: nothing is shared with the kernel.
"""

from __future__ import annotations

import json
import sys

from openral.manifest.library import shipped_robots
from openral.safety.bench_refusals import table

if __name__ == "__main__":
    rows = [row for name in sys.argv[1:] or shipped_robots() for row in table(name)]
    wrong = sum(len(row["for_nothing"]) for row in rows)
    print(json.dumps({"rows": rows, "refused_for_nothing": wrong}, indent=1))
    sys.exit(1 if wrong else 0)
