from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from openral.errors import (
    ConfigError,
    DeviceUnplugged,
    JointLimitExceeded,
    SafetyViolation,
    ServoFault,
    TransportError,
)
from openral.hal.drivers.feetech.hal import FeetechHAL

from .feetech_arm import SO101, calibration_of, eventually, require_soft_release
from .feetech_simulator import FeetechSimulator

HOME = SO101.home_position


def test_hold_stops_a_motion_where_it_is(
    build: Callable[..., FeetechHAL], simulator: FeetechSimulator
) -> None:
    hal = build()
    hal.connect()
    simulator.put(1, "goal_speed", 200)
    hal.send([1.9, *HOME[1:]])
    eventually(lambda: hal.read_state().positions[0] > 0.05, "the arm moves")
    hal.hold()
    stopped = hal.read_state().positions[0]
    time.sleep(0.1)
    assert hal.read_state().positions[0] == pytest.approx(stopped, abs=0.05)
    assert simulator.register("torque_enable") == [1] * 6


def test_an_estop_is_acknowledged_latched_and_taken_back_without_a_jump(
    build: Callable[..., FeetechHAL], simulator: FeetechSimulator
) -> None:
    hal = build()
    hal.connect()
    simulator.put(1, "goal_speed", 200)
    hal.send([1.9, *HOME[1:]])
    hal.estop("operator")
    assert hal.stopped
    goals = simulator.register("goal_position")
    with pytest.raises(SafetyViolation, match=r"stopped \(operator\); clear the e-stop"):
        hal.send(HOME)
    assert simulator.register("goal_position") == goals
    hal.clear_estop()
    assert not hal.stopped
    gap = np.array(simulator.register("goal_position")) - simulator.register("present_position")
    assert np.abs(gap).max() <= 1
    hal.send(HOME)


def test_an_estop_may_release_instead(
    build: Callable[..., FeetechHAL], simulator: FeetechSimulator
) -> None:
    hal = build(estop_policy="release")
    hal.connect()
    hal.estop()
    assert simulator.register("torque_enable") == [0] * 6
    hal.read_state()
    hal.clear_estop()
    assert simulator.register("torque_enable") == [1] * 6


def test_an_estop_on_a_dead_bus_still_refuses_targets(
    build: Callable[..., FeetechHAL], simulator: FeetechSimulator
) -> None:
    hal = build()
    hal.connect()
    simulator.unplug()
    with pytest.raises(DeviceUnplugged):
        hal.estop()
    with pytest.raises(SafetyViolation):
        hal.send(HOME)


def test_an_overloaded_servo_is_named_and_rearmed(
    build: Callable[..., FeetechHAL], simulator: FeetechSimulator
) -> None:
    hal = build()
    hal.connect()
    simulator.error(2, 1 << 5)
    with pytest.raises(
        ServoFault, match=r"servo 2 of joint 'shoulder_lift' reports overload \(load"
    ):
        hal.read_state()
    hal.clear_estop()
    hal.read_state()
    assert simulator.register("torque_enable") == [1] * 6


def test_a_servo_that_lost_its_torque_is_noticed(
    build: Callable[..., FeetechHAL], simulator: FeetechSimulator
) -> None:
    hal = build()
    hal.connect()
    simulator.put(4, "torque_enable", 0)
    with pytest.raises(ServoFault, match="joint 'wrist_flex' lost its torque"):
        hal.read_state()


def test_an_arm_without_its_guardian_says_so(
    build: Callable[..., FeetechHAL], simulator: FeetechSimulator
) -> None:
    hal = build()
    hal.connect()
    assert hal.guardian_pid is not None
    os.kill(hal.guardian_pid, signal.SIGKILL)

    def noticed() -> bool:
        try:
            hal.read_state()
        except TransportError as error:
            return "guardian process is gone" in str(error)
        return False

    eventually(noticed, "the loss is noticed")
    hal.close()
    assert simulator.register("torque_enable") == [0] * 6


def test_an_estop_interrupts_parking(
    build: Callable[..., FeetechHAL], simulator: FeetechSimulator
) -> None:
    hal = build(rest_pose=dict(SO101.home, shoulder_pan=1.9), park_speed=0.05)
    hal.connect()
    closing = threading.Thread(target=hal.close)
    closing.start()
    eventually(lambda: simulator.register("goal_speed")[0] < 100, "parking has begun")
    with contextlib.suppress(TransportError):  # the arm may be closed by the time it is asked
        hal.estop()
    closing.join(timeout=30)
    assert not closing.is_alive()
    require_soft_release(simulator)
    assert simulator.register("present_position")[0] < 2500


def test_unplugging_names_the_device(
    build: Callable[..., FeetechHAL], simulator: FeetechSimulator
) -> None:
    hal = build()
    hal.connect()
    simulator.unplug()
    with pytest.raises(DeviceUnplugged, match="is gone"):
        hal.read_state()
    with pytest.raises(DeviceUnplugged):
        hal.close()
    assert not hal.connected


def test_close_ramps_the_torque_down_then_off(
    build: Callable[..., FeetechHAL], simulator: FeetechSimulator
) -> None:
    hal = build()
    hal.connect()
    hal.close()
    hal.close()
    require_soft_release(simulator)


def test_close_parks_first_where_a_rest_pose_is_given(
    build: Callable[..., FeetechHAL], simulator: FeetechSimulator
) -> None:
    rest = dict(SO101.home, shoulder_lift=-0.6, elbow_flex=0.4, gripper=0.8, wrist_flex=0.2)
    hal = build(rest_pose=rest, park_speed=2.0)
    hal.connect()
    hal.close()
    require_soft_release(simulator)
    joints = calibration_of(SO101).in_order(SO101)
    ticks = simulator.register("present_position")
    poses = [joint.to_radians(tick) for joint, tick in zip(joints, ticks, strict=True)]
    assert poses == pytest.approx([rest[name] for name in SO101.joint_names], abs=0.06)


def test_a_bad_rest_pose_or_policy_is_refused_by_name(build: Callable[..., FeetechHAL]) -> None:
    with pytest.raises(ConfigError, match="did you mean 'gripper'"):
        build(rest_pose=SO101.home | {"griper": 0.0})
    with pytest.raises(ConfigError, match=r"rest_pose: .*gripper missing"):
        build(rest_pose={"shoulder_pan": 0.0})
    with pytest.raises(JointLimitExceeded, match="elbow_flex"):
        build(rest_pose=SO101.home | {"elbow_flex": 3.0})
    with pytest.raises(ConfigError, match="estop_policy 'drop' is not valid"):
        build(estop_policy="drop")


def test_before_connect_everything_but_close_says_so(build: Callable[..., FeetechHAL]) -> None:
    hal = build()
    hal.close()
    for call in (hal.read_state, hal.hold, lambda: hal.send(HOME)):
        with pytest.raises(TransportError, match="is not connected"):
            call()
