"""A domain has one graph."""

from __future__ import annotations

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
