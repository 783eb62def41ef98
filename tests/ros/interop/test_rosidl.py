"""ROS 2's own interface compiler accepts openral_msgs and hashes it as we do."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from openral.ros.codec.schema import message_text
from openral.ros.codec.types import registry, type_hash

HERE = Path(__file__).parent
VENV = HERE.parents[2] / ".venv-interop"
OWN = [n for k in ("msg", "srv", "action") for n in registry.names(k) if n.startswith("openral_")]


def needed() -> set[str]:
    """The standard messages inside our own."""
    found, open_ends = set[str](), set(OWN)
    while open_ends:
        found |= open_ends
        inner = {f.type for n in open_ends for f in registry.definition(n).members if f.nested}
        open_ends = inner - found
    return found - set(OWN)


def test_rosidl_reads_our_interfaces_and_agrees_on_every_hash(tmp_path: Path) -> None:
    if not (VENV / ".ready").exists():
        pytest.skip("no real ROS 2 here: run tools/interop.sh")
    for kind in ("msg", "srv", "action"):
        source, target = files("openral.msgs") / kind, tmp_path / "in/openral_msgs" / kind
        shutil.copytree(str(source), target)
    for name in needed():
        file = (tmp_path / "in" / name).with_suffix(".msg")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(message_text(registry.definition(name)))
    (tmp_path / "work").mkdir()
    done = subprocess.run(
        [VENV / "bin/python", HERE / "rosidl_hashes.py", tmp_path / "in", tmp_path / "work"],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    theirs = json.loads(done.stdout.splitlines()[-1])
    names = {*OWN, *needed()}
    assert names <= theirs.keys()
    assert {name: type_hash(name) for name in names} == {name: theirs[name] for name in names}
