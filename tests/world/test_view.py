"""`openral world view` after a veto: whoever comes to look sees what would have been hit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from openral.graph import topics
from openral.graph.voxel_message import voxel_grid
from openral.manifest import ControlMode
from tests.deploy.terminal import Terminal
from tests.hal.chunks import chunk, slot
from tests.hal.node_rig import LiveGraph
from tests.ros.conftest import Graph, wait_until
from tests.world.live_kitchen import start, vetoed
from tests.world.test_live_kitchen import ARM, scene  # noqa: F401

OPENRAL = Path(sys.executable).with_name("openral")
RED = (214, 39, 40)


def drive_at_the_counter(live: LiveGraph) -> Any:
    """Until the kernel refuses; its verdict."""
    down = np.zeros(7)
    down[[1, 3]] = [0.35, 0.15]

    def stream() -> bool:
        speeds = slot(ControlMode.JOINT_VELOCITY, np.tile(down, (6, 1)), joints=ARM)
        live.propose(chunk(speeds, dt=0.05))
        return vetoed(live) is not None

    wait_until(stream, 60.0)
    return wait_until(lambda: [v for v in live.heard[topics.VERDICT] if v.status == 2])[-1]


def view(live: LiveGraph, *words: str) -> str:
    command = [str(OPENRAL), "world", "view", "--timeout", "30", *words]
    done = subprocess.run(
        [*command, "--domain", str(live.graph.domain)],
        check=True,
        capture_output=True,
        text=True,
        timeout=90,
    )
    return done.stdout


def live_table(live: LiveGraph, wanted: str) -> int:
    """Looks at the table until something stands there, then Ctrl-C; the exit code."""
    with Terminal() as terminal:
        process = subprocess.Popen(
            [str(OPENRAL), "world", "view", "--live", "--domain", str(live.graph.domain)],
            stdout=terminal.end,
            env={**os.environ, "TERM": "xterm-256color"},
        )
        try:
            wait_until(lambda: wanted in terminal.text, 60.0)
            process.send_signal(signal.SIGINT)
            return process.wait(20.0)
        finally:
            process.kill()


def test_the_view_shows_what_was_refused_and_where(
    graph: Graph,
    scene: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    live = start(graph, scene, sim_time=True)
    try:
        verdict = drive_at_the_counter(live)
        data = json.loads(view(live, "--json"))
        assert data["verdict"] == f"rejected: {verdict.detail}"
        assert data["hit"]["link"] == verdict.link
        assert data["hit"]["what"] == verdict.hit
        assert data["hit"]["what"].startswith("voxel ")
        assert 0.0 <= data["age_s"] < 60.0, "told by another clock than the graph's"
        grid = voxel_grid(live.latest(topics.VOXELS), False)
        cells = np.argwhere(grid.cells)
        centres = (cells + 0.5) * grid.resolution + np.array(grid.origin)
        away = np.linalg.norm(centres - np.array(data["hit"]["at"]), axis=1).min()
        assert away < 1.5 * grid.resolution, "there is nothing where it would have hit"
        picture = tmp_path / "world.png"
        text = view(live, "--out", str(picture))
        assert "occupied cells" in text
        pixels = np.asarray(Image.open(picture).convert("RGB"))
        assert (pixels == RED).all(axis=2).sum() > 200
        assert live_table(live, "rejected: ") == 0
        live.arm()
        after = json.loads(view(live, "--json"))
        assert after["hit"] is None and "rejected" not in after["verdict"], "that was before"
    finally:
        live.close()
