"""Mailbox: what takes long is done one at a time, and never before what is urgent."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from openral.errors import TransportError
from openral.hal.sim.owner_thread import OwnerThread
from tests.ros.conftest import wait_until


def ask(how: Callable[..., object], job: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=lambda: how(job), daemon=True)
    thread.start()
    return thread


def test_calls_come_first_and_looks_one_at_a_time() -> None:
    mailbox, done = OwnerThread(), list[str]()
    mailbox.own()
    threads = [ask(mailbox.look, lambda n=n: done.append(f"look{n}")) for n in range(2)]
    wait_until(lambda: mailbox._looks.qsize() == 2)
    threads.append(ask(mailbox.call, lambda: done.append("call")))
    wait_until(lambda: not mailbox._calls.empty())
    mailbox.serve()
    assert done[0] == "call"
    assert len(done) == 2
    mailbox.wait(5.0)  # the other look does not let the owner sleep
    mailbox.serve()
    assert len(done) == 3
    for thread in threads:
        thread.join(5.0)


def test_the_owner_asks_itself_and_others_do_not_wait_for_ever() -> None:
    mailbox = OwnerThread()
    with pytest.raises(TransportError, match="did not answer"):
        mailbox.call(lambda: 1, timeout_s=0.05)
    mailbox.own()
    assert mailbox.look(lambda: 2) == 2
    mailbox.serve()  # what was given up is not done any more


def test_what_a_job_raises_reaches_who_asked() -> None:
    mailbox, caught = OwnerThread(), list[str]()
    mailbox.own()

    def fail() -> None:
        raise ValueError("no film")

    def run() -> None:
        try:
            mailbox.look(fail)
        except ValueError as error:
            caught.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    wait_until(lambda: mailbox.serve() or caught)
    thread.join(5.0)
    assert caught == ["no film"]
