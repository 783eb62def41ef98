"""The `openral` command. Each subcommand is a separate module, imported when it is used."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import typer
import typer.core

from openral.errors import OpenralError, choices
from openral.signals import heed_signals

# name -> (module with `app`, one line of help)
COMMANDS = {
    "robot": ("openral.cli.robot", "List, show, check, draw and import robots."),
    "scene": ("openral.cli.scene", "List, show and draw scenes."),
    "sim": ("openral.cli.sim", "Run skills in simulated scenes."),
    "deploy": ("openral.cli.deploy", "Run the whole graph, simulated or real."),
    "world": ("openral.cli.world", "See what the robot believes is around it."),
    "kernel": ("openral.cli.kernel", "Measure and question the safety kernel."),
    "status": ("openral.cli.status", "Show what the safety kernel is doing."),
    "estop": ("openral.cli.estop", "Stop the robot now."),
    "reset": ("openral.cli.reset", "Arm the robot, after start or after a stop."),
    "recover": ("openral.cli.recover", "Let slow motion out of the margin pass, after a stop."),
    "node": ("openral.cli.ros.node", "Nodes of the running graph."),
    "topic": ("openral.cli.ros.topic", "List, echo, measure and publish topics."),
    "service": ("openral.cli.ros.service", "List and call services."),
    "param": ("openral.cli.ros.param", "Read and change parameters of nodes."),
    "lifecycle": ("openral.cli.ros.lifecycle", "Read and change the state of managed nodes."),
    "record": ("openral.cli.ros.record", "Record topics to MCAP in rosbag2's layout."),
    "feetech": ("openral.cli.feetech", "Find and calibrate serial servos (SO-100, SO-101)."),
    "schema": ("openral.cli.schema", "Print the JSON Schema of a manifest."),
}

_CONTEXT = {"help_option_names": ["-h", "--help"]}


class _LazyGroup(typer.core.TyperGroup):
    """Lists the commands without importing them, so that `openral --help` is fast."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        return typer.core.TyperCommand(cmd_name, help=COMMANDS[cmd_name][1])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        if name not in COMMANDS:
            ctx.fail(f"no command '{name}'; {choices(name, COMMANDS, 'commands')}")
        below = importlib.import_module(COMMANDS[name][0]).app
        below._add_completion = False  # completion is offered by `openral` only
        return name, typer.main.get_command(below), args[1:]


app = typer.Typer(
    cls=_LazyGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=_CONTEXT,
)


@app.callback()
def _openral() -> None:
    """Run any robot, simulated or real, with every motion proven clear before it is applied.

    Example: openral robot list
    """


def main() -> None:
    """Entry point: an error that the user can fix becomes a message and exit code 2."""
    heed_signals()
    try:
        app()
    except OpenralError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
