from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from openral.errors import (
    CapabilityMismatch,
    ConfigError,
    DeviceUnplugged,
    JointLimitExceeded,
    SafetyViolation,
    ServoFault,
    ServoSilent,
    TransportError,
)
from openral.hal.feetech.hal import FeetechHAL

from .feetech_arm import SO101, calibrate, calibration_of
from .feetech_simulator import FeetechSimulator

HOME = SO101.home_position


@pytest.fixture
def simulator() -> Iterator[FeetechSimulator]:
    with FeetechSimulator() as running:
        yield running


@pytest.fixture
def build(simulator: FeetechSimulator, tmp_path: Path) -> Iterator[Callable[..., FeetechHAL]]:
    path = calibrate(simulator, tmp_path)
    built: list[FeetechHAL] = []

    def make(**options: object) -> FeetechHAL:
        settings: dict[str, object] = {"port": simulator.port, "calibration": path}
        settings |= {"timeout": 0.03, "attempts": 6, "ramp_seconds": 0.06}
        built.append(FeetechHAL(SO101, **(settings | options)))  # type: ignore[arg-type]
        return built[-1]

    yield make
    for hal in built:
        with contextlib.suppress(TransportError):  # the test pulled the plug
            hal.close()


def eventually(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.01)


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((0, 2.5), r"'shoulder_pan' is 2.5 rad, outside \[-1.9199, 1.9199\]"),
        ((5, float("nan")), "'gripper' is nan"),
        ((3, float("inf")), "'wrist_flex' is inf"),
        ((1, -57.3), "'shoulder_lift' is -57.3 rad.*is it in degrees"),
    ],
)
def test_a_target_outside_its_limits_is_refused_by_name_and_nothing_moves(
    build: Callable[..., FeetechHAL],
    simulator: FeetechSimulator,
    change: tuple[int, float],
    message: str,
) -> None:
    hal = build()
    hal.connect()
    row = list(HOME)
    row[change[0]] = change[1]
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
    hal.estop()
    assert hal.stopped
    goals = simulator.register("goal_position")
    with pytest.raises(SafetyViolation, match="rearm"):
        hal.send(HOME)
    assert simulator.register("goal_position") == goals
    hal.rearm()
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
    hal.rearm()
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
    hal.rearm()
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


def require_soft_release(simulator: FeetechSimulator) -> None:
    """Torque is off, after a ramp of falling torque limits that ends near nothing."""
    registers = simulator.registers()
    assert [servo["torque_enable"] for servo in registers.values()] == [0] * 6
    assert [servo["torque_limit"] for servo in registers.values()] == [1000] * 6
    for entries in simulator.history().values():
        off = max(at for at, entry in enumerate(entries) if entry == (40, [0]))
        limits = [d[0] + 256 * d[1] for address, d in entries[:off] if address == 48]
        ramp = limits[limits.index(950) :]
        assert ramp == sorted(ramp, reverse=True)
        assert ramp[-1] <= 50
