"""The registers of an STS3215 servo that openral uses, and how their values are encoded.

Values are little-endian; signed ones are sign and magnitude, with the sign in `sign_bit`.
Addresses below 40 are EEPROM: they survive a power cycle and are written only while unlocked.
"""

from __future__ import annotations

from dataclasses import dataclass

from openral.errors import ConfigError

TICKS = 4096
CENTRE = TICKS // 2
MODEL_STS3215 = 777
POSITION_MODE = 0
TORQUE_FULL = 1000


@dataclass(frozen=True)
class Register:
    """One value in a servo's memory."""

    name: str
    address: int
    size: int = 1
    sign_bit: int | None = None

    def encode(self, value: int) -> bytes:
        """The register's bytes; ConfigError for a value that does not fit."""
        low, high = self.limits
        if not low <= value <= high:
            raise ConfigError(f"register {self.name}: {value} is outside [{low}, {high}]")
        raw = abs(value)
        if value < 0 and self.sign_bit is not None:
            raw |= 1 << self.sign_bit
        return raw.to_bytes(self.size, "little")

    def decode(self, data: bytes) -> int:
        """The value of the register's bytes."""
        raw = int.from_bytes(data, "little")
        if self.sign_bit is None:
            return raw
        magnitude = raw & ((1 << self.sign_bit) - 1)
        return -magnitude if raw >> self.sign_bit & 1 else magnitude

    @property
    def limits(self) -> tuple[int, int]:
        """The lowest and highest value that can be encoded."""
        if self.sign_bit is None:
            return 0, (1 << 8 * self.size) - 1
        return -((1 << self.sign_bit) - 1), (1 << self.sign_bit) - 1


MODEL = Register("model", 3, 2)
ID = Register("id", 5)
RETURN_DELAY = Register("return_delay", 7)
MIN_POSITION = Register("min_position", 9, 2)
MAX_POSITION = Register("max_position", 11, 2)
MAX_TORQUE = Register("max_torque", 16, 2)
HOMING_OFFSET = Register("homing_offset", 31, 2, 11)
OPERATING_MODE = Register("operating_mode", 33)
PROTECTIVE_TORQUE = Register("protective_torque", 34)
PROTECTION_TIME = Register("protection_time", 35)
OVERLOAD_TORQUE = Register("overload_torque", 36)
TORQUE_ENABLE = Register("torque_enable", 40)
ACCELERATION = Register("acceleration", 41)
GOAL_POSITION = Register("goal_position", 42, 2, 15)
GOAL_TIME = Register("goal_time", 44, 2)
GOAL_SPEED = Register("goal_speed", 46, 2, 15)
TORQUE_LIMIT = Register("torque_limit", 48, 2)
LOCK = Register("lock", 55)
PRESENT_POSITION = Register("present_position", 56, 2, 15)
PRESENT_SPEED = Register("present_speed", 58, 2, 15)
PRESENT_LOAD = Register("present_load", 60, 2, 10)
PRESENT_VOLTAGE = Register("present_voltage", 62)
PRESENT_TEMPERATURE = Register("present_temperature", 63)
STATUS = Register("status", 65)
MOVING = Register("moving", 66)

REGISTERS = {value.name: value for value in list(globals().values()) if isinstance(value, Register)}
MEMORY_SIZE = 71
EEPROM_END = 40

# One transaction reads everything that changes while the arm runs.
SNAPSHOT_START = TORQUE_ENABLE.address
SNAPSHOT_SIZE = STATUS.address + STATUS.size - SNAPSHOT_START


def from_snapshot(register: Register, block: bytes) -> int:
    """A register's value in a block that was read from SNAPSHOT_START."""
    at = register.address - SNAPSHOT_START
    return register.decode(block[at : at + register.size])
