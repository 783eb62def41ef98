"""Recordings survive what happens to processes and disks."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rosbags.highlevel import AnyReader

from openral.ros.codec import types
from openral.ros.recording import BackgroundWriter, Recording, RecordingWriter
from tests.ros.conftest import inheriting, wait_until

FULL = """
import resource, sys
from openral.errors import RecordingError
from openral.ros import msg
from openral.ros.recording import BackgroundWriter, RecordingWriter
from openral.ros.codec.types import encode
import numpy as np
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
data = encode(msg.Image(data=np.random.default_rng(0).integers(0, 255, 300_000, np.uint8)))
writer = RecordingWriter(sys.argv[1], "none")
sink = BackgroundWriter(writer) if sys.argv[3] == "background" else writer
try:
    for i in range(200):
        sink.write("/image", "sensor_msgs/msg/Image", data, i, i)
    sink.close()
except RecordingError as first:
    try:
        sink.close()
    except RecordingError as again:
        assert again is first
    print(writer.count, first)
"""

LOOP = """
import itertools, sys, time
from openral.ros import msg
from openral.ros.recording import BackgroundWriter, RecordingWriter
from openral.ros.codec.types import encode
from openral.signals import heed_signals
heed_signals()
data = encode(msg.String(data="hello"))
with BackgroundWriter(RecordingWriter(sys.argv[1], "none")) as writer:
    for i in itertools.count():
        writer.write("/chatter", "std_msgs/msg/String", data, i, i)
        time.sleep(0.001)
"""


@pytest.mark.parametrize("how", ["direct", "background"])
def test_a_full_disk_ends_the_recording_and_leaves_it_complete(tmp_path: Path, how: str) -> None:
    folder = tmp_path / "bag"
    command = [sys.executable, "-c", FULL, str(folder), "8000000", how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    count, _, complaint = done.stdout.partition(" ")
    assert 5 < int(count) < 30
    assert f"stopped after {count} messages: File too large" in complaint
    assert len(list(Recording(folder))) == int(count)
    with AnyReader([folder]) as reader:
        assert reader.message_count == int(count)
    assert (folder / "bag_0.mcap").stat().st_size < 8_000_000


def test_a_full_file_system_too(tmp_path: Path) -> None:
    inside = FULL.replace("resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))", "") + (
        "\nfrom openral.ros.recording import Recording"
        "\nprint('read', len(list(Recording(sys.argv[1]))))"
    )
    script = 'mount -t tmpfs -o size=9m tmpfs "$0" || exit 77; exec "$@"'
    program = [sys.executable, "-c", inside, str(tmp_path / "bag"), "0", "background"]
    command = ["unshare", "-m", "sh", "-c", script, str(tmp_path), *program]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except FileNotFoundError:
        pytest.skip("no unshare on this system")
    if done.returncode in (1, 77) and "Error" not in done.stderr:
        pytest.skip(f"may not mount a file system here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    first, last = done.stdout.splitlines()
    count = first.split()[0]
    assert "No space left on device" in first and last == f"read {count}" and int(count) > 5


def test_a_disk_without_room_for_anything_is_refused_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FULL, str(tmp_path / "bag"), "100000", "direct"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1 and "RecordingError: cannot begin" in done.stderr


@contextlib.contextmanager
def recording(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A program that records; whatever happens, it is gone afterwards."""
    command = [sys.executable, "-c", LOOP, str(folder)]
    file = folder / "bag_0.mcap"
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_until(lambda: file.exists() and b"/chatter" in file.read_bytes(), 60.0)
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("inherited", [signal.SIG_DFL, signal.SIG_IGN], ids=["default", "ignored"])
def test_an_interrupt_leaves_a_complete_recording(
    tmp_path: Path, number: signal.Signals, inherited: signal.Handlers
) -> None:
    with inheriting(inherited), recording(tmp_path / "bag") as process:
        process.send_signal(number)
        said = process.communicate(timeout=60)[1]
    assert number is not signal.SIGINT or "KeyboardInterrupt" in said
    assert process.returncode in (-signal.SIGINT, 128 + number)
    times = [record.log_time for record in Recording(tmp_path / "bag")]
    assert len(times) > 100 and times == list(range(len(times)))
    with AnyReader([tmp_path / "bag"]) as reader:
        assert reader.message_count == len(times)


def test_a_kill_leaves_what_was_flushed(tmp_path: Path) -> None:
    with recording(tmp_path / "bag") as process:
        process.kill()
        process.communicate(timeout=60)
    times = [record.log_time for record in Recording(tmp_path / "bag")]
    assert len(times) > 10 and times == list(range(len(times)))


def test_a_hurried_end_loses_what_waits_and_completes_the_rest(tmp_path: Path) -> None:
    writer = BackgroundWriter(RecordingWriter(tmp_path / "bag"))
    data = types.encode(types.new("std_msgs/msg/String", data="x" * 100_000))
    for number in range(400):
        writer.write("/talk", "std_msgs/msg/String", data, number, number)
    writer.close(0.0)
    count = Recording(tmp_path / "bag").topics["/talk"].count if writer.writer.count else 0
    assert count == writer.writer.count
    assert count + writer.lost == 400
