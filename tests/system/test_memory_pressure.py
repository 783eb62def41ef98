"""A graph whose memory is limited as a whole: the policy that takes it all is the one that ends.

In a control group of its own, so that the machine is not touched; that takes root.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.conftest import Deploy
from tests.system.graph import blind_robot

GROUPS = Path("/sys/fs/cgroup")
LIMIT = 1536 << 20
JOIN = 'echo $$ > "$0"; exec "$@"'


@contextlib.contextmanager
def limited() -> Iterator[Path]:
    """A control group with little memory; the file that a process joins it by."""
    own = dict(line.split(":", 2)[1:] for line in Path("/proc/self/cgroup").read_text().split())
    if "memory" in own:
        folder = GROUPS / "memory" / own["memory"].strip("/")
        name = "memory.limit_in_bytes"
    else:
        folder, name = GROUPS / own.get("", "").strip("/"), "memory.max"
    place = folder / f"openral-test-{os.getpid()}"
    try:
        place.mkdir()
        (place / name).write_text(str(LIMIT))
    except OSError as error:
        with contextlib.suppress(OSError):
            place.rmdir()
        pytest.skip(f"no control group can be made here: {error}")
    try:
        yield place / "cgroup.procs"
    finally:
        for _ in range(50):
            try:
                place.rmdir()
                break
            except OSError:
                time.sleep(0.1)


def most_used(place: Path) -> int:
    files = [place / name for name in ("memory.max_usage_in_bytes", "memory.peak")]
    return next(int(file.read_text()) for file in files if file.exists())


def test_the_policy_that_takes_all_memory_ends_and_the_graph_does_not(
    deploy: Deploy, plugins: dict[str, str], tmp_path: Path
) -> None:
    with limited() as joining:
        robot = blind_robot("ur5e", tmp_path)
        skill = ("--skill", "creeps", "--param", "after=2", "--param", "rows=10")
        graph = deploy(
            *("--config", "tabletop_push", "--robot", robot, *skill),
            environment=plugins,
            through=("sh", "-c", JOIN, str(joining)),
        )
        graph.wait_moving()
        nodes = {name: graph.pid(name) for name in ("hal", "safety_kernel", "world")}
        scores = {name: Path(f"/proc/{pid}/oom_score_adj") for name, pid in nodes.items()}
        assert all(int(score.read_text()) <= 0 for score in scores.values())
        summary = graph.end()
        full = most_used(joining.parent) > 0.95 * LIMIT
    assert full, "memory was never short"
    assert summary["returncode"] == 1
    # Killed by the system; on a busy machine it may be late before that.
    assert "skill 'creeps' failed: policy_failed" in summary["exit_reason"], summary
    assert summary["estops"] == 0, summary
    assert not any("killed" in line or "hangs" in line for line in graph.lines), graph.lines
