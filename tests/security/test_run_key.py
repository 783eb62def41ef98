"""The run's key cannot be taken by another process of the same user."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from openral.graph.run_key import KEY_VARIABLE, RunKey
from tests.ros.conftest import wait_until
from tests.security.people import ROOT, as_somebody

HOLDER = """
import os, sys, time
if sys.argv[1:] == ["slowly"]:
    print("open", os.environ["OPENRAL_RUN_KEY_FD"], flush=True)
    sys.stdin.readline()
from openral.graph.run_key import RunKey
try:
    key = RunKey.inherited()
except Exception as error:
    print("none:", error, flush=True)
    sys.exit(3)
print("has it", flush=True)
sys.stdin.read()
"""
LENDER = f"""
import os, subprocess, sys
from openral.graph.run_key import RunKey
from openral.undumpable import make_undumpable
make_undumpable()
key = RunKey.create()
with key.lent() as loan:
    child = subprocess.Popen([sys.executable, "-c", {HOLDER!r}, *sys.argv[1:]],
        env={{**os.environ, **loan.environment}}, pass_fds=loan.fds)
print("child", child.pid, flush=True)
child.wait()
"""
ATTACKS = """
import ctypes, json, os, sys
pid = int(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
done = {}
def attempt(name, call):
    try:
        done[name] = call()
    except OSError as error:
        done[name] = -error.errno
def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result
class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
def copied():
    room = ctypes.create_string_buffer(8)
    mine, theirs = Piece(ctypes.addressof(room), 8), Piece(ctypes.addressof(room), 8)
    return checked(libc.process_vm_readv(pid, ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0))
attempt("mem", lambda: os.open(f"/proc/{pid}/mem", os.O_RDONLY))
attempt("maps", lambda: len(open(f"/proc/{pid}/maps").read()))
attempt("environ", lambda: len(open(f"/proc/{pid}/environ").read()))
attempt("fd", lambda: len(os.readlink(f"/proc/{pid}/fd/0")))
attempt("process_vm_readv", copied)
attempt("pidfd_getfd", lambda: checked(libc.syscall(438, os.pidfd_open(pid), 0, 0)))
attempt("ptrace", lambda: checked(libc.ptrace(0x4206, pid, 0, 0)))
print(json.dumps(done))
"""
COPIER = """
import ctypes, os, socket, sys
pid, descriptor, deed = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
libc = ctypes.CDLL(None, use_errno=True)
if deed == "trace":
    print(libc.ptrace(0x4206, pid, 0, 0), flush=True)
    sys.stdin.readline()
    sys.exit()
copy = libc.syscall(438, os.pidfd_open(pid), descriptor, 0)
link = socket.socket(fileno=copy)
print(copy, flush=True)
if deed == "ask":
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    socket.send_fds(link, [b"?"], [theirs.fileno()])
    theirs.close()
    mine.settimeout(5)
    print(mine.recv(4096), flush=True)
else:
    link.settimeout(float(sys.stdin.readline()))
    try:
        print(link.recv(4096, socket.MSG_PEEK), flush=True)
    except TimeoutError:
        print(b"", flush=True)
"""


@contextmanager
def lender(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process that lends a key, and its child."""
    with as_somebody(LENDER, *arguments) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        while not lines[-1].startswith("child"):
            assert lines[-1], "the lender died"
            lines.append(process.stdout.readline())
        child = int(lines[-1].split()[1])
        early = lines[:-1]  # of the child, which writes to the same pipe
        process.early = early  # type: ignore[attr-defined]
        try:
            yield process, child
        finally:
            process.stdin.close()  # type: ignore[union-attr]
            with suppress(ProcessLookupError):  # it may have ended by itself
                os.kill(child, signal.SIGKILL)


def said(process: subprocess.Popen[str], word: str) -> str:
    """The line of the child that begins so."""
    found = [line for line in process.early if line.startswith(word)]  # type: ignore[attr-defined]
    if found:
        return str(found[0])
    assert process.stdout is not None
    while line := process.stdout.readline():
        if line.startswith(word):
            return line
    raise AssertionError(f"nobody said '{word}'")


def test_nobody_reads_it_from_the_memory_of_those_who_have_it() -> None:
    with lender() as (process, child):
        said(process, "has it")
        for pid in (process.pid, child):
            with as_somebody(ATTACKS, str(pid)) as attacker:
                text = attacker.communicate()[0]
            done = dict(re.findall(r'"(\w+)": (-?\d+)', text))
            assert set(done) == {
                "mem", "maps", "environ", "fd", "process_vm_readv", "pidfd_getfd", "ptrace"
            }  # fmt: skip
            assert set(done.values()) <= {"-1", "-13"}, done  # EPERM, EACCES
        core = Path(f"/proc/{child}/limits").read_text()
        assert re.search(r"Max core file size +0 ", core)


def test_the_attacks_work_on_an_ordinary_process() -> None:
    with as_somebody("print('up', flush=True); input()") as process:
        assert process.stdout is not None
        process.stdout.readline()
        with as_somebody(ATTACKS, str(process.pid)) as attacker:
            text = attacker.communicate()[0]
        done = dict(re.findall(r'"(\w+)": (-?\d+)', text))
        assert int(done["mem"]) >= 0
        assert int(done["environ"]) > 0
        process.kill()


def test_a_copy_of_the_socket_made_in_time_shows_nothing() -> None:
    with lender("slowly") as (process, child):
        descriptor = said(process, "open").split()[1]
        with as_somebody(COPIER, str(child), descriptor, "peek") as thief:
            assert thief.stdout is not None
            assert thief.stdin is not None
            if int(thief.stdout.readline()) < 0:
                pytest.skip("this system allows nobody to copy descriptors")
            thief.stdin.write("3\n")
            thief.stdin.flush()
            process.stdin.write("\n")  # type: ignore[union-attr]
            process.stdin.flush()  # type: ignore[union-attr]
            said(process, "has it")
            assert thief.stdout.read().strip() == "b''"


def test_who_has_a_copy_of_the_socket_is_refused() -> None:
    with lender("slowly") as (process, child):
        descriptor = said(process, "open").split()[1]
        with as_somebody(COPIER, str(child), descriptor, "ask") as thief:
            assert thief.stdout is not None
            if int(thief.stdout.readline()) < 0:
                pytest.skip("this system allows nobody to copy descriptors")
            answer = thief.stdout.read()
        assert answer.startswith(r"b'\x00the memory of process"), answer
        process.stdin.write("\n")  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]
        said(process, "none:")


def test_a_traced_process_gets_none() -> None:
    with (
        lender("slowly") as (process, child),
        as_somebody(COPIER, str(child), "0", "trace") as tracer,
    ):
        assert tracer.stdout is not None
        if int(tracer.stdout.readline()) < 0:
            pytest.skip("this system allows nobody to trace")
        process.stdin.write("\n")  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]
        assert "refused: process" in said(process, "none:")
        tracer.communicate("\n")


def test_nothing_lies_in_a_descriptor_while_a_child_starts() -> None:
    """What `tee` once copied from the pipe of a starting node."""
    key = RunKey.create()
    with key.lent() as loan:
        child = subprocess.Popen(
            [sys.executable, "-c", "input()"],
            env={**os.environ, **loan.environment},
            pass_fds=loan.fds,
            stdin=subprocess.PIPE,
        )
    try:
        link = Path(f"/proc/{child.pid}/fd/{loan.fds[0]}")
        assert str(link.readlink()).startswith("socket:")
        with pytest.raises(OSError, match="No such device or address"):
            os.open(link, os.O_RDONLY)
    finally:
        child.kill()
        child.communicate()


def test_a_lender_whose_child_never_asks_keeps_nothing_open() -> None:
    def open_now() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = open_now()
    for _ in range(20):
        with RunKey.create().lent() as loan:
            subprocess.run(["true"], check=True, pass_fds=loan.fds)
    wait_until(lambda: open_now() == before)


PROGRAM = """
import os, subprocess, sys
from openral.graph.run_key import RunKey
RunKey.receive_or_exit()
assert "OPENRAL_RUN_KEY_FD" not in os.environ
links = [os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd") if n != "3"]
print(sum(link.startswith("socket:") for link in links), RunKey.offered() is not None)
"""


def test_it_is_taken_before_anything_is_imported_and_leaves_no_descriptor() -> None:
    with RunKey.create().lent() as loan:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, **loan.environment},
            pass_fds=loan.fds,
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
        )
    assert done.stdout.split() == ["0", "True"]
    assert KEY_VARIABLE not in os.environ


@pytest.mark.parametrize("module", ["openral.hal", "openral.safety", "openral.world"])
def test_a_node_started_by_hand_is_undumpable(module: str) -> None:
    """Long before its node is made."""
    with as_somebody(
        f"import os, sys; os.execv(sys.executable, [sys.executable, '-m', '{module}', '-h'])"
    ) as process:
        uid = Path(f"/proc/{process.pid}").stat().st_uid
        seen = False
        give_up = time.monotonic() + 60.0
        while process.poll() is None and time.monotonic() < give_up and not seen:
            try:
                seen = Path(f"/proc/{process.pid}/environ").stat().st_uid != uid
            except OSError:
                break
        assert seen
        process.communicate()
