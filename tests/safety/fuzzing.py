"""Builds and runs the C++ fuzzer of the kernel, with the shipped robots as some of its subjects."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from openral.manifest import load_robot
from openral.manifest.library import shipped_robots
from openral.manifest.robot import RobotDescription
from openral.safety.robot_model import fill_model

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "fuzz"


def build_fuzzer(static: bool = False) -> Path:
    """The fuzzer's program, optimised, built when it is older than its sources.

    A static one runs on any machine of this kind, with a file of robots beside it.
    """
    folder = BUILD.with_name("fuzz-static") if static else BUILD
    tools = Path(sys.executable).parent
    commands = [
        [
            str(tools / "cmake"), "-S", str(ROOT), "-B", str(folder), "-G", "Ninja",
            f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}", "-DCMAKE_BUILD_TYPE=Release",
            "-DOPENRAL_PYTHON=OFF", "-DOPENRAL_TESTS=ON",
            f"-DOPENRAL_FUZZ_STATIC={'ON' if static else 'OFF'}",
        ],
        [str(tools / "cmake"), "--build", str(folder), "--target", "openral_kernel_fuzz"],
    ]  # fmt: skip
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stdout[-4000:] + done.stderr[-4000:])
    return folder / "cpp" / "fuzz" / "openral_kernel_fuzz"


class _Writer:
    """Takes the calls that fill a kernel's model and writes one line for each."""

    def __init__(self) -> None:
        self.lines = ["robot"]
        self.envelope = SimpleNamespace(workspace_lower=(-1e30,) * 3, workspace_upper=(1e30,) * 3)
        self.mobile, self.base, self.base_frame, self.modes = False, (-1, -1, -1), "", 0
        self.differential = False

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("add_") or name == "add_group":
            return lambda *_: None
        return lambda *values: self.lines.append(" ".join([name[4:], *_words(values)]))

    def text(self) -> str:
        e = self.envelope
        limits = [e.tool_speed, e.tool_rate, e.step, e.turn, e.base_speed, e.base_rate]
        self.lines.append(f"modes {self.base_frame} {self.modes}")
        box = [*e.workspace_lower, *e.workspace_upper]
        self.lines.append(" ".join(["envelope", *_words([*limits, *box])]))
        self.lines.append(" ".join(["follow", *_words([e.follow_shift, e.follow_turn])]))
        if self.mobile:
            self.lines.append(" ".join(["mobile", *_words(self.base), str(int(self.differential))]))
        return "\n".join(self.lines) + "\n"


def _words(values: Iterable[Any]) -> Iterable[str]:
    for value in values:
        if isinstance(value, str):
            yield value.replace(" ", "_")
        elif isinstance(value, int):
            yield str(value)
        elif isinstance(value, float):
            yield repr(min(max(value, -1e30), 1e30))
        else:
            yield from _words(value)


def write_robots(path: Path, robots: Iterable[RobotDescription]) -> Path:
    """Robots as the fuzzer reads them."""
    text = ""
    for robot in robots:
        writer = _Writer()
        fill_model(writer, robot)  # type: ignore[arg-type]
        text += writer.text()
    path.write_text(text)
    return path


def shipped(path: Path) -> Path:
    """All shipped robots as a file for the fuzzer."""
    return write_robots(path, [load_robot(name) for name in shipped_robots()])


def fresh_seed() -> int:
    """A seed that nobody has tried: the same motions again show nothing new."""
    return random.SystemRandom().randrange(1, 2**40)


def run_fuzzer(
    program: Path, segments: int, seed: int, robots: Path, *options: str
) -> dict[str, Any]:
    """What the fuzzer found."""
    command = [str(program), *options, str(segments), str(seed), str(robots)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or not done.stdout:
        raise RuntimeError(f"the fuzzer ended with {done.returncode}: {done.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result
