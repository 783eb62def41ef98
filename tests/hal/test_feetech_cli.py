from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from openral.hal.drivers.feetech.calibration import load_calibration

from .feetech_arm import SO101, calibration_of
from .feetech_simulator import FeetechSimulator

OPENRAL = [sys.executable, "-c", "from openral.cli import main; main()", "feetech"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*OPENRAL, *arguments], capture_output=True, text=True, check=False, timeout=120
    )


def test_scan_lists_the_servos_and_their_faults() -> None:
    with FeetechSimulator("--ids", 1, 4) as simulator:
        simulator.error(4, 1)
        done = run("scan", "--port", simulator.port, "--highest", "5", "--json")
        assert done.returncode == 0, done.stderr
        rows = json.loads(done.stdout)
        assert [row["id"] for row in rows] == [1, 4]
        assert rows[0]["position"] == 2048
        assert rows[1]["faults"] == ["voltage out of range"]


def test_scan_of_an_empty_bus_fails_and_a_missing_port_is_wrong_usage() -> None:
    with FeetechSimulator("--ids", 30) as simulator:
        done = run("scan", "--port", simulator.port, "--highest", "2")
    assert done.returncode == 1
    assert "no servo answers" in done.stderr
    gone = run("scan", "--port", "/dev/no-such-port")
    assert gone.returncode == 2
    assert "cannot open port /dev/no-such-port" in gone.stderr


def test_calibrate_leads_a_person_through_and_writes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "arm.yaml"
    with FeetechSimulator() as simulator:
        command = [*OPENRAL, "calibrate", "--port", simulator.port, "--out", str(path)]
        with subprocess.Popen(
            [*command, "--reverse", "shoulder_lift"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for text in ("torque goes off", "middle"):
                assert text in process.stdout.readline()
                process.stdin.write("\n")
                process.stdin.flush()
            wait_for_centre(simulator)
            for joint in calibration_of(SO101).joints.values():
                for tick in joint.range:
                    simulator.turn(joint.id, tick)
                    wait_for_reads(simulator)
            output, _ = process.communicate("\n", timeout=60)
        assert process.returncode == 0, output
    assert f"wrote {path}" in output
    found = load_calibration(path, SO101)
    for name, joint in calibration_of(SO101).joints.items():
        assert found.joints[name].direction == joint.direction
        assert abs(found.joints[name].zero - joint.zero) <= 1


def wait_for_centre(simulator: FeetechSimulator) -> None:
    """Until the servos have been told their middle: their EEPROM is locked again."""
    deadline = time.monotonic() + 30
    while len([1 for e in simulator.history()[6] if e[0] == 31]) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def wait_for_reads(simulator: FeetechSimulator) -> None:
    """Until the sweep has certainly seen where the shafts are now."""
    deadline = time.monotonic() + 30
    enough = simulator.requests() + 2
    while simulator.requests() < enough:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_calibrate_overwrites_nothing_unasked(tmp_path: Path) -> None:
    path = tmp_path / "arm.yaml"
    path.write_text("mine")
    done = run("calibrate", "--port", "/dev/null", "--out", str(path))
    assert done.returncode == 2
    assert "--force overwrites it" in done.stderr
    assert path.read_text() == "mine"
