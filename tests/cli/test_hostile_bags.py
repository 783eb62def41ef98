"""Recordings from anywhere: an error in words and in time, without all memory, no traceback."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest
import zstandard
from mcap.writer import CompressionType, Writer

OPENRAL = Path(sys.executable).with_name("openral")
MAGIC = b"\x89MCAP0\r\n"


def recording() -> bytes:
    out = BytesIO()
    writer = Writer(out, compression=CompressionType.NONE)
    writer.start("ros2", "test")
    schema = writer.register_schema("std_msgs/msg/String", "ros2msg", b"string data")
    channel = writer.register_channel("/text", "cdr", schema)
    for number in range(100):
        writer.add_message(channel, number, b"\0\1\0\0\x02\0\0\0x\0", number)
    writer.finish()
    return out.getvalue()


def record(opcode: int, body: bytes, size: int | None = None) -> bytes:
    return struct.pack("<BQ", opcode, len(body) if size is None else size) + body


def chunk(packed: bytes, size: int) -> bytes:
    head = struct.pack("<QQQI", 0, 1, size, 0) + struct.pack("<I", 4) + b"zstd"
    return record(0x06, head + struct.pack("<Q", len(packed)) + packed)


def bomb() -> bytes:
    size = 6 << 30
    packer = zstandard.ZstdCompressor(level=1).compressobj(size)
    piece = bytes(64 << 20)
    packed = b"".join(packer.compress(piece) for _ in range(size // len(piece))) + packer.flush()
    header = record(0x01, struct.pack("<I", 4) + b"ros2" + struct.pack("<I", 0))
    return MAGIC + header + chunk(packed, size) + MAGIC


CASES = {
    "cut off": lambda: recording()[: len(recording()) // 2],
    "cut off in the magic": lambda: MAGIC[:5],
    "noise": lambda: os.urandom(10_000),
    "magic and noise": lambda: MAGIC + os.urandom(10_000),
    "a record of an exabyte": lambda: MAGIC + record(0x01, b"", 1 << 60),
    "a record of three gigabytes": lambda: MAGIC + record(0x05, b"", 3 << 30),
    "a wrong schema": lambda: recording().replace(b"string data", b"strong dada"),
    "an unknown type": lambda: recording().replace(
        b"std_msgs/msg/String", b"../../etc/passwd\0\0\0"
    ),
    "a bomb": bomb,
}


@pytest.mark.parametrize("case", CASES)
def test_it_costs_neither_time_nor_memory(case: str, tmp_path: Path) -> None:
    path = tmp_path / "bag.mcap"
    path.write_bytes(CASES[case]())
    for words in (["list"], ["echo", "/text", "--once"], ["hz", "/text"]):
        done = subprocess.run(
            [str(OPENRAL), "topic", *words, "--bag", str(path)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode in (0, 1, 2)
        if case not in ("cut off", "a wrong schema", "an unknown type"):
            assert done.returncode != 0 or not done.stdout.strip(), done.stdout


def test_a_fifo_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.mcap")
    done = subprocess.run(
        [str(OPENRAL), "topic", "list", "--bag", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "holds no .mcap file" in done.stderr
