"""Waits until the HAL confirms that a stop has reached the motors."""

from __future__ import annotations

import time
from concurrent.futures import Future
from typing import Any

from openral.graph.states import HalStatus


class StopWatch:
    """Answers e-stop calls once the HAL has acknowledged, or after a timeout."""

    def __init__(self, epoch: int, patience_s: float) -> None:
        self._epoch = epoch
        self._patience_s = patience_s
        self._waiting: list[tuple[int, float, Any, Future[Any]]] = []
        self._seen_beat = 0

    def wait(self, beat: int, response: Any) -> Future[Any]:
        """A future of the response, for a stop that was first published in heartbeat `beat`."""
        future: Future[Any] = Future()
        self._waiting.append((beat, time.monotonic() + self._patience_s, response, future))
        self.check()
        return future

    def heard(self, hal: Any) -> None:
        """Takes a HalState."""
        if hal.state == HalStatus.STOPPED and hal.stop_epoch == self._epoch:
            self._seen_beat = max(self._seen_beat, hal.stop_beat)
            self.check()

    def check(self) -> None:
        """Answers the calls that are confirmed or timed out; call it periodically."""
        now, still = time.monotonic(), []
        for beat, give_up, response, future in self._waiting:
            response.applied = self._seen_beat >= beat
            if response.applied:
                response.message = "latched, and the HAL has stopped"
            elif now >= give_up:
                response.message = f"latched; no HAL has answered within {self._patience_s:g} s"
            else:
                still.append((beat, give_up, response, future))
                continue
            future.set_result(response)
        self._waiting = still
