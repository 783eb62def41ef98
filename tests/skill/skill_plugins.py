"""Skills of an installed package, good and bad ones, as `openral.skills` entry points."""

from __future__ import annotations

import os
import time
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
