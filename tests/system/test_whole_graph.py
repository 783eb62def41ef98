"""`openral deploy sim` as a user starts it: what it tells, how it ends, what it leaves."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest

from openral.graph import topics
from openral.ros.recording.reader import Recording
from tests.deploy.small_graph import alive
from tests.ros.conftest import wait_until
from tests.system.conftest import Deploy
from tests.system.graph import ESTOPPED, OPENRAL, Deployment, blind_robot, repeated, shared_memory
from tests.system.load import slowdown

SCENE = ("--config", "tabletop_push")


def test_a_run_with_a_skill_tells_what_it_was(deploy: Deploy, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    graph = deploy(*SCENE, "--robot", "ur5e", "--skill", "home", "--record", str(folder))
    summary = graph.end()
    assert summary["returncode"] == 0, graph.lines
    assert summary["exit_reason"] == "skill 'home' is done"
    assert (summary["robot"], summary["scene"], summary["clock"]) == (
        "ur5e",
        "tabletop_push",
        "sim",
    )
    assert summary["duration"] > 0.0
    assert 0.0 < summary["real_time_factor"] < 1.5
    assert summary["rates"]["/joint_states"]["configured"] == 50.0
    assert summary["rates"]["/joint_states"]["measured"] > 45.0  # a second of the graph's
    cameras = {topic: rate for topic, rate in summary["rates"].items() if "cameras" in topic}
    assert set(cameras) == {
        "/openral/cameras/overhead/image",
        "/openral/cameras/wrist/image",
    }
    assert all(rate["count"] > 0 for rate in cameras.values())
    assert summary["first_frame_after"] > 0.0
    assert summary["verdicts"]["accepted"] > 0
    assert summary["skill"]["episodes"][0]["success"]
    recording = Recording(folder)
    assert recording.topics[topics.VERDICT].count > 0
    assert recording.topics["/openral/cameras/wrist/image"].count > 0
    assert summary["recording"]["messages"] == sum(t.count for t in recording.topics.values())
    stamps = [record.log_time for record in recording.messages([topics.JOINT_STATES])]
    assert max(stamps) < 3600 * 10**9, "recorded on the graph's clock"


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "moving and recording"])
def test_ctrl_c_ends_in_order_and_leaves_nothing(
    deploy: Deploy, plugins: dict[str, str], tmp_path: Path, busy: bool
) -> None:
    wave = ["--skill", "wave", "--param", "rows=10", "--param", "size=0.06", "--param", "after=99"]
    work = [*wave, "--record", str(tmp_path / "run")] if busy else []
    graph = deploy(*SCENE, "--robot", "ur5e", *work, environment=plugins)
    graph.wait_armed()
    if busy:
        graph.wait_moving()
    _interrupt(graph, busy)


def _interrupt(graph: Deployment, busy: bool) -> None:
    """Sends Ctrl-C and looks at what is left."""
    members = graph.members
    assert len(members) >= 4
    files = shared_memory(members)
    limit_s = 2.0 * slowdown()
    began = time.monotonic()
    summary = graph.interrupt()
    assert time.monotonic() - began < limit_s
    assert not any("they did not end" in line for line in graph.lines), graph.lines
    assert summary["returncode"] == 0
    assert summary["exit_reason"] == "interrupted (SIGINT)"
    assert summary["estops"] == 0
    if busy:
        assert summary["recording"]["messages"] > 0
    assert not [pid for pid in members if alive(pid)]
    assert not [name for name in files if Path(name).exists()]


def test_a_wrong_robot_for_a_scene_is_told_by_the_hal(deploy: Deploy) -> None:
    graph = deploy("--config", "so101_box", "--robot", "ur5e")
    summary = graph.end()
    assert summary["returncode"] == 1
    assert summary["exit_reason"].startswith("hal cannot configure: ")
    assert "ur5e" in summary["exit_reason"]


@repeated
def test_a_full_disk_ends_the_recording_and_nothing_else(
    domain: int, tmp_path: Path, repetition: int
) -> None:
    folder = tmp_path / "run"
    limit = 8 * 1024 * 1024

    def small_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    command = [str(OPENRAL), "deploy", "sim", *SCENE, "--robot", "ur5e", "--duration", "5"]
    done = subprocess.run(
        [*command, "--record", str(folder), "--json", "--domain", str(domain)],
        preexec_fn=small_disk,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    summary = json.loads(done.stdout)
    assert summary["exit_code"] == 0, done.stderr
    assert any("recording" in failure for failure in summary["failures"])
    assert summary["rates"]["/joint_states"]["measured"] > 45.0  # a second of the graph's
    assert sum(topic.count for topic in Recording(folder).topics.values()) > 0


@repeated
def test_two_graphs_in_two_domains_do_not_see_each_other(
    deploy: Deploy, other_domain: int, tmp_path: Path, repetition: int
) -> None:
    graph = deploy(*SCENE, "--robot", blind_robot("ur5e", tmp_path))
    other = Deployment(other_domain, *SCENE, "--robot", blind_robot("so101_follower", tmp_path))
    try:
        graph.wait_armed()
        other.wait_armed()
        assert graph.observer.call(
            "openral_msgs/srv/EStop", topics.ESTOP, source="operator", reason="one of two"
        ).applied
        wait_until(lambda: graph.observer.safety.state == ESTOPPED)
        time.sleep(0.3)
        assert other.observer.safety.state != ESTOPPED
        assert other.interrupt()["estops"] == 0
        assert graph.interrupt()["estop_reasons"] == ["operator: one of two"]
    finally:
        other.close()
