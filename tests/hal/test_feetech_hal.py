from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from openral.errors import (
    CapabilityMismatch,
    JointLimitExceeded,
    ServoSilent,
)
from openral.hal.drivers.feetech.hal import FeetechHAL

from .feetech_arm import SO101, calibration_of, eventually
from .feetech_simulator import FeetechSimulator

HOME = SO101.home_position


def test_connecting_holds_the_arm_where_it_is(
    build: Callable[..., FeetechHAL], simulator: FeetechSimulator
) -> None:
    simulator.turn(3, 1500)
    hal = build()
    hal.connect()
    assert simulator.register("torque_enable") == [1] * 6
    assert simulator.register("goal_position") == [2048, 2048, 1500, 2048, 2048, 2048]
    state = hal.read_state()
    assert state.velocities == pytest.approx(np.zeros(6))
    elbow = calibration_of(SO101).joints["elbow_flex"].to_radians(1500)
    assert state.positions[2] == pytest.approx(elbow)
    assert abs(time.time_ns() - state.stamp_ns) < 60e9
    for entries in simulator.history().values():
        goal = [at for at, (address, _) in enumerate(entries) if address == 42]
        torque = [at for at, entry in enumerate(entries) if entry == (40, [1])]
        assert max(goal) < min(torque), "torque went on before the goal was set"


def test_the_arm_goes_where_it_is_sent_in_radians_and_manifest_order(
    build: Callable[..., FeetechHAL],
) -> None:
    hal = build()
    hal.connect()
    hal.send(HOME)
    speeds = [hal.read_state().velocities]

    def there() -> bool:
        state = hal.read_state()
        speeds.append(state.velocities)
        return bool(np.abs(state.positions - HOME).max() < 0.002)

    eventually(there, "the arm is home")
    moved = np.array(speeds)
    limits = [joint.limits.velocity for joint in SO101.driven if joint.limits]
    assert (np.abs(moved) <= np.array(limits) + 1e-9).all()
    assert hal.health["gripper"].voltage == pytest.approx(12.1)


REFUSED = [
    (0, 2.5, r"'shoulder_pan' is 2.5 rad, outside \[-1.9199, 1.9199\]"),
    (5, float("nan"), "'gripper' is nan"),
    (3, float("inf"), "'wrist_flex' is inf"),
    (1, -57.3, "'shoulder_lift' is -57.3 rad.*is it in degrees"),
]


def test_a_target_outside_its_limits_is_refused_by_name_and_nothing_moves(
    build: Callable[..., FeetechHAL], simulator: FeetechSimulator
) -> None:
    hal = build()
    hal.connect()
    for joint, value, message in REFUSED:
        row = list(HOME)
        row[joint] = value
        with pytest.raises(JointLimitExceeded, match=message):
            hal.send(row)
        assert simulator.register("goal_position") == [2048] * 6


def test_every_limit_of_the_manifest_can_be_commanded(
    build: Callable[..., FeetechHAL], simulator: FeetechSimulator
) -> None:
    hal = build()
    hal.connect()
    for end in (0, 1):
        hal.send([joint.position_range[end] for joint in SO101.driven])
    joints = calibration_of(SO101).in_order(SO101)
    reached = [
        joint.to_radians(t)
        for joint, t in zip(joints, simulator.register("goal_position"), strict=True)
    ]
    assert reached == pytest.approx([j.position_range[1] for j in SO101.driven], abs=0.001)


def test_a_row_of_the_wrong_width_is_refused(build: Callable[..., FeetechHAL]) -> None:
    hal = build()
    hal.connect()
    with pytest.raises(CapabilityMismatch, match=r"takes 6 positions .*gripper.*, got 5"):
        hal.send(HOME[:5])


def test_a_goal_that_got_lost_is_sent_again(
    build: Callable[..., FeetechHAL], simulator: FeetechSimulator
) -> None:
    hal = build()
    hal.connect()
    simulator.options(drop=1.0)
    hal.send(HOME)
    simulator.registers()
    time.sleep(0.1)
    simulator.options(drop=0.0)
    hal.read_state()
    eventually(lambda: np.abs(hal.read_state().positions - HOME).max() < 0.002, "home")


@pytest.mark.parametrize(
    ("register", "value", "message"),
    [
        ("homing_offset", 7, "servo 3 of joint 'elbow_flex': homing_offset is 7, not 0: .*another"),
        ("max_position", 4000, "max_position is 4000, not 3"),
        ("operating_mode", 1, "operating_mode is 1, not 0"),
        ("model", 1284, "not an STS3215"),
    ],
)
def test_the_wrong_arm_is_refused_before_any_torque(
    build: Callable[..., FeetechHAL],
    simulator: FeetechSimulator,
    register: str,
    value: int,
    message: str,
) -> None:
    simulator.put(3, register, value)
    with pytest.raises(CapabilityMismatch, match=message):
        build().connect()
    assert simulator.register("torque_enable") == [0] * 6


def test_a_joint_far_outside_its_range_is_refused_before_any_torque(
    build: Callable[..., FeetechHAL], simulator: FeetechSimulator
) -> None:
    simulator.turn(6, 400)
    with pytest.raises(CapabilityMismatch, match="joint 'gripper' stands at tick 400"):
        build().connect()
    assert simulator.register("torque_enable") == [0] * 6


def test_a_missing_servo_is_refused_and_the_port_is_free_again(
    build: Callable[..., FeetechHAL], simulator: FeetechSimulator
) -> None:
    simulator.remove(5)
    for _ in range(2):
        with pytest.raises(ServoSilent, match="servo 5"):
            build().connect()
