"""A policy in a process of its own: whatever it does, it can be ended, and nobody waits for it."""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from multiprocessing.connection import Connection
from typing import Any

from openral.errors import CapabilityMismatch, ConfigError, OpenralError, PolicyFailed
from openral.signals import ENDING
from openral.sim.rollout import Observation
from openral.skill.policy_host import Answer, Loaded, PolicyOrder, load, think

_MODULE = "openral.skill.policy_process"
_FAREWELL_S = 0.5
_PARENT_CHECK_S = 0.5
_NICE = 5
"""A policy that takes all cores must not delay the kernel's heartbeat."""


class PolicyProcess:
    """The parent's side."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._link: _Link | None = None
        self._give_up: float | None = None
        self._timeout_s = 0.0
        self._order = b""
        self._loaded: Loaded | None = None
        self._kept = False

    def begin(self, order: PolicyOrder, timeout_s: float) -> None:
        """Has the skill made, in a new process unless the one that rests has made the same."""
        before, self._order = self._order, pickle.dumps(order)
        self._kept = self._rests and self._order == before
        if self._kept:
            return
        self.close()
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", _MODULE, str(theirs.fileno())], pass_fds=[theirs.fileno()]
            )
        self._link = _Link(ours)
        self._send(("load", order), timeout_s)

    def reset(self, seed: int) -> None:
        """Begins an episode."""
        self._send(("reset", seed), None)

    def ask(self, observation: Observation, timeout_s: float) -> None:
        """Has it think."""
        images, objects = dict(observation.images), dict(observation.objects)
        self._send(("act", observation._replace(images=images, objects=objects)), timeout_s)

    def poll(self) -> Loaded | Answer | None:
        """What has come; a process that is late is ended."""
        if self._link is None:
            raise PolicyFailed("the policy's process was ended")
        if self._kept:
            self._kept = False
            return self._loaded
        try:
            if self._link.pipe.poll():
                self._give_up = None
                return self._opened(self._link.pipe.recv())
        except (EOFError, OSError):
            code = self._exit_code()
            raise PolicyFailed(f"the policy's process died with exit code {code}") from None
        if self._give_up is not None and time.monotonic() > self._give_up:
            self.close(kill=True)
            raise PolicyFailed(f"the policy gave no answer within {self._timeout_s:g} s")
        return None

    def rest(self) -> None:
        """Keeps what took long to load, unless it failed or is in the middle of a thought."""
        if not self._rests:
            self.close()

    @property
    def _rests(self) -> bool:
        """Whether it is loaded, alive and waits to be asked."""
        alive = self._process is not None and self._process.poll() is None
        return alive and self._loaded is not None and self._give_up is None

    def close(self, kill: bool = False) -> None:
        """Ends the process; one that does not end by itself is killed."""
        self._loaded = self._give_up = None
        process, self._process = self._process, None
        link, self._link = self._link, None
        if process is None or link is None:
            return
        if kill:
            process.kill()
        link.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_FAREWELL_S)
        process.kill()
        process.wait()

    def _send(self, message: Any, timeout_s: float | None) -> None:
        if self._link is None:
            raise PolicyFailed("the policy's process was ended")
        if timeout_s is not None:
            self._timeout_s, self._give_up = timeout_s, time.monotonic() + timeout_s
        self._link.outbox.put(pickle.dumps(message))

    def _opened(self, message: Any) -> Loaded | Answer:
        if isinstance(message, OpenralError):
            self._loaded = None  # whatever it is now, it is not as it was loaded
            raise message
        assert isinstance(message, Loaded | Answer)
        if isinstance(message, Loaded):
            self._loaded = message
        return message

    def _exit_code(self) -> int | None:
        assert self._process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_FAREWELL_S)
        return self._process.returncode


class _Link:
    """The pipe to the child; a thread writes, so that a child that does not read delays nobody."""

    def __init__(self, ours: socket.socket) -> None:
        self.outbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self.pipe = Connection(os.dup(ours.fileno()))
        self._socket = ours
        self._writer = threading.Thread(target=self._write, name="openral-policy", daemon=True)
        self._writer.start()

    def _write(self) -> None:
        with contextlib.suppress(OSError):
            while message := self.outbox.get():
                self.pipe.send_bytes(message)

    def close(self) -> None:
        self.outbox.put(b"")
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # also ends a write that is under way
        self._socket.close()
        self._writer.join()
        self.pipe.close()


def serve(pipe: Connection) -> None:
    """The child's side, until the parent lets go."""
    skill = None
    while True:
        try:
            kind, content = pipe.recv()
        except EOFError:
            return
        try:
            if kind == "load":
                skill = load(content)
                pipe.send(Loaded(tuple(skill.cameras)))
            elif skill is not None and kind == "reset":
                skill.reset(content)
            elif skill is not None:
                pipe.send(think(skill, content))
        except (PolicyFailed, CapabilityMismatch) as error:
            pipe.send(type(error)(str(error)))
        except OpenralError as error:
            pipe.send(ConfigError(str(error)))
        except Exception as error:
            pipe.send(PolicyFailed(f"the policy raised {error!r}"))


def _watch_parent(parent: int) -> None:
    """A policy that hangs must not outlive the runner, however that ends."""
    while os.getppid() == parent:
        time.sleep(_PARENT_CHECK_S)
    os._exit(1)


def main() -> None:
    """Serves on the descriptor that is the first argument."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the runner's to handle
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    os.nice(_NICE)
    watch = threading.Thread(target=_watch_parent, args=(os.getppid(),), daemon=True)
    watch.start()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        serve(Connection(int(sys.argv[1])))
    os._exit(0)  # a policy's own threads are not waited for


if __name__ == "__main__":
    main()
