"""The programs in examples/ run as their docstrings say."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ros.conftest import Graph, domain, graph, wait_until  # noqa: F401 - fixtures
from tests.safety.kernel_rig import Rig

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))

# name -> what it must print
PRINTS = {
    "01_load_and_check_a_robot": "ok   kinematics",
    "02_make_a_rollout": r"after 20 steps: joint 1 at \+0\.\d+ rad",
    "03_ask_the_kernel": r"empty cell: +accepted(.|\n)*refused(.|\n)*'ball'(.|\n)*way: accepted",
    "04_write_a_skill": "600 steps, 30 s",
    "05_write_a_scene": r"brick at \[0\.6 .* done: False",
    "06_write_a_hal_driver": r"HOLDING \[ 0\.1 ",
    "08_gymnasium": "50 steps, return -",
}


@pytest.mark.parametrize("name", PRINTS)
def test_the_example_runs(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(FOLDER / f"{name}.py")
    monkeypatch.setattr(sys, "argv", [path])
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as ended:
        assert ended.code in (0, None)
    output = capsys.readouterr().out
    assert re.search(PRINTS[name], output), output


def test_the_example_node_gets_a_verdict_from_a_kernel(graph: Graph) -> None:  # noqa: F811
    rig = Rig(graph)
    try:
        rig.start_armed()
        done = subprocess.run(
            [sys.executable, str(FOLDER / "07_talk_to_the_graph.py")],
            env={**os.environ, "OPENRAL_DOMAIN": str(graph.domain)},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert done.stdout.startswith("clear: "), done
        wait_until(lambda: rig.safe)
    finally:
        rig.close()


def test_examples_are_numbered_short_and_show_their_command() -> None:
    assert [path.name[:2] for path in EXAMPLES] == [f"{n:02}" for n in range(1, 9)]
    for path in EXAMPLES:
        text = path.read_text()
        assert len(text.splitlines()) < 60, path.name
        assert f"    python examples/{path.name}" in text, path.name
