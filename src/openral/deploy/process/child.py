"""Child: a node's process, detached from the terminal, monitored and ended with all it started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress

from openral.deploy.plan import NodeSpec
from openral.deploy.process.log_stream import LogStream
from openral.graph.run_key import RunKey
from openral.ros.priority import urgent


class Child:
    """Runs in its own session: Ctrl-C in the terminal reaches only the supervisor.

    Create it on the main thread: a child dies with the thread that created it.
    """

    def __init__(
        self,
        spec: NodeSpec,
        key: RunKey,
        logs: LogStream,
        environment: dict[str, str],
        on_change: Callable[[Child], None],
        parting: signal.Signals = signal.SIGKILL,
    ) -> None:
        """Starts the process.

        `on_change` is called on another thread when it has ended or was stopped by a signal;
        `parting` is the signal it receives if the supervisor dies.
        """
        self.spec = spec
        command = [sys.executable, "-m", "openral.deploy.launch", str(os.getpid())]
        command += [str(int(parting)), str(spec.nice), spec.module, *spec.arguments]
        with ExitStack() as stack:
            given, fds = environment, tuple[int, ...]()
            if spec.gets_key:
                loan = stack.enter_context(key.lent())
                given, fds = environment | loan.environment, loan.fds
            self._process = subprocess.Popen(
                command,
                env=given,
                pass_fds=fds,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        assert self._process.stdout is not None
        self.tail = logs.follow(spec.name, self._process.stdout)
        self.ended = threading.Event()
        self._on_change = on_change
        with urgent():
            threading.Thread(target=self._wait, name=f"wait-{spec.name}", daemon=True).start()

    @property
    def pid(self) -> int:
        """Process id, which is also the id of its process group and session."""
        return self._process.pid

    def _wait(self) -> None:
        """Waits for the process to end or be stopped; the system reports both immediately."""
        watched = os.WEXITED | os.WSTOPPED | os.WNOWAIT
        with suppress(ChildProcessError):  # already reaped elsewhere
            while (news := os.waitid(os.P_PID, self.pid, watched)) is not None:
                if news.si_code != os.CLD_STOPPED:
                    break
                os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG)
                self._on_change(self)
        self._process.wait()
        self.ended.set()
        self._on_change(self)

    def what_happened(self) -> str:
        """Describes how the process ended or was stopped."""
        code = self._process.returncode
        if code is None:
            return "was stopped by a signal and does not go on"
        if code < 0:
            return f"was killed by {signal.Signals(-code).name}"
        self.tail.join(0.5)
        words = self.last_words
        return f"ended with exit code {code}" + (f": {words}" if words else "")

    @property
    def last_words(self) -> str:
        """The last non-empty line of its output."""
        return next((line.strip() for line in reversed(self.tail.lines) if line.strip()), "")

    def ask_to_end(self) -> None:
        """Sends SIGTERM, and SIGCONT in case the process is stopped."""
        if not self.ended.is_set():
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)
                os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """Sends SIGKILL to its whole process group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
