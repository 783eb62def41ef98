from __future__ import annotations

import random
import threading
import time

import pytest

from openral.errors import DeviceBusy, DeviceUnplugged, ServoSilent, TransportError
from openral.hal.drivers.feetech.bus import Bus
from openral.hal.drivers.feetech.port import open_port
from openral.hal.drivers.feetech.registers import (
    ACCELERATION,
    GOAL_POSITION,
    HOMING_OFFSET,
    MODEL,
    PRESENT_POSITION,
    PRESENT_TEMPERATURE,
    PRESENT_VOLTAGE,
)

from .feetech_simulator import FeetechSimulator

IDS = [1, 2, 3, 4, 5, 6]


def opened(simulator: FeetechSimulator, **options: float) -> Bus:
    settings: dict[str, float] = {"timeout": 0.05, "attempts": 6} | options
    return Bus(
        open_port(simulator.port),
        timeout=settings["timeout"],
        attempts=int(settings["attempts"]),
        echo=False if settings["timeout"] > 1 else None,
    )


def test_servos_are_found_read_and_written() -> None:
    with FeetechSimulator() as simulator:
        bus = opened(simulator)
        assert bus.scan(range(1, 9)) == IDS
        assert bus.get(3, MODEL) == 777
        bus.put(2, GOAL_POSITION, 1234)
        bus.sync_write(GOAL_POSITION, {4: 1000, 5: 3000})
        assert bus.sync_get([5, 2, 4], GOAL_POSITION) == {5: 3000, 2: 1234, 4: 1000}
        bus.close()


def test_10000_reads_and_writes_on_a_bad_line_accept_no_wrong_value() -> None:
    with FeetechSimulator("--corrupt", 0.01, "--drop", 0.01, "--seed", 7) as simulator:
        bus = opened(simulator, timeout=0.015, attempts=8)
        truth = dict.fromkeys(IDS, 0)
        choose = random.Random(3)
        for turn in range(5000):
            servo = choose.choice(IDS)
            truth[servo] = choose.randrange(4096)
            bus.write(servo, GOAL_POSITION.address, GOAL_POSITION.encode(truth[servo]))
            other = choose.choice(IDS)
            match turn % 3:
                case 0:
                    assert bus.get(other, GOAL_POSITION) == truth[other]
                case 1:
                    assert bus.sync_get(IDS, GOAL_POSITION) == truth
                case _:
                    assert bus.get(other, PRESENT_POSITION) == 2048
        counters = bus.counters
        assert simulator.register("goal_position") == [truth[servo] for servo in IDS]
        assert counters.retries > 100, "the line was not bad at all"
        assert counters.garbled > 10
        assert counters.retries < counters.requests


def test_answers_that_come_too_late_never_answer_another_question() -> None:
    questions = {
        GOAL_POSITION: 1111,
        PRESENT_POSITION: 2048,
        MODEL: 777,
        HOMING_OFFSET: 0,
        PRESENT_VOLTAGE: 121,
        PRESENT_TEMPERATURE: 31,
    }
    choose = random.Random(5)
    with FeetechSimulator() as simulator:
        simulator.put(1, "goal_position", 1111)
        bus = opened(simulator, timeout=0.004, attempts=2)
        wrong, silent = [], 0
        for turn in range(200):
            if turn % 10 == 0:
                simulator.options(delay=choose.choice([0.0, 0.003, 0.006, 0.011]))
            register = choose.choice(list(questions))
            try:
                value = bus.get(1, register)
            except ServoSilent:
                silent += 1
            else:
                if value != questions[register]:
                    wrong.append((register.name, value))
        assert not wrong
        assert silent, "no answer was ever late"


def test_every_read_asks_the_servo_anew() -> None:
    with FeetechSimulator() as simulator:
        bus = opened(simulator)
        for value in range(300):
            simulator.put(1, "goal_position", value)
            simulator.put(2, "goal_position", 4095 - value)
            assert bus.get(1, GOAL_POSITION) == value
            assert bus.sync_get([1, 2], GOAL_POSITION) == {1: value, 2: 4095 - value}


def test_a_missing_servo_is_named_after_bounded_tries() -> None:
    with FeetechSimulator("--ids", 1, 2) as simulator:
        bus = opened(simulator, attempts=3)
        with pytest.raises(ServoSilent, match="servo 5 gave no valid answer to ping in 3 tries"):
            bus.ping(5)
        assert bus.counters.retries == 2
        assert bus.get(2, MODEL) == 777


@pytest.mark.parametrize("during", ["between requests", "while waiting"])
def test_unplugging_is_named_at_once_without_retries(during: str) -> None:
    with FeetechSimulator() as simulator:
        bus = opened(simulator, timeout=30.0, attempts=1)
        bus.get(1, MODEL)
        if during == "between requests":
            simulator.unplug()
        else:
            simulator.remove(1)
            threading.Timer(0.2, simulator.unplug).start()
        began = time.monotonic()
        with pytest.raises(DeviceUnplugged, match="is it unplugged"):
            bus.get(1, MODEL)
        assert time.monotonic() - began < bus.timeout, "it waited for the timeout"
        assert bus.counters.retries == 0
        with pytest.raises(DeviceUnplugged):
            bus.sync_write(GOAL_POSITION, {1: 5})


def test_an_adapter_that_echoes_is_recognised() -> None:
    with FeetechSimulator("--echo", "--corrupt", 0.02, "--seed", 2) as simulator:
        bus = opened(simulator)
        assert bus.echo
        for turn in range(100):
            bus.put(1 + turn % 6, ACCELERATION, turn)
            bus.sync_write(GOAL_POSITION, dict.fromkeys(IDS, 100 + turn))
            position = bus.get(1, PRESENT_POSITION)
            assert position == 2048
        assert set(simulator.register("acceleration")) == set(range(94, 100))


def test_two_servos_with_one_id_are_noticed() -> None:
    with FeetechSimulator("--duplicate", 3) as simulator:
        bus = opened(simulator)
        assert bus.is_shared(3)
        assert not bus.is_shared(2)


def test_servos_that_talk_at_once_give_no_value_but_a_hint() -> None:
    with FeetechSimulator("--duplicate", 3, "--collide") as simulator:
        bus = opened(simulator, timeout=0.02)
        with pytest.raises(ServoSilent, match="do two servos share this id"):
            bus.get(3, PRESENT_POSITION)


def test_a_port_has_one_owner() -> None:
    with FeetechSimulator() as simulator:
        bus = opened(simulator)
        with pytest.raises(DeviceBusy, match="in use by another process"):
            open_port(simulator.port)
        bus.close()
        open_port(simulator.port).close()


def test_a_port_that_is_not_there_is_named() -> None:
    with pytest.raises(TransportError, match="cannot open port /dev/no-such-port"):
        open_port("/dev/no-such-port")


def test_a_write_that_the_servo_does_not_keep_is_an_error() -> None:
    with FeetechSimulator() as simulator:
        bus = opened(simulator)
        with pytest.raises(TransportError, match="servo 1 does not keep homing_offset = 5"):
            bus.put(1, HOMING_OFFSET, 5)
