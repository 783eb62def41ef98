from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openral.errors import ConfigError, ManifestError
from openral.hal.drivers.feetech.bus import Bus
from openral.hal.drivers.feetech.calibrate import Calibrator, Ranges
from openral.hal.drivers.feetech.calibration import (
    RADIANS_PER_TICK,
    Calibration,
    JointCalibration,
    default_path,
    load_calibration,
)
from openral.hal.drivers.feetech.port import open_port
from openral.manifest import dump_yaml, load_robot

from .feetech_arm import PER_RADIAN, SO101, calibration_of
from .feetech_simulator import FeetechSimulator


def written(tmp_path: Path, **changes: object) -> Path:
    """A good file with the fields of some joints changed: joint name -> changes or None."""
    data = json.loads(calibration_of(SO101).model_dump_json())
    for name, change in changes.items():
        if isinstance(change, dict):
            data["joints"].setdefault(name, dict(data["joints"]["gripper"])).update(change)
        elif change is None:
            del data["joints"][name]
        else:
            data[name] = change
    path = tmp_path / "calibration.json"
    path.write_text(json.dumps(data))
    return path


@given(
    st.integers(0, 4095),
    st.floats(-2 * math.pi, 2 * math.pi),
    st.sampled_from([1, -1]),
    st.integers(-4095, 8191),
)
def test_ticks_and_radians_are_each_others_inverse(
    tick: int, angle: float, direction: int, zero: int
) -> None:
    joint = JointCalibration.model_validate(
        {"id": 1, "homing_offset": 0, "zero": zero, "range": (0, 4095), "direction": direction}
    )
    assert joint.to_ticks(joint.to_radians(tick)) == tick
    assert abs(joint.to_radians(joint.to_ticks(angle)) - angle) <= RADIANS_PER_TICK / 2 + 1e-12


def test_a_written_calibration_is_read_back_from_yaml_and_json(tmp_path: Path) -> None:
    expected = calibration_of(SO101)
    path = tmp_path / "arm.yaml"
    path.write_text(dump_yaml(expected))
    assert load_calibration(path, SO101) == expected
    assert load_calibration(written(tmp_path), SO101) == expected


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"robot": "so100_follower"}, "made for 'so100_follower', not for 'so101_follower'"),
        ({"sholder_pan": {"id": 9}}, "no driven joint 'sholder_pan'; did you mean 'shoulder_pan'?"),
        ({"wrist_flex": None}, "joints.wrist_flex: is missing"),
        ({"wrist_flex": {"id": 1}}, "servo 1 already moves 'shoulder_pan'"),
        ({"wrist_flex": {"range": [3000, 1000]}}, "3000 is not below 1000"),
        ({"wrist_flex": {"range": [0, 4096]}}, "joints.wrist_flex.range"),
        ({"wrist_flex": {"offset": 3}}, "unknown key"),
        ({"wrist_flex": {"homing_offset": 3000}}, "joints.wrist_flex.homing_offset"),
        ({"wrist_flex": {"direction": 0}}, "joints.wrist_flex.direction"),
        ({"wrist_flex": {"range": [1800, 2300]}}, "not swept to both stops"),
        ({"gripper": {"direction": -1}}, "does not fit the manifest's [-0.174, 1.745]"),
        ({"elbow_flex": {"zero": 3000}}, "joints.elbow_flex.range"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_by_name(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(ManifestError) as caught:
        load_calibration(written(tmp_path, **changes), SO101)
    assert message in str(caught.value)


def test_a_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="openral feetech calibrate --robot so101_follower"):
        load_calibration(tmp_path / "none.yaml", SO101)


def test_files_live_beside_the_users_robots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    monkeypatch.delenv("OPENRAL_ROBOTS", raising=False)
    assert default_path(SO101) == Path("/data/openral/calibration/so101_follower.yaml")


def swept(
    simulator: FeetechSimulator, calibrator: Calibrator, ends: dict[int, list[int]]
) -> Ranges:
    """Turns every servo through its raw ends, as a hand would."""
    turns = [(servo, end) for servo, both in ends.items() for end in both]

    def finished(_: Ranges) -> bool:
        if not turns:
            return True
        simulator.turn(*turns.pop(0))
        return False

    return calibrator.sweep(finished)


@pytest.mark.parametrize("robot_id", ["so100_follower", "so101_follower"])
def test_an_arm_is_calibrated_whatever_the_mounting_of_its_servos(
    robot_id: str, tmp_path: Path
) -> None:
    robot = load_robot(robot_id)
    # Where each servo's shaft stands when its joint is in mid-travel; three near or on the seam.
    middles = dict(zip(range(1, 7), [2048, 30, 4090, 700, 3000, 1], strict=True))
    with FeetechSimulator() as simulator:
        for servo, middle in middles.items():
            simulator.put(servo, "torque_enable", 1)
            simulator.put(servo, "goal_position", middle)
            simulator.turn(servo, middle)
        bus = Bus(open_port(simulator.port), timeout=0.1)
        calibrator = Calibrator(bus, robot, reverse=["elbow_flex"])
        calibrator.relax()
        assert simulator.register("torque_enable") == [0] * 6
        offsets = calibrator.set_middle()
        assert all(abs(now - 2048) <= 1 for now in simulator.register("present_position"))
        spans = [high - low for low, high in (joint.position_range for joint in robot.driven)]
        ends = {}
        for servo, span in enumerate(spans, 1):
            half = min(int((span / 2 + 0.1) * PER_RADIAN), 2040)
            ends[servo] = [middles[servo] - half + 30, middles[servo] + half - 5]
        calibration = calibrator.finish(offsets, swept(simulator, calibrator, ends))
        assert simulator.register("lock") == [1] * 6
        registers = simulator.registers()
    path = tmp_path / "arm.yaml"
    path.write_text(dump_yaml(calibration))
    assert load_calibration(path, robot) == calibration
    for joint in robot.driven:
        found = calibration.joints[joint.name]
        assert registers[found.id]["min_position"] == found.range[0]
        assert registers[found.id]["max_position"] == found.range[1]
        assert found.direction == (-1 if joint.name == "elbow_flex" else 1)
        # The hand's 25-tick asymmetry moves the zero by half of it.
        mid_travel = sum(joint.position_range) / 2
        assert abs(found.to_radians(2048) - mid_travel) < 14 * RADIANS_PER_TICK


def test_a_joint_without_stops_takes_its_zero_from_the_middle_pose() -> None:
    with FeetechSimulator() as simulator:
        calibrator = Calibrator(Bus(open_port(simulator.port), timeout=0.1), SO101)
        ranges = {name: joint.range for name, joint in calibration_of(SO101).joints.items()}
        ranges["wrist_roll"] = (0, 4095)
        calibration = calibrator.finish(calibrator.set_middle(), ranges)
    roll = calibration.joints["wrist_roll"]
    assert abs(roll.to_radians(2048)) < RADIANS_PER_TICK
    low, high = SO101.joint("wrist_roll").position_range
    assert low - RADIANS_PER_TICK <= roll.range_radians[0]
    assert roll.range_radians[1] <= high + RADIANS_PER_TICK


def test_a_half_hearted_sweep_is_refused_and_changes_no_servos_limits() -> None:
    with FeetechSimulator() as simulator:
        calibrator = Calibrator(Bus(open_port(simulator.port), timeout=0.1), SO101)
        offsets = calibrator.set_middle()
        with pytest.raises(ManifestError, match="not swept to both stops"):
            calibrator.finish(offsets, dict.fromkeys(SO101.joint_names, (2000, 2100)))
        assert simulator.register("max_position") == [4095] * 6


def test_an_unknown_joint_is_refused_with_the_nearest_name() -> None:
    with FeetechSimulator("--ids", 1) as simulator:
        bus = Bus(open_port(simulator.port), timeout=0.1)
        with pytest.raises(ConfigError, match="did you mean 'gripper'"):
            Calibrator(bus, SO101, reverse=["griper"])


def test_the_schema_is_strict() -> None:
    assert Calibration.model_config["extra"] == "forbid"
