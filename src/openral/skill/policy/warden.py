"""Starts a policy's process, monitors its resources, and ends it with all its descendants.

`python -m openral.skill.policy.warden SOCKET REASON FOLDER LIMITS RUNNER`: descriptors of the
socket to the runner and of the pipe for the reason of an early end, the policy's own folder,
PolicyLimits as JSON, and the runner's pid. It ends with the policy's exit status or signal. It runs
in a session of its own, so that it can outlive a killed runner for as long as it takes to clean up.
"""

from __future__ import annotations

import ctypes
import os
import resource
import select
import shutil
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path

from openral.signals import ENDING
from openral.skill.policy.confinement import confine
from openral.skill.policy.descendants import (
    adopt_orphans,
    descendants,
    end_descendants,
    resident,
    shared_out,
    task_count,
)
from openral.skill.policy.limits import PolicyLimits
from openral.undumpable import make_undumpable

_LOOK_MS = 100
_NICE = 5
"""A policy that uses all cores must not delay the kernel's heartbeat or the warden."""
_OWN_NICE = -10
_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Runs the warden; never returns."""
    link, reason = int(sys.argv[1]), int(sys.argv[2])
    folder, limits = Path(sys.argv[3]), PolicyLimits.from_text(sys.argv[4])
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the runner handles Ctrl-C
    woken, alarm = os.pipe()
    os.set_blocking(alarm, False)
    signal.set_wakeup_fd(alarm)
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    runner = os.pidfd_open(int(sys.argv[5]))
    if os.getppid() != int(sys.argv[5]):
        os._exit(1)
    adopt_orphans()
    own = os.getpid()
    policy = os.fork()
    if policy == 0:
        for descriptor in (reason, woken, alarm, runner):
            os.close(descriptor)
        signal.set_wakeup_fd(-1)
        _become_policy(link, limits, folder, own)
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _OWN_NICE)
    make_undumpable()
    os.close(link)
    status = _watch(policy, limits, (runner, woken), reason)
    shutil.rmtree(folder, ignore_errors=True)
    _end_like(status)


def _become_policy(link: int, limits: PolicyLimits, folder: Path, warden: int) -> None:
    """The child: confined before any code of the policy is imported."""
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.setsid()
        os.nice(_NICE)
        with suppress(OSError):  # where CPU time is shared by session first; no setsid later
            Path("/proc/self/autogroup").write_text(str(_NICE))
        for text in confine(limits, folder, warden):
            print(f"policy: {text}", file=sys.stderr, flush=True)
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # cleared by the change of user
        if os.getppid() == warden:
            from openral.skill.policy.process import serve_on

            serve_on(link)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _watch(policy: int, limits: PolicyLimits, ends: tuple[int, int], reason: int) -> int:
    """Waits until the policy ends or exceeds a limit, ends all it started; returns its status."""
    followed = os.pidfd_open(policy)
    poll = select.poll()
    for descriptor in (followed, *ends):
        poll.register(descriptor, select.POLLIN)
    text = ""
    while not text and not poll.poll(_LOOK_MS):
        text = _excess(limits)
    if text:
        with suppress(OSError):
            os.write(reason, text.encode())
    with suppress(ProcessLookupError):
        if not select.select([followed], [], [], 0)[0]:
            os.kill(policy, signal.SIGKILL)
    select.select([followed], [], [], 5.0)
    ended = os.waitid(os.P_PID, policy, os.WEXITED | os.WNOHANG)
    end_descendants()
    if ended is None:
        return -signal.SIGKILL
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def _excess(limits: PolicyLimits) -> str:
    """Which limit the policy exceeds, in a sentence; empty: none."""
    pids = descendants()
    tasks, memory = task_count(pids), resident(pids)
    if tasks >= limits.most_tasks:
        return f"it has {tasks} processes and threads; allowed: {limits.most_tasks}"
    if memory > limits.memory and (memory := shared_out(pids)) > limits.memory:
        return f"it uses {memory / 1e9:.1f} GB of memory; allowed: {limits.memory / 1e9:.1f} GB"
    return ""


def _end_like(status: int) -> None:
    if status < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with suppress(OSError, ValueError):  # SIGKILL has no handler
            signal.signal(-status, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [-status])
        os.kill(os.getpid(), -status)
    os._exit(status & 0xFF)


if __name__ == "__main__":
    main()
