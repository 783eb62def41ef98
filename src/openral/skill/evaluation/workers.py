"""Runs jobs on several processes; this one works too, so that the others' start costs nothing."""

from __future__ import annotations

import multiprocessing
import queue
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

Result = TypeVar("Result")
Job = TypeVar("Job")

_POLL_S = 0.5


def run_on(
    workers: int,
    jobs: list[Job],
    make: Callable[[], Callable[[Job], Result]],
    own: Callable[[Job], Result],
) -> Iterator[Result]:
    """Yields results as they arrive, in any order.

    `make` builds the job function inside each worker process; `own` is that of this process. A
    worker that fails or dies ends the run with its reason.
    """
    # A fresh interpreter each: a GL context or thread pool does not survive a fork.
    context = multiprocessing.get_context("spawn")
    counter, results = context.Value("i", 0), context.Queue()
    others = [
        context.Process(target=_work, args=(make, jobs, counter, results), daemon=True)
        for _ in range(workers - 1)
    ]
    for process in others:
        process.start()
    missing = len(jobs)
    try:
        while (index := _take(counter, len(jobs))) is not None:
            yield own(jobs[index])
            missing -= 1
            for result in _ready(results):
                yield result
                missing -= 1
        while missing:
            yield _next(results, others)
            missing -= 1
    finally:
        for process in others:
            process.terminate()
            process.join()


def _work(make: Callable[[], Any], jobs: list[Any], counter: Any, results: Any) -> None:
    try:
        function = make()
        while (index := _take(counter, len(jobs))) is not None:
            results.put((function(jobs[index]), None))
    except Exception as error:  # any failure is raised in the parent
        results.put((None, error))


def _take(counter: Any, count: int) -> int | None:
    with counter.get_lock():
        index = int(counter.value)
        counter.value = index + 1
    return index if index < count else None


def _ready(results: Any) -> Iterator[Any]:
    while True:
        try:
            yield _opened(results.get_nowait())
        except queue.Empty:
            return


def _next(results: Any, others: list[Any]) -> Any:
    while True:
        try:
            return _opened(results.get(timeout=_POLL_S))
        except queue.Empty:
            dead = [p.exitcode for p in others if not p.is_alive()]
            if len(dead) == len(others):
                raise RuntimeError(f"all workers ended early, exit codes {dead}") from None


def _opened(pair: tuple[Any, Exception | None]) -> Any:
    result, error = pair
    if error is not None:
        raise error
    return result
