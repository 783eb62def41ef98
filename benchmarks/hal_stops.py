"""How fast every joint of every robot is 150 ms after a stop from its full speed.

Prints one JSON object: by robot the worst joint, and how many joints stand (below 0.05 rad/s or
m/s). Joints that are in their own way and never reach the speed are left out and counted.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))


def main() -> None:
    from openral.manifest.library import load_robot, shipped_robots
    from tests.hal.joint_stops import STILL, measure_stop, stoppable

    found = {}
    for name in shipped_robots():
        robot = load_robot(name)
        stops = [measure_stop(robot, joint) for joint in stoppable(robot)]
        fast = [stop for stop in stops if stop.reached > 0.8 * stop.wanted]
        worst = max(fast, key=lambda stop: stop.after)
        found[name] = {
            "joints": len(fast),
            "blocked": len(stops) - len(fast),
            "standing": sum(stop.after < STILL for stop in fast),
            "worst": {"joint": worst.joint, "speed_after_150_ms": round(worst.after, 4)},
            "largest_jump": round(max(stop.jump for stop in fast), 4),
        }
    print(json.dumps({"still_below": STILL, "robots": found}, indent=1))


if __name__ == "__main__":
    main()
