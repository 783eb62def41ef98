"""`openral record` as a user runs it, and `openral topic --bag` on what it made."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from openral.cli import app
from openral.ros import msg
from openral.ros.codec.types import encode
from openral.ros.recording import Recording, RecordingWriter

JOINTS = "sensor_msgs/msg/JointState"
MAIN = "from openral.cli import main; main()"
runner = CliRunner()


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("bags") / "bag"
    with RecordingWriter(folder) as writer:
        writer.add_topic("/silent", "std_msgs/msg/String")
        for i in range(101):
            state = encode(msg.JointState(name=["a"], position=[i]))
            writer.write("/joint_states", JOINTS, state, i * 10_000_000, i)
    yield folder


def start(domain: int, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, "record", "--domain", str(domain), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_record_until_interrupted(graph: Any, until: Any, tmp_path: Path) -> None:
    publisher = graph.node("robot").create_publisher(JOINTS, "/joint_states")
    folder = tmp_path / "bag"
    arguments = ("/joint_states", "/never", "-o", str(folder), "--json", "--compression", "none")
    recording = start(graph.domain, *arguments)
    try:
        until(lambda: publisher.has_subscribers or recording.poll() is not None)
        for i in range(50):
            publisher.publish(msg.JointState(position=[i]))
        publisher.publish(msg.JointState(name=["the last one"], position=[50]))
        until(lambda: b"the last one" in (folder / "bag_0.mcap").read_bytes())
        recording.send_signal(signal.SIGINT)
        output, errors = recording.communicate(timeout=60)
    finally:
        recording.kill()
    assert recording.returncode == 0, errors
    assert "/never never appeared" in errors
    told = json.loads(output)
    positions = [record.message.position[0] for record in Recording(folder)]
    assert told["topics"] == {"/joint_states": 51} and told["lost"] == 0
    assert positions == list(range(51))


def test_record_nothing_is_exit_code_1(domain: int, tmp_path: Path) -> None:
    folder = tmp_path / "bag"
    recording = start(domain, "/never", "-o", str(folder), "--duration", "0.3")
    _, errors = recording.communicate(timeout=60)
    assert recording.returncode == 1 and "nothing was recorded" in errors
    assert list(Recording(folder)) == []


def test_wrong_use_is_exit_code_2(domain: int, tmp_path: Path) -> None:
    recording = start(domain, "-o", str(tmp_path))
    assert "exists already" in recording.communicate(timeout=60)[1]
    assert recording.returncode == 2
    recording = start(domain, "--compression", "zip", "-o", str(tmp_path / "bag"))
    assert "no compression 'zip'; valid choices: zstd" in recording.communicate(timeout=60)[1]
    assert recording.returncode == 2 and not (tmp_path / "bag").exists()


def test_topics_of_a_recording(bag: Path) -> None:
    listed = runner.invoke(app, ["topic", "list", "-t", "--bag", str(bag)])
    assert listed.output.splitlines() == [
        "/joint_states [sensor_msgs/msg/JointState]",
        "/silent [std_msgs/msg/String]",
    ]


def test_messages_of_a_recording(bag: Path) -> None:
    command = ["topic", "echo", "joint_states", "-n", "2", "--json", "--bag", str(bag)]
    lines = runner.invoke(app, command).output.splitlines()
    assert [json.loads(line)["position"] for line in lines] == [[0.0], [1.0]]
    assert runner.invoke(app, ["topic", "echo", "/silent", "--bag", str(bag)]).exit_code == 1


def test_rates_of_a_recording(bag: Path) -> None:
    command = ["topic", "hz", "/joint_states", "--json", "--bag", str(bag)]
    measured = json.loads(runner.invoke(app, command).output)
    assert measured["hz"] == pytest.approx(100) and measured["count"] == 101
    plain = runner.invoke(app, ["topic", "hz", "/joint_states", "--bag", str(bag)])
    assert plain.output.startswith("100.00 Hz")
    assert runner.invoke(app, ["topic", "hz", "/silent", "--bag", str(bag)]).exit_code == 1
