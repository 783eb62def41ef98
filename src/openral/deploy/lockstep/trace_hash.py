"""Hash of everything that was proposed, decided, applied and measured in a recorded run."""

from __future__ import annotations

import hashlib
from pathlib import Path

from openral.graph import topics
from openral.hal.topics import APPLIED
from openral.ros.codec import types
from openral.ros.recording.reader import Recording

TRACED = (topics.CANDIDATE, topics.VERDICT, topics.JOINT_STATES, APPLIED)


def trace_hash(folder: Path | str) -> str:
    """SHA-256 over the traced topics, in the order of the recording, stamps included.

    Only what measures this machine is left out: the computing time of a verdict's check.
    """
    digest = hashlib.sha256()
    recording = Recording(folder)
    for record in recording.messages([topic for topic in TRACED if topic in recording.topics]):
        data = record.data
        if record.topic == topics.VERDICT:
            verdict = types.decode(record.type, data)
            verdict.check_time = 0.0
            data = types.encode(verdict)
        digest.update(record.topic.encode() + b"\0" + len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()
