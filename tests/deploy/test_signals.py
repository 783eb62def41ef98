"""Every program ends when it is asked to, whatever it inherits: from cron, `nohup` or a script."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from openral.graph.run_key import RunKey
from openral.ros import msg
from openral.ros.graph import Graph as GraphView
from openral.signals import ENDING
from openral.skill.policy.limits import PolicyLimits
from tests.deploy.small_graph import alive, family
from tests.ros.conftest import Graph, inheriting, wait_until
from tests.system.graph import blind_robot

OPENRAL = str(Path(sys.executable).with_name("openral"))
ENDS_WITHIN_S = 15.0
"""Generous: a machine may be busy, and a graph ends node by node."""
COMMANDS = {
    "record": ("record", "--out", "OUT"),
    "topic echo": ("topic", "echo", "/chatter"),
    "world view": ("world", "view", "--live", "--robot", "panda_mobile", "--timeout", "60"),
    "deploy sim": ("deploy", "sim", "--robot", "ROBOT"),
}
NODES = {
    "hal": ("openral.hal", "--autostart", "robot_yaml=ROBOT"),
    "safety_kernel": ("openral.safety", "--autostart", "robot_yaml=ROBOT"),
    "world": ("openral.world", "--autostart", "robot_yaml=ROBOT"),
    "skill_runner": ("openral.skill", "--autostart", "robot_yaml=ROBOT"),
    "recorder": ("openral.deploy.recorder", "folder=OUT"),
}
MASKS = ("SigCgt", "SigIgn", "SigBlk")
SOAK = bool(os.environ.get("OPENRAL_SOAK"))


def with_signals(names: Iterable[str]) -> pytest.MarkDecorator:
    """Each program with one of the signals in turn (all three in a soak): `heeds` looks at all."""
    pairs = list(itertools.product(names, ENDING))
    if not SOAK:
        pairs = list(zip(names, itertools.cycle(ENDING), strict=False))
    return pytest.mark.parametrize(
        ("name", "number"), pairs, ids=[f"{name}-{number.name}" for name, number in pairs]
    )


@contextlib.contextmanager
def deaf(command: list[str], domain: int) -> Iterator[subprocess.Popen[bytes]]:
    """A program that inherits signals ignored and blocked; afterwards it is gone in any case."""
    with RunKey.create().lent() as loan, inheriting(signal.SIG_IGN, blocked=True):
        process = subprocess.Popen(
            command,
            env={**os.environ, "OPENRAL_DOMAIN": str(domain), **loan.environment},
            pass_fds=loan.fds,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            restore_signals=False,
        )
    try:
        yield process
    finally:
        members = family(process.pid)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pid in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def filled(words: tuple[str, ...], folder: Path) -> list[str]:
    robot = blind_robot("so101_follower", folder)
    return [word.replace("ROBOT", robot).replace("OUT", str(folder / "out")) for word in words]


def ends(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    assert heeds(process.pid)
    members = family(process.pid)
    began = time.monotonic()
    process.send_signal(number)
    process.wait(ENDS_WITHIN_S)
    print(f"ended after {time.monotonic() - began:.1f} s with {process.returncode}")
    wait_until(lambda: not [pid for pid in members if alive(pid)], ENDS_WITHIN_S)


def wait_for_node(graph: Graph, name: str) -> None:
    """Until a node is there."""
    view = GraphView(graph.context())
    try:
        wait_until(lambda: any(name in node.full_name for node in view.nodes(hidden=True)), 120.0)
    finally:
        view.close()


def wait_for_state(graph: Graph, name: str, wanted: str) -> None:
    """Until a node has got so far in its life."""
    client = graph.node("asker", apart=True).create_client(
        "lifecycle_msgs/srv/GetState", f"/{name}/get_state"
    )
    client.wait_for_service(120.0)
    ask = client.request_class
    wait_until(lambda: client.call(ask(), 60.0).current_state.label == wanted, 60.0)


@with_signals(COMMANDS)
def test_a_command_ends(graph: Graph, tmp_path: Path, name: str, number: signal.Signals) -> None:
    node = graph.node("talker", apart=True)
    out = node.create_publisher(msg.String, "/chatter", 10)
    node.create_wall_timer(0.05, lambda: out.publish(msg.String("hello")))
    command = [OPENRAL, *filled(COMMANDS[name], tmp_path)]
    with deaf(command, graph.domain) as process:
        mine = "skill_runner" if name == "deploy sim" else f"_openral_cli_{process.pid}"
        wait_for_node(graph, mine)
        ends(process, number)


@with_signals(NODES)
def test_a_node_ends(graph: Graph, tmp_path: Path, name: str, number: signal.Signals) -> None:
    command = [sys.executable, "-m", *filled(NODES[name], tmp_path)]
    with deaf(command, graph.domain) as process:
        wait_for_state(graph, name, "active" if "--autostart" in command else "unconfigured")
        ends(process, number)
        assert process.returncode == 0, "it ended in order"


@with_signals(["hal"])
def test_a_node_that_starts_ends(
    graph: Graph, tmp_path: Path, name: str, number: signal.Signals
) -> None:
    command = [sys.executable, "-m", *filled(NODES[name], tmp_path)]
    with deaf(command, graph.domain) as process:
        wait_until(lambda: heeds(process.pid), 60.0)
        ends(process, number)


@pytest.mark.parametrize("number", ENDING, ids=lambda number: number.name)
def test_a_policy_ends(tmp_path: Path, number: signal.Signals) -> None:
    """Ctrl-C and SIGHUP, which a whole terminal gets, are its runner's to handle."""
    ours, theirs = socket.socketpair()
    reason, told = os.pipe()
    limits, runner = PolicyLimits().to_text(), str(os.getpid())
    command = [sys.executable, "-m", "openral.skill.policy.warden", str(theirs.fileno())]
    command += [str(told), str(tmp_path), limits, runner]
    with ours, inheriting(signal.SIG_IGN, blocked=True):
        with theirs:
            process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno(), told],
                start_new_session=True,
                restore_signals=False,
            )
        try:
            wait_until(lambda: heeds(process.pid, [signal.SIGTERM]), 60.0)
            process.send_signal(number)
            if number is not signal.SIGTERM:
                time.sleep(0.5)
                assert process.poll() is None
                ours.close()
            process.wait(ENDS_WITHIN_S)
        finally:
            process.kill()
            process.wait()
            os.close(reason)
            os.close(told)


def heeds(pid: int, numbers: Iterable[signal.Signals] = ENDING) -> bool:
    """Whether signals have a handler and are neither ignored nor blocked."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    masks = {line[:6]: int(line.split()[1], 16) for line in lines if line[:6] in MASKS}
    bits = [1 << (number - 1) for number in numbers]
    return all(
        masks["SigCgt"] & bit and not (masks["SigIgn"] | masks["SigBlk"]) & bit for bit in bits
    )
