"""Records the graph in a process of its own: `python -m openral.deploy.recorder folder=out/run1`.

A full disk ends the recording, which is reported; nothing else in the graph notices.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import suppress
from typing import Any

from openral.errors import ConfigError, OpenralError, RecordingError
from openral.graph.states import Severity
from openral.graph.time_lease import LeaseHolder
from openral.graph.topics import FAILURE_RECORDER
from openral.ros import Outcome, State, msg, spin
from openral.ros.lifecycle.node import LifecycleNode
from openral.ros.lifecycle.program import given_parameters
from openral.ros.parameters.store import Descriptor
from openral.ros.qos import STATE
from openral.ros.recording.background import BackgroundWriter
from openral.ros.recording.recorder import Recorder
from openral.ros.recording.writer import RecordingWriter
from openral.signals import heed_signals

_CHECK_S = 0.1
_LOOK_S = (0.2, 5.0)
"""Shortest and longest period in s of the search for new topics: short while they keep appearing,
as a search costs as much as many messages."""
_REPORT_EVERY_S = 1.0
_MOST_BYTES = 256 * 1024 * 1024
_LEASE_S, _BACKLOG = 1.0, 0.5
"""How far in s simulated time may advance past this node, and the fraction of its queue up to which
it extends that lease: half of the queue holds a second of four 640x480 cameras at 30 Hz."""
_END_S = 1.0
"""Longest wait in s for a slow disk after Ctrl-C."""


class RecorderNode(LifecycleNode):
    """Records every topic from activation on; closes the file when it is shut down."""

    def __init__(self, **options: Any) -> None:
        super().__init__("recorder", **options)
        fixed = Descriptor(read_only=True)
        self._folder = self.declare_parameter("folder", "", fixed).value
        self._exclude = self.declare_parameter("exclude", "", fixed).value
        self._failures = self.create_publisher(
            "openral_msgs/msg/FailureTrigger", FAILURE_RECORDER, STATE
        )
        self._sink: BackgroundWriter | None = None
        self._recorder: Recorder | None = None
        self._lease: LeaseHolder | None = None
        self._reported_lost, self._reported_at = 0, 0.0
        self._told_error = False

    def on_configure(self, previous: State) -> Outcome:
        """Creates the folder and the file."""
        if not self._folder:
            raise ConfigError("parameter 'folder' is empty: it names where to record to")
        self._sink = BackgroundWriter(RecordingWriter(str(self._folder)), _MOST_BYTES)
        return Outcome.SUCCESS

    def on_activate(self, previous: State) -> Outcome:
        """Starts recording."""
        assert self._sink is not None
        self._recorder = Recorder(self, self._sink, exclude=str(self._exclude) or None)
        self._pause_s, self._next_look = _LOOK_S[0], 0.0
        self.create_wall_timer(_CHECK_S, self._check)
        self._lease = LeaseHolder(self, _LEASE_S)
        self.create_wall_timer(_CHECK_S, self._hold_time)
        return Outcome.SUCCESS

    def on_shutdown(self, previous: State) -> Outcome:
        """Writes the queued messages and completes the file."""
        lease, self._lease = self._lease, None
        if lease is not None:
            lease.close()
        recorder, self._recorder = self._recorder, None
        sink, self._sink = self._sink, None
        if recorder is not None and self.destroyed:
            recorder.take_rest()
        if sink is not None:
            with suppress(RecordingError):  # reported when it happened
                sink.close(_END_S)
            self.log.info("recorded", messages=sink.writer.count, lost=sink.lost)
        if recorder is not None:
            recorder.close()
        return Outcome.SUCCESS

    def _hold_time(self) -> None:
        """Makes simulated time, where it can wait, wait for messages still to be written."""
        sink, lease = self._sink, self._lease
        if sink is not None and lease is not None:
            if sink.error is not None:
                lease.release()
            elif sink.backlog < _BACKLOG:
                lease.extend()

    def _check(self) -> None:
        recorder, sink = self._recorder, self._sink
        if recorder is None or sink is None:
            return
        if sink.error is None:
            self._look(recorder)
        elif not self._told_error:
            self._told_error = True
            self._tell(Severity.ERROR, "recording_stopped", str(sink.error))
        self._report_lost(sink)

    def _look(self, recorder: Recorder) -> None:
        if time.monotonic() < self._next_look:
            return
        known = len(recorder.subscriptions)
        recorder.look()
        found = len(recorder.subscriptions) > known
        self._pause_s = _LOOK_S[0] if found else min(2 * self._pause_s, _LOOK_S[1])
        self._next_look = time.monotonic() + self._pause_s

    def _report_lost(self, sink: BackgroundWriter) -> None:
        now = time.monotonic()
        due = now - self._reported_at > _REPORT_EVERY_S
        if due and sink.error is None and sink.lost > self._reported_lost:
            self._reported_lost, self._reported_at = sink.lost, now
            text = f"{sink.lost} messages lost: they came faster than they could be written"
            self._tell(Severity.WARNING, "recording_behind", text)

    def _tell(self, severity: Severity, reason: str, detail: str) -> None:
        self.log.error(detail)
        header = msg.Header(stamp=self.stamp())
        self._failures.publish(
            msg.FailureTrigger(
                header=header,
                source="recorder",
                severity=int(severity),
                reason=reason,
                detail=detail,
                evidence="{}",
            )
        )


def main() -> int:
    """Runs the recorder; returns exit code 2 for wrong usage."""
    heed_signals()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parameters", nargs="*", metavar="name=value")
    options = parser.parse_args()
    try:
        names = ("use_sim_time", "folder", "exclude")
        node = RecorderNode(parameters=given_parameters(options.parameters, names))
    except OpenralError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    spin(node)
    return 0


if __name__ == "__main__":
    sys.exit(main())
