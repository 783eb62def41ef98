"""`openral deploy sim --skill home` for every robot: rates, real-time factor, verdicts, start-up.

Each robot runs for 8 s as a user would start it. Targets: exit code 0, joint states at 45 Hz of 50
or more, every camera at 90% of its rate or more, verdicts, no e-stop, simulated time, a real-time
factor of 0.95 or more for arms, the first picture on the bus within 6 s of the command. Prints one
JSON object; `within` says for each robot which targets were met, `load` how busy the machine was.
Exit code 1: one was missed, or not all eleven robots were there.

`python benchmarks/deploy.py ur5e g1` runs some robots only.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from shared.targets import finish

from openral.manifest import load_robot
from openral.manifest.library import shipped_robots

DOMAIN, SCENE, SECONDS = "96", "tabletop_push", 8.0
ROBOTS = 11
JOINTS_HZ, CAMERA_SHARE, FACTOR, FIRST_FRAME_S = 45.0, 0.9, 0.95, 6.0


def run(robot: str) -> dict[str, Any]:
    command = [str(Path(sys.executable).with_name("openral")), "deploy", "sim", "--json"]
    command += ["--config", SCENE, "--robot", robot, "--skill", "home", "--duration", str(SECONDS)]
    done = subprocess.run(
        command,
        env={**os.environ, "OPENRAL_DOMAIN": DOMAIN},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    if not done.stdout:
        return {"exit_code": done.returncode, "exit_reason": done.stderr.strip()[-300:]}
    return dict(json.loads(done.stdout))


def judge(robot: str, summary: dict[str, Any]) -> dict[str, bool]:
    rates = summary.get("rates")
    if not rates:  # it never got so far
        return {"exit": False}
    cameras = [rate for topic, rate in rates.items() if topic.startswith("/openral/cameras/")]
    first = summary["first_frame_after"]
    is_arm = load_robot(robot).kind in ("arm", "bimanual")
    return {
        "exit": summary["exit_code"] == 0,
        "joint_states": rates["/joint_states"]["measured"] >= JOINTS_HZ,
        "cameras": all(r["measured"] >= CAMERA_SHARE * r["configured"] for r in cameras),
        "verdicts": sum(summary["verdicts"].values()) > 0,
        "estops": summary["estops"] == 0,
        "clock": summary["clock"] == "sim",
        "real_time_factor": (summary["real_time_factor"] or 0) >= FACTOR or not is_arm,
        "first_frame": first is not None and first <= FIRST_FRAME_S,
    }


def main() -> None:
    wanted = sys.argv[1:] or shipped_robots()
    found: dict[str, Any] = {}
    within: dict[str, Any] = {}
    for robot in wanted:
        summary = run(robot)
        kept = ("exit_code", "exit_reason", "real_time_factor", "ready_after", "first_frame_after")
        found[robot] = {
            **{name: summary.get(name) for name in kept},
            "rates": {
                topic: [rate["measured"], rate["configured"]]
                for topic, rate in summary.get("rates", {}).items()
            },
            "verdicts": summary.get("verdicts"),
            "estops": summary.get("estops"),
        }
        within[robot] = judge(robot, summary)
    within["all_robots"] = len(found) >= ROBOTS or bool(sys.argv[1:])
    finish({"seconds": SECONDS, "load": os.getloadavg()[1], "robots": found}, within)


if __name__ == "__main__":
    main()
