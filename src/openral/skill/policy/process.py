"""Runs a policy in its own process: it can always be ended and never blocks the runner."""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any

from openral.errors import CapabilityMismatch, ConfigError, OpenralError, PolicyFailed
from openral.sim.rollout import Observation
from openral.skill.policy.host import Answer, Loaded, PolicyOrder, load, think
from openral.skill.policy.limits import PolicyLimits
from openral.skill.policy.wire import ReplyReader, receive_request, reply, request

_WARDEN = "openral.skill.policy.warden"
_KEY_VARIABLE = "OPENRAL_RUN_KEY_FD"
"""Of `graph.run_key`: removed from the policy's environment, which has no use for it."""
_FAREWELL_S = 0.5
_CLEANING_S = 6.0
_LOOK_S = 0.5


class PolicyProcess:
    """The runner's side. It starts a warden process, which confines the policy."""

    def __init__(self, limits: PolicyLimits | None = None) -> None:
        self._limits = limits or PolicyLimits()
        self._folder = ""
        self._reason = -1
        self._process: subprocess.Popen[bytes] | None = None
        self._link: _Link | None = None
        self._give_up: float | None = None
        self._timeout_s = 0.0
        self._order = b""
        self._loaded: Loaded | None = None
        self._kept = False

    def begin(self, order: PolicyOrder, timeout_s: float) -> None:
        """Starts to load the skill, in a new process unless the idle one has loaded the same."""
        before, self._order = self._order, pickle.dumps(order)
        self._kept = self._rests and self._order == before
        if self._kept:
            return
        self.close()
        ours, theirs = socket.socketpair()
        self._reason, told = os.pipe()
        self._folder = tempfile.mkdtemp(prefix="openral-policy-")
        command = [sys.executable, "-m", _WARDEN, str(theirs.fileno()), str(told), self._folder]
        try:
            self._process = subprocess.Popen(
                [*command, self._limits.to_text(), str(os.getpid())],
                pass_fds=[theirs.fileno(), told],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                env={name: text for name, text in os.environ.items() if name != _KEY_VARIABLE},
            )
        finally:
            theirs.close()
            os.close(told)
        self._link = _Link(ours)
        self._send(("load", order), timeout_s)

    def reset(self, seed: int) -> None:
        """Begins an episode."""
        self._send(("reset", seed), None)

    def ask(self, observation: Observation, timeout_s: float, ends: bool = True) -> None:
        """Starts inference on an observation; without `ends` even if the policy says it is done."""
        images, objects = dict(observation.images), dict(observation.objects)
        seen = observation._replace(images=images, objects=objects)
        self._send(("act" if ends else "go on", seen), timeout_s)

    def poll(self) -> Loaded | Answer | None:
        """The next reply, None if there is none; a process that exceeds its timeout is ended."""
        if self._link is None:
            raise PolicyFailed("the policy's process was ended")
        if self._kept:
            self._kept = False
            return self._loaded
        try:
            if (message := self._link.replies.poll()) is not None:
                self._give_up = None
                return self._opened(message)
        except EOFError:
            raise PolicyFailed(self._how_it_ended()) from None
        except PolicyFailed:
            self._loaded = None
            raise
        if self._give_up is not None and time.monotonic() > self._give_up:
            self.close(kill=True)
            raise PolicyFailed(f"the policy gave no answer within {self._timeout_s:g} s")
        return None

    def wait(self) -> Loaded | Answer:
        """`poll`, once there is something to be had."""
        while (message := self.poll()) is None:
            if self._link is not None:
                self._link.wait(_LOOK_S)
        return message

    def rest(self) -> None:
        """Keeps the loaded policy, which took long to load, unless it failed or inference runs."""
        if not self._rests:
            self.close()

    @property
    def _rests(self) -> bool:
        """Whether the policy is loaded, alive and idle."""
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
            process.terminate()
        link.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_FAREWELL_S)
        self._end(process)
        os.close(self._reason)
        shutil.rmtree(self._folder, ignore_errors=True)  # if the warden could not

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """The warden ends the policy and all that it started."""
        if process.poll() is None:
            process.terminate()
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_CLEANING_S)
        process.kill()
        process.wait()

    def _send(self, message: Any, timeout_s: float | None) -> None:
        if self._link is None:
            raise PolicyFailed("the policy's process was ended")
        if timeout_s is not None:
            self._timeout_s, self._give_up = timeout_s, time.monotonic() + timeout_s
        self._link.outbox.put(request(message))

    def _opened(self, message: Loaded | Answer | OpenralError) -> Loaded | Answer:
        if isinstance(message, OpenralError):
            self._loaded = None  # its state is no longer that of a freshly loaded policy
            raise message
        if isinstance(message, Loaded):
            self._loaded = message
        return message

    def _how_it_ended(self) -> str:
        """Why it ended: the warden's reason or the exit code; if it still runs, it is ended."""
        process = self._process
        assert process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_FAREWELL_S)
        if process.poll() is None and not _ready(self._reason):
            self.close(kill=True)
            return "the policy's process does not listen any more; it was ended"
        if _ready(self._reason) and (words := os.read(self._reason, 4096)):
            return f"the policy's process was ended: {words.decode(errors='replace')}"
        return f"the policy's process died with exit code {process.returncode}"


def _ready(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], 0)[0])


class _Link:
    """Socket to the child; a thread writes, so a child that does not read blocks no caller."""

    def __init__(self, ours: socket.socket) -> None:
        self.outbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self.replies = ReplyReader(ours)
        self._socket = ours
        self._writer = threading.Thread(target=self._write, name="openral-policy", daemon=True)
        self._writer.start()

    def wait(self, seconds: float) -> None:
        select.select([self._socket], [], [], seconds)

    def _write(self) -> None:
        with contextlib.suppress(OSError):
            while message := self.outbox.get():
                self._socket.sendall(message)

    def close(self) -> None:
        self.outbox.put(b"")
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # also ends a write in progress
        self._writer.join()
        self._socket.close()


def serve_on(descriptor: int) -> None:
    """The child's side: serves requests until the runner closes the socket."""
    with (
        contextlib.suppress(BrokenPipeError, ConnectionResetError, EOFError),
        socket.socket(fileno=descriptor) as link,
    ):
        link.set_inheritable(False)
        _serve(link)


def _serve(link: socket.socket) -> None:
    skill = None
    while True:
        kind, content = receive_request(link)
        try:
            if kind == "load":
                skill = load(content)
                link.sendall(reply(Loaded(tuple(skill.cameras))))
            elif skill is not None and kind == "reset":
                skill.reset(content)
            elif skill is not None:
                link.sendall(reply(think(skill, content, ends=kind == "act")))
        except (PolicyFailed, CapabilityMismatch) as error:
            link.sendall(reply(type(error)(str(error))))
        except OpenralError as error:
            link.sendall(reply(ConfigError(str(error))))
        except OSError:
            raise
        except Exception as error:
            link.sendall(reply(PolicyFailed(f"the policy raised {error!r}")))
