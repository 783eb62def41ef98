"""`openral deploy`: the whole graph, with a simulated or a real robot."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openral.cli.ros.graph_session import DomainOption, JsonOption, NetworkOption
from openral.cli.ros.yaml_fields import parse_pairs
from openral.errors import ConfigError

if TYPE_CHECKING:
    from openral.deploy.options import DeployOptions

app = typer.Typer(no_args_is_help=True, help="Run the whole graph: robot, kernel, skill.")

SkillOption = Annotated[
    str, typer.Option(help="Skill, such as home or scripted-push; none: wait for goals.")
]
InstructionOption = Annotated[
    str, typer.Option(help="What to do, in words; the scene's task by default.")
]
DurationOption = Annotated[
    float, typer.Option(min=0, help="Seconds; 0: until the skill has ended, or Ctrl-C.")
]
ParameterOption = Annotated[
    list[str] | None, typer.Option("--param", help="KEY=VALUE for the skill; repeatable.")
]
TransportOption = Annotated[
    list[str] | None, typer.Option("--transport", help="KEY=VALUE for the HAL; repeatable.")
]
MapOption = Annotated[
    bool, typer.Option("--external-map", help="Another program publishes the voxel map.")
]
UnknownOption = Annotated[
    bool, typer.Option("--unknown-blocks", help="What no camera has seen counts as an obstacle.")
]
RecordOption = Annotated[Path | None, typer.Option(help="Folder to record all topics to, as MCAP.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print the plan and start nothing.")]


@app.command()
def sim(
    config: Annotated[str, typer.Option(help="Scene: id or file; none: the bare twin.")] = "",
    robot: Annotated[str, typer.Option(help="Robot: id or file; the scene's own by default.")] = "",
    skill: SkillOption = "",
    instruction: InstructionOption = "",
    episodes: Annotated[int, typer.Option(min=1, help="How often the skill runs.")] = 1,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the first episode.")] = None,
    duration: DurationOption = 0.0,
    parameter: ParameterOption = None,
    rtf: Annotated[str, typer.Option(help="Simulated seconds a second, or 'max'.")] = "1.0",
    wall_clock: Annotated[
        bool, typer.Option("--wall-clock", help="Use wall time even if the simulator has a clock.")
    ] = False,
    real_time: Annotated[
        bool,
        typer.Option("--real-time", help="Wall-clock deadlines as on hardware: nobody waits."),
    ] = False,
    lockstep: Annotated[
        bool, typer.Option("--lockstep", help="One thread: the same seed gives the same trace.")
    ] = False,
    view: Annotated[
        bool, typer.Option("--view/--headless", help="Open MuJoCo's viewer, or no window.")
    ] = False,
    warn_only: Annotated[
        bool, typer.Option("--warn-only", help="Let refused motions pass. Simulation only.")
    ] = False,
    external_map: MapOption = False,
    unknown_blocks: UnknownOption = False,
    record: RecordOption = None,
    transport: TransportOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    domain: DomainOption = None,
    network: NetworkOption = None,
) -> None:
    """Run a robot in a scene through the graph that would run the real one.

    Exit code 0: it ended in order; 1: a node or the skill failed; 2: wrong usage.

    Example: openral deploy sim --config tabletop_push --robot franka_panda --skill home
    """
    from openral.deploy.options import DeployOptions

    options = DeployOptions(
        robot_ref=robot,
        scene_ref=config,
        skill=skill,
        skill_parameters=parse_pairs("--param", parameter),
        instruction=instruction,
        episodes=episodes,
        seed=seed,
        duration_s=duration,
        rtf=_factor(rtf),
        wall_clock=wall_clock,
        real_time=real_time,
        lockstep=lockstep,
        view=view and _has_display(),
        warn_only=warn_only,
        transport=parse_pairs("--transport", transport),
        external_map=external_map,
        unknown_blocks=unknown_blocks,
        record=record,
    )
    _run(options, dry_run, as_json, domain, network)


@app.command()
def run(
    robot: Annotated[str, typer.Option(help="Robot: id or file.")],
    skill: SkillOption = "",
    instruction: InstructionOption = "",
    duration: DurationOption = 0.0,
    parameter: ParameterOption = None,
    transport: TransportOption = None,
    external_map: MapOption = False,
    unknown_blocks: UnknownOption = False,
    record: RecordOption = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="The deadman settings are known; do not ask.")
    ] = False,
    config: Annotated[str, typer.Option(hidden=True)] = "",
    warn_only: Annotated[bool, typer.Option("--warn-only", hidden=True)] = False,
    rtf: Annotated[str, typer.Option(hidden=True)] = "1.0",
    lockstep: Annotated[bool, typer.Option("--lockstep", hidden=True)] = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    domain: DomainOption = None,
    network: NetworkOption = None,
) -> None:
    """Run a real robot. Shows what stops it automatically and asks before it is energised.

    Exit code 0: it ended in order; 1: a node or the skill failed; 2: wrong usage.

    Example: openral deploy run --robot so101_follower --skill home
    """
    from openral.deploy.options import DeployOptions

    options = DeployOptions(
        mode="real",
        robot_ref=robot,
        scene_ref=config,
        skill=skill,
        skill_parameters=parse_pairs("--param", parameter),
        instruction=instruction,
        duration_s=duration,
        rtf=_factor(rtf),
        lockstep=lockstep,
        warn_only=warn_only,
        transport=parse_pairs("--transport", transport),
        external_map=external_map,
        unknown_blocks=unknown_blocks,
        record=record,
    )
    if not dry_run:
        options.check()
        _confirm(options, yes)
    _run(options, dry_run, as_json, domain, network)


def _run(
    options: DeployOptions, dry_run: bool, as_json: bool, domain: int | None, network: str | None
) -> None:
    from openral.deploy.plan import make_plan
    from openral.ros.transport.dds_config import Network

    plan = make_plan(options)
    if dry_run:
        print(json.dumps(plan.as_dict(), indent=2) if as_json else plan.as_text())
        return
    summary = _play(plan, Network.from_environment(domain, network))
    print(json.dumps(summary.as_dict(), indent=2) if as_json else summary.as_text())
    raise typer.Exit(summary.exit_code)


def _play(plan: Any, network: Any) -> Any:
    from openral.deploy.run_start import command_time

    if plan.options.lockstep:
        from openral.deploy.lockstep.run import LockstepGraphRun

        return LockstepGraphRun(plan, command_time()).run()
    from openral.deploy.supervisor import Supervisor

    return Supervisor(plan, network, command_time()).run()


def _confirm(options: DeployOptions, yes: bool) -> None:
    """Shows the operator what stops the real robot, and asks for confirmation unless `yes`."""
    import sys

    from openral.deploy.run_start import deadman_text

    typer.echo(deadman_text(options.robot), err=True)
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigError("nobody is there to confirm these settings; scripts give --yes")
    if not typer.confirm(f"Energise '{options.robot.id}' under these settings?", err=True):
        raise typer.Exit(1)


def _factor(text: str) -> float:
    if text == "max":
        return 0.0
    try:
        factor = float(text)
    except ValueError:
        factor = 0.0
    if not 0.0 < factor <= 1000.0:
        raise ConfigError(f"--rtf '{text}' is not a factor; valid: above 0 to 1000, or max")
    return factor


def _has_display() -> bool:
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        return True
    typer.echo("warning: no display, so no viewer; the run goes on without it", err=True)
    return False
