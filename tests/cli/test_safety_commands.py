"""openral estop, status, reset and recover: what they do and what scripts can rely on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ros.conftest import Graph, domain, graph, wait_until  # noqa: F401 - fixtures
from tests.safety.kernel_rig import ARMED, ESTOPPED, RECOVERY, Rig

OPENRAL = Path(sys.executable).parent / "openral"


@pytest.fixture
def rig(graph: Graph) -> Iterator[Rig]:  # noqa: F811
    made = Rig(graph)
    yield made
    made.close()


def run(rig: Rig, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [OPENRAL, *words],
        env={**os.environ, "OPENRAL_DOMAIN": str(rig.graph.domain)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_stop_and_arm_by_hand(rig: Rig) -> None:
    rig.start_ready()
    wait_until(lambda: run(rig, "reset").returncode == 0)
    wait_until(lambda: rig.state.state == ARMED)
    told = json.loads(run(rig, "status", "--json").stdout)
    assert (told["state"], told["source"], told["accepted"]) == ("armed", "operator", 0)
    refused = run(rig, "recover")
    assert refused.returncode == 1 and "ARMED" in refused.stderr
    done = run(rig, "estop", "--reason", "cable loose", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["success"]
    wait_until(lambda: rig.state.state == ESTOPPED)
    assert rig.state.detail == "cable loose"
    assert run(rig, "recover").returncode == 0
    wait_until(lambda: rig.state.state == RECOVERY)
    assert run(rig, "recover", "--end").returncode == 0
    rig.speaking = False
    wait_until(lambda: run(rig, "reset").returncode == 1)


@pytest.mark.parametrize("command", ["estop", "status"])
def test_nobody_there_is_exit_code_one(rig: Rig, command: str) -> None:
    done = run(rig, command, "--timeout", "0.3")
    assert done.returncode == 1
    assert "/openral/" in done.stderr


def test_an_empty_domain_is_named(domain: int) -> None:  # noqa: F811
    done = subprocess.run(
        [OPENRAL, "status", "--domain", str(domain)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f"no graph runs in domain {domain}" in done.stderr
