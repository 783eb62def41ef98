"""The whole graph in front of the counter: from depth pixels to a veto."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openral.manifest import ControlMode
from openral.safety import topics
from tests.hal.chunks import chunk, slot
from tests.ros.conftest import Graph, wait_until
from tests.world.live_kitchen import SEEN, scene_file, start, vetoed

ARM = [f"panda_joint{i}" for i in range(1, 8)]


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    return scene_file(tmp_path, (-1.0, 1.0, 1.5708))


def test_an_arm_velocity_stream_at_the_counter_is_vetoed(graph: Graph, scene: Path) -> None:
    """The stream that nobody checked: joint velocities towards the counter's edge."""
    live = start(graph, scene, sim_time=True)
    try:
        down = np.zeros(7)
        down[[1, 3]] = [0.35, 0.15]  # forwards and down

        def stream() -> bool:
            made: Any = chunk(
                slot(ControlMode.JOINT_VELOCITY, np.tile(down, (6, 1)), joints=ARM), dt=0.05
            )
            live.propose(made)
            return vetoed(live) is not None

        wait_until(stream, 60.0)
        verdict = wait_until(lambda: [v for v in live.heard[topics.VERDICT] if v.status == 2])[-1]
        assert verdict.control_mode == ControlMode.JOINT_VELOCITY.byte
        assert verdict.reason in SEEN, verdict.detail
    finally:
        live.close()
