"""openral's exceptions; their messages name the offender and the valid choices."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


class OpenralError(Exception):
    """Base of all errors that a user can cause and fix."""


class ConfigError(OpenralError):
    """A manifest, an option or a combination of them is invalid."""


class CapabilityMismatch(OpenralError):  # noqa: N818 - the name is part of the interface
    """Two components are incompatible, such as a skill and a robot."""


class ModelUnavailable(OpenralError):  # noqa: N818
    """A robot model that a manifest names is not on this machine."""


class SafetyViolation(OpenralError):  # noqa: N818
    """A motion was refused by the safety kernel."""


class PolicyFailed(OpenralError):  # noqa: N818
    """A skill raised, hung, died or returned an invalid action."""


class PerceptionStale(OpenralError):  # noqa: N818
    """A required observation is missing or stale."""


class TransportError(OpenralError):
    """The transport, a service or a device failed or did not respond correctly."""


class ServiceUnavailable(TransportError):  # noqa: N818
    """No server offers the service that was called."""


class ServerGone(TransportError):  # noqa: N818
    """The server of a call left or died before it responded."""


class ServiceTimeout(TransportError):  # noqa: N818
    """A server is present but did not respond in time."""


class GoalRejected(TransportError):  # noqa: N818
    """An action server did not accept a goal."""


class LifecycleError(OpenralError):
    """A transition that is not valid in the current state of a node or goal."""


class DeviceUnplugged(TransportError):  # noqa: N818
    """An open device was disconnected."""


class DeviceBusy(TransportError):  # noqa: N818
    """A device is in use by another process."""


class ServoSilent(TransportError):  # noqa: N818
    """A servo gave no valid response within the allowed attempts."""


class ServoFault(TransportError):  # noqa: N818
    """A servo reports a fault; the message names the joint and the fault."""


class JointLimitExceeded(OpenralError):  # noqa: N818
    """A target is outside a joint's limits; the message names joint, value and limits."""


class UnknownType(ConfigError):  # noqa: N818
    """A ROS type name that is not in the registry."""


class InvalidMessage(OpenralError):  # noqa: N818
    """A message that cannot be encoded; names the field, its value and the expected type."""


class CorruptMessage(TransportError):  # noqa: N818
    """Received bytes are not a valid message of the given type."""

    def __init__(self, type_name: str, reason: str) -> None:
        self.type_name = type_name
        self.reason = reason
        super().__init__(f"not a {type_name}: {reason}")


class RecordingError(OpenralError):
    """A recording cannot be written or read."""


class TransformError(OpenralError):
    """A transform is invalid or not available."""


class UnknownFrame(TransformError):  # noqa: N818
    """A frame that does not occur in any received transform."""


class FramesNotConnected(TransformError):  # noqa: N818
    """Two known frames belong to different trees."""


class ExtrapolationError(TransformError):
    """A transform was requested at a time before or after all its known poses."""


@dataclass(frozen=True)
class Problem:
    """One problem in a file, with its location."""

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
    """A hint listing the valid names, led by the closest match to `value` if there is one."""
    names = list(valid)
    near = difflib.get_close_matches(value, names, n=1, cutoff=0.6)
    hint = f"did you mean '{near[0]}'? " if near else ""
    return f"{hint}{noun}: {', '.join(names) if names else 'none'}"
