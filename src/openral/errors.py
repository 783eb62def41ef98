"""Every error that openral raises on purpose: it names the offender and what would be valid."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


class OpenralError(Exception):
    """Base of all errors that a user can cause and mend."""


class ConfigError(OpenralError):
    """A manifest, an option or a combination of them is wrong."""


class CapabilityMismatch(OpenralError):  # noqa: N818 - the name is part of the interface
    """Two parts were asked to work together that cannot."""


class ModelUnavailable(OpenralError):  # noqa: N818
    """A robot model that a manifest names is not on this machine."""


class SafetyViolation(OpenralError):  # noqa: N818
    """A motion was refused by the safety kernel."""


class PolicyFailed(OpenralError):  # noqa: N818
    """A skill raised, hung, died or answered with what is no action."""


class PerceptionStale(OpenralError):  # noqa: N818
    """An observation that a decision needs is missing or too old."""


class TransportError(OpenralError):
    """The wire, a service or a device did not answer as it must."""


class ServiceUnavailable(TransportError):  # noqa: N818
    """Nobody serves what was called."""


class ServerGone(TransportError):  # noqa: N818
    """The server of a call left or died before it answered."""


class ServiceTimeout(TransportError):  # noqa: N818
    """A server is there and did not answer in time."""


class GoalRejected(TransportError):  # noqa: N818
    """An action server did not accept a goal."""


class LifecycleError(OpenralError):
    """A transition that the node's present state does not allow."""


class DeviceUnplugged(TransportError):  # noqa: N818
    """A device that was open is gone."""


class DeviceBusy(TransportError):  # noqa: N818
    """A device that another process holds."""


class ServoSilent(TransportError):  # noqa: N818
    """A servo gave no valid answer within the allowed tries."""


class ServoFault(TransportError):  # noqa: N818
    """A servo answered and reports a fault of its own: names the joint and the fault."""


class JointLimitExceeded(OpenralError):  # noqa: N818
    """A target that a joint may not take: names the joint, the value and the limits."""


class UnknownType(ConfigError):  # noqa: N818
    """A ROS type name that the registry does not hold."""


class InvalidMessage(OpenralError):  # noqa: N818
    """A message that cannot be put on the wire: names the field, its value and what it must be."""


class CorruptMessage(TransportError):  # noqa: N818
    """Received bytes that are not a message of the type they claim to be."""

    def __init__(self, type_name: str, reason: str) -> None:
        self.type_name = type_name
        self.reason = reason
        super().__init__(f"not a {type_name}: {reason}")


class RecordingError(OpenralError):
    """A recording cannot be written or read."""


class TransformError(OpenralError):
    """A transform between two frames cannot be had."""


class UnknownFrame(TransformError):  # noqa: N818
    """A frame that no transform has ever named."""


class FramesNotConnected(TransformError):  # noqa: N818
    """Two frames that are known but belong to different trees."""


class ExtrapolationError(TransformError):
    """A transform was asked for at a time before or after all that is known of it."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong in a file."""

    message: str
    where: str = ""
    line: int | None = None

    def __str__(self) -> str:
        prefix = f"line {self.line}: " if self.line else ""
        return f"{prefix}{self.where}: {self.message}" if self.where else prefix + self.message


class ManifestError(ConfigError):
    """A YAML manifest is not valid; lists every problem with its line."""

    def __init__(self, source: Path | str, problems: Iterable[Problem]) -> None:
        self.source = str(source)
        self.problems = sorted(problems, key=lambda problem: problem.line or 0)
        super().__init__("\n".join([f"{self.source}:", *(f"  {p}" for p in self.problems)]))


def choices(value: str, valid: Iterable[str], noun: str = "valid choices") -> str:
    """Says which names would have been right, the nearest one first if there is one."""
    names = list(valid)
    near = difflib.get_close_matches(value, names, n=1, cutoff=0.6)
    hint = f"did you mean '{near[0]}'? " if near else ""
    return f"{hint}{noun}: {', '.join(names) if names else 'none'}"
