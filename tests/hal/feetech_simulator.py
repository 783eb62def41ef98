"""STS3215 servos on a pseudo-terminal, in a process of their own, speaking the real protocol.

`FeetechSimulator` is the test's handle: it starts the process and commands it by JSON lines.
The packet code here is written apart from openral's, so that the two check each other.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pty
import random
import select
import subprocess
import sys
import time
import tty
from collections.abc import Sequence
from typing import Any, Self

MEMORY = 71
# name: (address, size, value at power-up)
DEFAULTS = {
    "firmware": (0, 2, 0x0A03),
    "model": (3, 2, 777),
    "id": (5, 1, 0),
    "return_delay": (7, 1, 250),
    "min_position": (9, 2, 0),
    "max_position": (11, 2, 4095),
    "max_torque": (16, 2, 1000),
    "homing_offset": (31, 2, 0),
    "operating_mode": (33, 1, 0),
    "protective_torque": (34, 1, 20),
    "protection_time": (35, 1, 200),
    "overload_torque": (36, 1, 80),
    "torque_enable": (40, 1, 0),
    "acceleration": (41, 1, 0),
    "goal_position": (42, 2, 0),
    "goal_speed": (46, 2, 0),
    "torque_limit": (48, 2, 1000),
    "lock": (55, 1, 1),
    "present_position": (56, 2, 2048),
    "present_speed": (58, 2, 0),
    "present_load": (60, 2, 0),
    "present_voltage": (62, 1, 121),
    "present_temperature": (63, 1, 31),
    "status": (65, 1, 0),
    "moving": (66, 1, 0),
}
EEPROM_END = 40
READ_ONLY = range(56, MEMORY)
OVERLOAD = 1 << 5
FREE_SPEED = 3400
BROADCAST = 0xFE


def framed(servo: int, code: int, data: bytes) -> bytes:
    total = servo + len(data) + 2 + code + sum(data)
    return bytes([0xFF, 0xFF, servo, len(data) + 2, code, *data, 255 - total % 256])


class Servo:
    """Memory, a motor that runs at its goal speed, and a shaft that a hand can turn."""

    def __init__(self, number: int, raw: float = 2048.0) -> None:
        self.memory = bytearray(MEMORY)
        for name, (_, _, value) in DEFAULTS.items():
            self.put(name, value)
        self.put("id", number)
        self.raw = raw
        self.error = 0
        self.moved = time.monotonic()
        self.history: list[tuple[int, list[int]]] = []
        self.update()

    def get(self, name: str) -> int:
        address, size, _ = DEFAULTS[name]
        return int.from_bytes(self.memory[address : address + size], "little")

    def put(self, name: str, value: int) -> None:
        address, size, _ = DEFAULTS[name]
        self.memory[address : address + size] = value.to_bytes(size, "little")

    @property
    def offset(self) -> int:
        coded = self.get("homing_offset")
        return -(coded & 0x7FF) if coded & 0x800 else coded

    def update(self) -> None:
        now = time.monotonic()
        elapsed, self.moved = now - self.moved, now
        speed = 0.0
        if self.get("torque_enable") and self.get("torque_limit"):
            goal = min(max(self.get("goal_position"), self.get("min_position")), 4095)
            goal = min(goal, self.get("max_position"))
            gap = goal - (self.raw - self.offset) % 4096
            fastest = self.get("goal_speed") or FREE_SPEED
            step = min(abs(gap), fastest * elapsed)
            self.raw += step if gap > 0 else -step
            speed = 0.0 if step >= abs(gap) else (fastest if gap > 0 else -fastest)
        self.put("present_position", round(self.raw - self.offset) % 4096)
        self.put("present_speed", int(abs(speed)) | (0x8000 if speed < 0 else 0))
        self.put("moving", int(speed != 0))
        self.put("status", self.error)

    def write(self, address: int, data: bytes) -> None:
        self.update()
        self.history.append((address, list(data)))
        locked = self.get("lock") == 1
        for at, byte in enumerate(data, address):
            if at < MEMORY and at not in READ_ONLY and not (at < EEPROM_END and locked):
                self.memory[at] = byte
        if self.get("torque_enable") == 0:
            self.error &= ~OVERLOAD
        self.update()

    def answer(self, code: int, data: bytes) -> bytes | None:
        """The status packet to a request; None for one that a servo ignores."""
        self.update()
        number = self.get("id")
        if code == 1:
            return framed(number, self.error, b"")
        if code == 2 and len(data) == 2 and data[0] + data[1] <= MEMORY:
            return framed(number, self.error, bytes(self.memory[data[0] : data[0] + data[1]]))
        if code == 3 and len(data) >= 2:
            self.write(data[0], data[1:])
            return framed(number, self.error, b"")
        return None


class Line:
    """The bus: takes requests apart, spoils some of them, gives the answers back."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.random = random.Random(options.seed)
        self.servos = [Servo(number) for number in options.ids]
        if options.duplicate:
            self.servos.append(Servo(options.duplicate, raw=1111.0))
            self.servos[-1].put("present_voltage", 74)
        self.buffer = bytearray()
        self.heard = 0.0
        self.requests = 0

    def spoiled(self, packet: bytes) -> bytes:
        chance = self.random.random()
        if chance < self.options.drop:
            return b""
        if chance < self.options.drop + self.options.corrupt:
            at = self.random.randrange(len(packet))
            wrong = packet[at] ^ self.random.randrange(1, 256)
            return packet[:at] + bytes([wrong]) + packet[at + 1 :]
        return packet

    def receive(self, data: bytes) -> bytes:
        """What comes back for these bytes."""
        if time.monotonic() - self.heard > 0.005:
            self.buffer.clear()  # a servo gives up on a packet that does not go on
        self.heard = time.monotonic()
        self.buffer += data
        out = data if self.options.echo else b""
        while (request := self.next_request()) is not None:
            out += self.execute(request)
        return out

    def next_request(self) -> bytes | None:
        while len(self.buffer) >= 4:
            size = self.buffer[3] + 4
            if self.buffer[:2] != b"\xff\xff" or self.buffer[2] == 0xFF or size < 6:
                del self.buffer[0]
            elif len(self.buffer) < size:
                return None
            else:
                packet = bytes(self.buffer[:size])
                del self.buffer[:size]
                packet = self.spoiled(packet)
                if packet and sum(packet[2:]) % 256 == 255:
                    return packet
        return None

    def execute(self, request: bytes) -> bytes:
        self.requests += 1
        number, code, data = request[2], request[4], request[5:-1]
        if request[3] != len(request) - 4:
            return b""
        if number == BROADCAST and code == 0x83:
            size = data[1]
            for at in range(2, len(data), size + 1):
                for servo in self.named(data[at]):
                    servo.write(data[0], data[at + 1 : at + 1 + size])
            return b""
        if number == BROADCAST and code == 0x82:
            return b"".join(self.reply(one, 2, data[:2]) for one in data[2:])
        return self.reply(number, code, data)

    def named(self, number: int) -> list[Servo]:
        return [servo for servo in self.servos if servo.get("id") == number]

    def reply(self, number: int, code: int, data: bytes) -> bytes:
        answers = [a for servo in self.named(number) if (a := servo.answer(code, data))]
        if self.options.collide and len(answers) > 1:
            answers = [bytes(a & b for a, b in zip(*answers, strict=True))]
        if answers and self.options.delay:
            time.sleep(self.options.delay)
        return b"".join(self.spoiled(answer) for answer in answers)


def command(line: Line, request: dict[str, Any]) -> Any:
    """What the test's handle asks for."""
    servos = {servo.get("id"): servo for servo in reversed(line.servos)}
    match request.pop("do"):
        case "registers":
            for servo in servos.values():
                servo.update()
            return {n: {name: s.get(name) for name in DEFAULTS} for n, s in servos.items()}
        case "requests":
            return line.requests
        case "history":
            return {number: servo.history for number, servo in servos.items()}
        case "put":
            servos[request["id"]].put(request["name"], request["value"])
        case "turn":
            servos[request["id"]].raw = request["raw"]
            servos[request["id"]].update()
        case "error":
            servos[request["id"]].error = request["value"]
        case "remove":
            line.servos = [s for s in line.servos if s.get("id") != request["id"]]
        case "options":
            vars(line.options).update(request)
    return None


def serve(options: argparse.Namespace) -> None:
    master, slave = pty.openpty()
    tty.setraw(slave)  # and kept open: the line outlives its users
    line = Line(options)
    print(json.dumps(os.ttyname(slave)), flush=True)
    plugged = True
    control = open(0, "rb", buffering=0)  # noqa: SIM115
    while True:
        ready = select.select([0, *([master] if plugged else [])], [], [])[0]
        if master in ready and plugged and (answer := line.receive(os.read(master, 4096))):
            os.write(master, answer)
        if 0 in ready:
            text = control.readline()
            if not text:
                return
            request = json.loads(text)
            if request["do"] == "unplug":
                os.close(slave)
                os.close(master)
                plugged, result = False, None
            else:
                result = command(line, request)
            print(json.dumps(result), flush=True)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ids", type=int, nargs="+", default=[1, 2, 3, 4, 5, 6])
    parser.add_argument("--corrupt", type=float, default=0.0)
    parser.add_argument("--drop", type=float, default=0.0)
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--duplicate", type=int, default=0)
    parser.add_argument("--collide", action="store_true")
    parser.add_argument("--echo", action="store_true")
    return parser.parse_args(arguments)


class FeetechSimulator:
    """A running simulator; `port` is the serial device to open."""

    def __init__(self, *arguments: object) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.port: str = self._reply()

    def registers(self) -> dict[int, dict[str, int]]:
        return {int(number): values for number, values in self._ask(do="registers").items()}

    def register(self, name: str) -> list[int]:
        return [values[name] for _, values in sorted(self.registers().items())]

    def history(self) -> dict[int, list[tuple[int, list[int]]]]:
        return {
            int(number): [(address, data) for address, data in entries]
            for number, entries in self._ask(do="history").items()
        }

    def requests(self) -> int:
        return int(self._ask(do="requests"))

    def put(self, number: int, name: str, value: int) -> None:
        self._ask(do="put", id=number, name=name, value=value)

    def turn(self, number: int, raw: float) -> None:
        self._ask(do="turn", id=number, raw=raw)

    def error(self, number: int, value: int) -> None:
        self._ask(do="error", id=number, value=value)

    def remove(self, number: int) -> None:
        self._ask(do="remove", id=number)

    def options(self, **options: object) -> None:
        self._ask(do="options", **options)

    def unplug(self) -> None:
        self._ask(do="unplug")

    def close(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.wait(timeout=30)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, **request: object) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._reply()

    def _reply(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())


if __name__ == "__main__":
    serve(parse(sys.argv[1:]))
