"""A second graph in a domain finds the first, is refused, and leaves it alone."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from openral.deploy.other_graph import require_free_domain
from openral.errors import ConfigError
from openral.ros.transport.dds_config import Network
from tests.deploy.small_graph import SmallGraph, alive, start_supervisor
from tests.ros.conftest import Graph

ROOT = Path(__file__).parents[2]
LOOK = """
import sys
from openral.deploy.other_graph import require_free_domain
from openral.ros.transport.dds_config import Network
try:
    require_free_domain(Network.from_environment())
    print("free")
except Exception as error:
    print(type(error).__name__, error)
"""
BE = """
import sys, time
from openral.ros.node.context import Context
from openral.ros.transport.dds_config import Network
from openral.ros.node.node import Node
node = Node(sys.argv[1], context=Context(Network.from_environment()))
print("up", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("name", ["hal", "safety_kernel", "supervisor"])
def test_each_node_of_another_graph_is_found_and_named(graph: Graph, name: str) -> None:
    graph.node(name, apart=True)
    began = time.monotonic()
    with pytest.raises(ConfigError, match=rf"has a graph already: /{name} \(host .*process \d+\)"):
        require_free_domain(Network(graph.domain))
    assert time.monotonic() - began < 20.0


def test_other_nodes_are_nobodys_graph(graph: Graph) -> None:
    graph.node("observer", apart=True)
    require_free_domain(Network(graph.domain))


def test_a_second_supervisor_is_refused_and_the_first_lives_on(
    domain: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With lock files in different places, as on two machines."""
    first = SmallGraph(domain, [("hal", "")])
    try:
        pids = first.wait_active(1)
        tmp_path.chmod(0o700)
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
        second = start_supervisor(domain, [("hal", "")], 1.0)
        _, errors = second.communicate(timeout=120)
        assert second.returncode != 0
        assert f"domain {domain} has a graph already: " in errors
        assert "/supervisor (host" in errors
        assert "active as" not in errors
        assert first.process.poll() is None
        assert all(alive(pid) for pid in pids)
        assert not [line for line in first.lines if "told to stop" in line]
    finally:
        first.close()


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextmanager
def two_machines() -> Iterator[tuple[str, str]]:
    """Two network namespaces with a cable between them."""
    names = (f"openral-a{os.getpid()}", f"openral-b{os.getpid()}")
    try:
        try:
            for name in names:
                ip("netns", "add", name)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("no network namespaces here: needs root and iproute2")
        ip("link", "add", "wire0", "netns", names[0], "type", "veth",
           "peer", "name", "wire0", "netns", names[1])  # fmt: skip
        for number, name in enumerate(names, 1):
            inside = ("-n", name)
            ip(*inside, "addr", "add", f"10.99.7.{number}/24", "dev", "wire0")
            for link in ("lo", "wire0"):
                ip(*inside, "link", "set", link, "up")
        yield names
    finally:
        for name in names:
            with suppress(OSError, subprocess.CalledProcessError):
                ip("netns", "del", name)


def start_in(
    machine: str, program: str, *arguments: str, network: str, **options: Any
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["ip", "netns", "exec", machine, sys.executable, "-c", program, *arguments],
        env={**os.environ, "OPENRAL_NETWORK": network, "OPENRAL_DOMAIN": "33"},
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        **options,
    )


def test_a_graph_on_another_machine_of_the_network_is_found() -> None:
    with two_machines() as (here, there):
        other = start_in(there, BE, "safety_kernel", network="wire0")
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == "up\n"
            look = start_in(here, LOOK, network="wire0")
            text = look.communicate(timeout=120)[0]
            assert "ConfigError domain 33 has a graph already: /safety_kernel (host" in text
            alone = start_in(here, LOOK, network="lo").communicate(timeout=120)[0]
            assert alone == "free\n"
            assert other.poll() is None
        finally:
            other.kill()
            other.communicate()
