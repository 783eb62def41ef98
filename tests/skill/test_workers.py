"""Work that is spread over processes comes back whole, or with the reason why not."""

from __future__ import annotations

import operator
import os
import time
from functools import partial

import pytest

from openral.skill.evaluation.workers import run_on

TRIPLE = partial(partial, operator.mul, 3)  # makes a function, as a worker's start does


def slow_triple(job: int) -> int:
    time.sleep(0.3)
    return 3 * job


def test_every_job_is_done_once_and_the_others_help() -> None:
    own: list[int] = []

    def ours(job: int) -> int:
        own.append(job)
        return slow_triple(job)

    results = list(run_on(2, list(range(30)), TRIPLE, ours))
    assert sorted(results) == [3 * i for i in range(30)]
    assert 0 < len(own) < 30


def test_a_worker_that_fails_ends_the_run_with_its_reason() -> None:
    with pytest.raises(ValueError, match="no such number"):
        list(run_on(2, list(range(60)), partial(int, "no such number"), slow_triple))


def test_a_worker_that_dies_takes_no_job_with_it_that_it_never_began() -> None:
    results = list(run_on(2, list(range(6)), partial(os._exit, 3), slow_triple))
    assert sorted(results) == [3 * i for i in range(6)]
