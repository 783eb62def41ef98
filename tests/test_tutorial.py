"""The commands of docs/tutorial.md, run in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parent.parent / "docs" / "tutorial.md").read_text()


def test_the_commands_of_the_tutorial(tmp_path: Path) -> None:
    save = r"[Ss]ave\s+(?:it|this)\s+as\s+`([\w.]+)`:\n\n```\w+\n(.*?)```"
    for name, content in re.findall(save, PAGE, re.DOTALL):
        (tmp_path / name).write_text(content)
    commands = "".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL))
    assert commands.count("openral ") == 7
    bin_folder = str(Path(sys.executable).parent)
    done = subprocess.run(
        ["bash", "-euc", commands],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "accepted: joint_position: proven clear" in done.stdout
    assert re.search(r"refused: joint_position: link '\w+' .* obstacle 'post'", done.stdout)
    assert "ended: 2 s are over" in done.stdout
    assert (tmp_path / "my_arm.png").stat().st_size > 1000
