"""The window of `--view`, on a virtual screen."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.ros.conftest import domain, wait_until  # noqa: F401 - a fixture
from tests.system.graph import OPENRAL

pytestmark = pytest.mark.skipif(
    shutil.which("Xvfb") is None, reason="needs a virtual screen: Debian's package xvfb"
)


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A display, and the file that holds its pixels."""
    read, write = os.pipe()
    command = ["Xvfb", "-displayfd", str(write), "-screen", "0", "800x600x24"]
    server = subprocess.Popen(
        [*command, "-fbdir", str(tmp_path)], pass_fds=[write], stderr=subprocess.DEVNULL
    )
    os.close(write)
    try:
        with os.fdopen(read) as told:
            yield f":{told.readline().strip()}", tmp_path / "Xvfb_screen0"
    finally:
        server.terminate()
        server.wait()


def test_a_run_can_be_watched(domain: int, screen: tuple[str, Path]) -> None:  # noqa: F811
    display, pixels = screen
    command = [str(OPENRAL), "deploy", "sim", "--config", "tabletop_push", "--robot", "ur5e"]
    run = subprocess.Popen(
        [*command, "--view", "--duration", "4", "--json", "--domain", str(domain)],
        env={**os.environ, "DISPLAY": display},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

    def colours() -> int:
        return len(np.unique(np.frombuffer(pixels.read_bytes(), np.uint32)[1000:]))

    try:
        wait_until(lambda: colours() > 50 or run.poll() is not None, 60.0)
        shown = colours()
    finally:
        _, err = run.communicate(timeout=60)
    assert shown > 50, err
    assert "no viewer" not in err  # how fast it is on a screen without a GPU is another matter
