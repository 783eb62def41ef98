"""The numbers that messages carry for states and kinds, by name."""

from __future__ import annotations

from enum import IntEnum


class SafetyMode(IntEnum):
    """`state` of openral_msgs/msg/SafetyState."""

    IDLE = 0
    ARMED = 1
    ESTOPPED = 2
    RECOVERY = 3


class VerdictStatus(IntEnum):
    """`status` of openral_msgs/msg/Verdict."""

    ACCEPTED = 0
    SLOWED = 1
    REJECTED = 2
    DROPPED = 3


class HalStatus(IntEnum):
    """`state` of openral_msgs/msg/HalState: what the HAL does with the motors."""

    HOLDING = 0
    EXECUTING = 1
    STOPPED = 2


class Severity(IntEnum):
    """`severity` of openral_msgs/msg/FailureTrigger."""

    INFO = 0
    WARNING = 1
    ERROR = 2
    STOP = 3


class SensorState(IntEnum):
    """`state` of openral_msgs/msg/SensorHealth."""

    OK = 0
    SILENT = 1
    STALE = 2
    BLIND = 3
    MISCONFIGURED = 4


class PrimitiveShape(IntEnum):
    """`shape` of openral_msgs/msg/CollisionPrimitive."""

    SPHERE = 0
    BOX = 1
    CAPSULE = 2


class VoxelEncoding(IntEnum):
    """`encoding` of openral_msgs/msg/OccupancyVoxels."""

    BITS = 0
    CELLS = 1
