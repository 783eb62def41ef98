"""`openral feetech`: find and calibrate the serial servos of an SO-100 or SO-101 arm."""

from __future__ import annotations

import json
import select
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openral.errors import ConfigError

if TYPE_CHECKING:
    from openral.hal.drivers.feetech.bus import Bus
    from openral.hal.drivers.feetech.calibrate import Ranges

app = typer.Typer(no_args_is_help=True, help="Find and calibrate serial servos.")

Port = Annotated[str, typer.Option(help="Serial device, such as /dev/ttyACM0.")]
BaudRate = Annotated[int, typer.Option(help="Bits per second.")]


@app.command()
def scan(
    port: Port,
    baud_rate: BaudRate = 1_000_000,
    highest: Annotated[int, typer.Option(help="Highest id to try.", min=0, max=253)] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the servos on a bus with their position, supply and faults; moves nothing.

    Exit code 1 if there is none. Example: openral feetech scan --port /dev/ttyACM0
    """
    bus = _open(port, baud_rate)
    rows = [_row(bus, servo) for servo in bus.scan(range(highest + 1))]
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        from rich.console import Console
        from rich.table import Table

        table = Table("id", "model", "position", "voltage", "temperature", "torque", "faults")
        for row in rows:
            table.add_row(*(str(row[str(column.header)]) for column in table.columns))
        Console().print(table)
    if not rows:
        print(f"no servo answers on {port} at {baud_rate} baud up to id {highest}", file=sys.stderr)
        raise typer.Exit(1)


@app.command()
def calibrate(
    port: Port,
    robot: Annotated[str, typer.Option(help="Id, folder or robot.yaml.")] = "so101_follower",
    baud_rate: BaudRate = 1_000_000,
    out: Annotated[
        Path | None, typer.Option(help="File to write; the robot's own by default.")
    ] = None,
    reverse: Annotated[
        list[str] | None, typer.Option(help="A joint whose servo turns the other way; repeatable.")
    ] = None,
    force: Annotated[bool, typer.Option(help="Overwrite a calibration that is there.")] = False,
) -> None:
    """Calibrate an arm: support it, put it in mid-travel, then move every joint to both stops.

    Example: openral feetech calibrate --robot so101_follower --port /dev/ttyACM0
    """
    from openral.hal.drivers.feetech.calibrate import Calibrator
    from openral.hal.drivers.feetech.calibration import default_path
    from openral.manifest import dump_yaml, load_robot

    description = load_robot(robot)
    path = out or default_path(description)
    if path.exists() and not force:
        raise ConfigError(f"{path} exists; --force overwrites it, --out gives another name")
    calibrator = Calibrator(_open(port, baud_rate), description, reverse=reverse or ())
    _ask("Hold the arm: its torque goes off now.")
    calibrator.relax()
    _ask("Put every joint in the middle of its travel.")
    offsets = calibrator.set_middle()
    print("Move every joint from stop to stop, one after the other; press Enter when done.")
    ranges = calibrator.sweep(_enter_pressed)
    calibration = calibrator.finish(offsets, ranges)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dump_yaml(calibration), encoding="utf-8")
    for name, joint in calibration.joints.items():
        low, high = joint.range_radians
        print(f"{name:16} servo {joint.id}  [{low:+.3f}, {high:+.3f}] rad")
    print(f"wrote {path}")


def _open(port: str, baud_rate: int) -> Bus:
    from openral.hal.drivers.feetech.bus import Bus
    from openral.hal.drivers.feetech.port import open_port

    return Bus(open_port(port, baud_rate), timeout=0.06, attempts=8)  # nothing moves: not urgent


def _row(bus: Bus, servo: int) -> dict[str, object]:
    from openral.hal.drivers.feetech.protocol import fault_names
    from openral.hal.drivers.feetech.registers import (
        MODEL,
        PRESENT_POSITION,
        PRESENT_TEMPERATURE,
        PRESENT_VOLTAGE,
        TORQUE_ENABLE,
    )

    return {
        "id": servo,
        "model": bus.get(servo, MODEL),
        "position": bus.get(servo, PRESENT_POSITION),
        "voltage": bus.get(servo, PRESENT_VOLTAGE) / 10,
        "temperature": bus.get(servo, PRESENT_TEMPERATURE),
        "torque": bool(bus.get(servo, TORQUE_ENABLE)),
        "faults": fault_names(bus.ping(servo).error),
    }


def _ask(text: str) -> None:
    print(f"{text} Press Enter.", flush=True)
    if not sys.stdin.readline():
        raise ConfigError("calibration needs a person: the input has ended")


def _enter_pressed(ranges: Ranges) -> bool:
    spans = "  ".join(f"{name} {low}–{high}" for name, (low, high) in ranges.items())
    if sys.stdout.isatty():
        print(f"\r{spans}", end="", flush=True)
    if not select.select([sys.stdin], [], [], 0.02)[0]:
        return False
    sys.stdin.readline()
    print()
    return True
