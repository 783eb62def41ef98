"""A domain has one graph."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from openral.deploy.domain_lock import domain_lock
from openral.errors import ConfigError

HOLD = """
import sys
from openral.deploy.domain_lock import domain_lock
with domain_lock(int(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_graph_is_refused_until_the_first_is_gone(domain: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(domain)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "held\n"
        text = f"domain {domain} has a graph already \\(process {first.pid}\\).* --domain"
        with pytest.raises(ConfigError, match=text), domain_lock(domain):
            pass
        first.kill()
    with domain_lock(domain):
        pass


def test_a_run_after_another_is_fine(domain: int) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        with domain_lock(domain):
            pass
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize("trap", ["link", "dangling", "fifo", "folder", "hard link"])
def test_what_somebody_put_in_the_lock_files_place_is_not_touched(
    domain: int, trap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with domain_lock(domain):
        (path,) = tmp_path.iterdir()
        assert path.stat().st_mode & 0o777 == 0o600
    path.unlink()
    treasure = tmp_path / "treasure"
    treasure.write_text("precious")
    match trap:
        case "link":
            path.symlink_to(treasure)
        case "dangling":
            path.symlink_to(tmp_path / "new")
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "hard link":
            path.hardlink_to(treasure)
    with pytest.raises(ConfigError, match=str(path)), domain_lock(domain):
        pass
    assert treasure.read_text() == "precious"
    assert not (tmp_path / "new").exists()
