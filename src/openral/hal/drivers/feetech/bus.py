"""Requests and responses on the servo bus: bounded attempts, and no response to another request.

The protocol has no sequence numbers, so a late response could pass for one to a later request.
After every failed attempt the bus therefore sends a fence: a read of a length that nothing else
uses. Responses keep their order, so once the fence's response has arrived, all older ones have
arrived, too, and are discarded.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from openral.errors import ServoSilent, TransportError
from openral.hal.drivers.feetech import protocol
from openral.hal.drivers.feetech.port import Port
from openral.hal.drivers.feetech.protocol import Status
from openral.hal.drivers.feetech.registers import GOAL_POSITION, Register

_FENCE_SIZES = range(30, 40)
_SECONDS_PER_BYTE = 20e-6  # twice the transmission time at 1 Mbit/s
_MAX_STALE_READS = 64


@dataclass
class Counters:
    """Statistics of the bus since it was opened."""

    requests: int = 0
    retries: int = 0
    silent: int = 0
    garbled: int = 0
    fences: int = 0

    def as_dict(self) -> dict[str, int]:
        """The counters by name."""
        return asdict(self)


class Bus:
    """The master of a servo bus. Not thread-safe: callers must take turns."""

    def __init__(
        self, port: Port, *, timeout: float = 0.02, attempts: int = 3, echo: bool | None = None
    ) -> None:
        """`timeout`, in s, bounds each attempt; `echo`: whether the adapter returns what is sent.

        None: detected by a request that no servo answers.
        """
        self.port = port
        self.timeout = timeout
        self.attempts = attempts
        self.counters = Counters()
        self._fence_sizes = itertools.cycle(_FENCE_SIZES)
        self._dirty = True  # a previous owner may have left responses on the line
        self.echo = self._detect_echo() if echo is None else echo

    def ping(self, servo: int, attempts: int | None = None) -> Status:
        """The servo's response; ServoSilent when there is none."""
        return self._ask(protocol.ping(servo), servo, 0, "ping", attempts)

    def read(self, servo: int, address: int, size: int) -> Status:
        """Reads `size` bytes of one servo from `address` on."""
        request = protocol.read(servo, address, size)
        return self._ask(request, servo, size, f"read of {size} bytes at {address}")

    def get(self, servo: int, register: Register) -> int:
        """Reads a register."""
        return register.decode(self.read(servo, register.address, register.size).parameters)

    def write(self, servo: int, address: int, data: bytes) -> Status:
        """Writes bytes; returns when the servo has acknowledged."""
        request = protocol.write(servo, address, data)
        return self._ask(request, servo, 0, f"write of {len(data)} bytes at {address}")

    def put(self, servo: int, register: Register, value: int) -> None:
        """Writes a register and reads it back."""
        data = register.encode(value)
        for _ in range(self.attempts):
            self.write(servo, register.address, data)
            if self.read(servo, register.address, register.size).parameters == data:
                return
        raise TransportError(
            f"{self.port.name}: servo {servo} does not keep {register.name} = {value}; "
            f"it reads {self.get(servo, register)}"
        )

    def sync_write(self, register: Register, values: Mapping[int, int]) -> None:
        """Writes one register of several servos at once.

        There is no acknowledgement: read back what matters.
        """
        data = {servo: register.encode(value) for servo, value in values.items()}
        request = protocol.sync_write(register.address, register.size, data)
        self._send(request)
        if self.echo:
            self._hear(request)

    def sync_read(self, servos: Sequence[int], address: int, size: int) -> dict[int, Status]:
        """Reads the same bytes of several servos; missing ones are then read one by one."""
        self.counters.requests += 1
        answers: dict[int, Status] = {}
        if not self._dirty or self._fence(servos[0]):
            answers = self._exchange(protocol.sync_read(servos, address, size), servos, size)
        for servo in servos:
            if servo not in answers:
                self.counters.retries += 1
                answers[servo] = self.read(servo, address, size)
        return {servo: answers[servo] for servo in servos}

    def sync_get(self, servos: Sequence[int], register: Register) -> dict[int, int]:
        """Reads one register of several servos."""
        answers = self.sync_read(servos, register.address, register.size)
        return {servo: register.decode(status.parameters) for servo, status in answers.items()}

    def scan(self, servos: Sequence[int] = range(protocol.MAX_ID + 1)) -> list[int]:
        """The ids that answer a ping."""
        found = []
        for servo in servos:
            try:
                self.ping(servo, attempts=2)
            except ServoSilent:
                continue
            found.append(servo)
        return found

    def is_shared(self, servo: int) -> bool:
        """Whether more than one servo responds to this id, if their responses differ in time.

        Responses at the same instant corrupt each other; that shows as ServoSilent.
        """
        if self._dirty:
            self._fence(servo)
        self._send(protocol.ping(servo))
        buffer = bytearray()
        deadline = time.monotonic() + self.timeout
        while (left := deadline - time.monotonic()) > 0:
            buffer += self.port.read(left)
        if self.echo:
            del buffer[: len(protocol.ping(servo))]
        self._dirty = True
        return len(buffer) > protocol.status_size(0)

    def close(self) -> None:
        """Closes the port."""
        self.port.close()

    def _detect_echo(self) -> bool:
        """No servo responds to a sync write without ids: what is received is the echo."""
        request = protocol.sync_write(GOAL_POSITION.address, GOAL_POSITION.size, {})
        self._discard_input()
        self._send(request)
        return self._hear(request)

    def _hear(self, request: bytes) -> bool:
        """Removes the echo of a request from the line; False when there is none."""
        heard = bytearray()
        deadline = time.monotonic() + self.timeout
        while request not in heard and (left := deadline - time.monotonic()) > 0:
            heard += self.port.read(left)
        return request in heard

    def _ask(
        self, request: bytes, servo: int, size: int, what: str, attempts: int | None = None
    ) -> Status:
        tries = attempts or self.attempts
        self.counters.requests += 1
        before = self.counters.garbled
        for attempt in range(tries):
            self.counters.retries += attempt > 0
            if self._dirty and not self._fence(servo):
                continue
            if answer := self._exchange(request, [servo], size):
                return answer[servo]
        garbled = self.counters.garbled - before
        hint = "; do two servos share this id?" if garbled else "; is it powered and connected?"
        raise ServoSilent(
            f"{self.port.name}: servo {servo} gave no valid answer to {what} in {tries} tries of "
            f"{self.timeout * 1e3:g} ms ({garbled} garbled){hint}"
        )

    def _fence(self, servo: int) -> bool:
        """Sends a fence; True if no late response can be on the line any more."""
        self.counters.fences += 1
        size = next(self._fence_sizes)
        return bool(self._exchange(protocol.read(servo, 0, size), [servo], size))

    def _exchange(self, request: bytes, servos: Sequence[int], size: int) -> dict[int, Status]:
        """Sends one request; returns the responses in time. The line is dirty unless all came."""
        self._discard_input()
        self._send(request)
        expected = protocol.status_size(size) * len(servos)
        patience = self.timeout + (expected + len(request)) * _SECONDS_PER_BYTE
        deadline = time.monotonic() + patience
        answers: dict[int, Status] = {}
        waiting = set(servos)
        buffer = bytearray()
        echo = request if self.echo else b""
        heard = 0
        while waiting and (left := deadline - time.monotonic()) > 0:
            data = self.port.read(left)
            buffer += data
            heard += len(data)
            if echo:
                if (at := buffer.find(echo)) < 0:
                    continue
                del buffer[: at + len(echo)]
                heard, echo = len(buffer), b""
            while waiting and (status := protocol.take_status(buffer, waiting, size)):
                answers[status.id] = status
                waiting.remove(status.id)
            if heard >= expected:  # all bytes have arrived, and some are corrupt
                break
        self._dirty = bool(waiting)
        if waiting:
            self.counters.garbled += heard > len(answers) * protocol.status_size(size)
            self.counters.silent += heard == 0
        return answers

    def _send(self, request: bytes) -> None:
        self.port.write(request)

    def _discard_input(self) -> None:
        for _ in range(_MAX_STALE_READS):
            if not self.port.read(0):
                return
        raise TransportError(f"{self.port.name}: the line never falls silent; is it a servo bus?")
