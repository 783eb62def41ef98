"""A node's process: started apart from the terminal, followed, and ended without a remnant."""

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
    """Runs in a session of its own: Ctrl-C in the terminal reaches the supervisor alone.

    Make it on the main thread: a child dies with the thread that made it.
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
        """`on_change`, on another thread: it ended or was stopped. `parting`: for an orphan."""
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
        """Its process id, which is that of its group and session too."""
        return self._process.pid

    def _wait(self) -> None:
        """The system tells a parent at once, also when a child was only stopped."""
        watched = os.WEXITED | os.WSTOPPED | os.WNOWAIT
        with suppress(ChildProcessError):  # somebody else has taken note of its end
            while (news := os.waitid(os.P_PID, self.pid, watched)) is not None:
                if news.si_code != os.CLD_STOPPED:
                    break
                os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG)
                self._on_change(self)
        self._process.wait()
        self.ended.set()
        self._on_change(self)

    def what_happened(self) -> str:
        """In words, for one that ended or was stopped."""
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
        """The last line that it has printed."""
        return next((line.strip() for line in reversed(self.tail.lines) if line.strip()), "")

    def ask_to_end(self) -> None:
        """SIGTERM to the node; a stopped one is woken for it."""
        if not self.ended.is_set():
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)
                os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL to it and to everything that it started in its session."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
