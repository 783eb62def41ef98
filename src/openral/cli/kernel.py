"""`openral kernel`: benchmark the safety kernel, and explain its verdict on a chunk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from openral.errors import ConfigError

app = typer.Typer(no_args_is_help=True, help="Measure and question the safety kernel.")


@app.callback()
def _kernel() -> None:
    """Measure and question the safety kernel.

    Example: openral kernel bench --json
    """


@app.command()
def bench(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    count: Annotated[int, typer.Option(min=20, help="Motions per measurement.")] = 400,
) -> None:
    """Time verdicts for 50-row chunks among 20 obstacles and 10 000 voxels.

    Example: openral kernel bench --json
    """
    from openral.bench.kernel import kernel_benchmark

    result = kernel_benchmark(count)
    if as_json:
        print(json.dumps(result))
        return
    print(f"{result['voxels']} voxels, {result['primitives']} obstacles, {result['rows']} rows")
    for name in ("vectorised", "scalar"):
        part = result[name]
        far, near = part["far"], part["near"]
        print(
            f"{name:>10}: far {far['median_us']} µs median, near {near['p99_us']} µs p99, "
            f"{part['ns_per_configuration']} ns a configuration"
        )
        mode, worst = max(part["worst_verdicts"].items(), key=lambda item: item[1]["worst_us"])
        print(f"{'':>10}  the worst verdict of any mode: {worst['worst_us']} µs ({mode})")
    print(f"field of 80³ cells rebuilt in {result['field_rebuild_80_ms']} ms")
    print(f"call from Python: {result['python_call_us']} µs")


@app.command()
def explain(
    robot: Annotated[str, typer.Option(help="Id, folder or robot.yaml.")],
    chunk: Annotated[
        Path | None,
        typer.Option(help="JSON with state, world and chunk; --example prints one."),
    ] = None,
    example: Annotated[bool, typer.Option("--example", help="Print a file to start from.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Print the kernel's verdict on a chunk in a file, and the reason.

    Exit code 1 if the chunk is refused or dropped. `openral schema case` documents the file.

    Example: openral kernel explain --robot ur5e --chunk stop.json
    """
    from openral.manifest import load_robot

    description = load_robot(robot)
    if example == (chunk is not None):
        raise ConfigError("give either --chunk FILE or --example")
    from openral.safety.cases.case import load_case
    from openral.safety.cases.explain import case_json, example_case
    from openral.safety.cases.explain import explain as explain_case

    if chunk is None:
        print(case_json(example_case(description)))
        return
    answer = explain_case(load_case(chunk, description), description)
    if as_json:
        print(json.dumps(answer))
    else:
        print(answer["text"])
        for name, what in (("world", "obstacle or voxel"), ("self", "two links of the robot")):
            if (metres := answer[f"clearance_{name}_m"]) is not None:
                print(f"at the measured pose, nearest {what}: {1000 * metres:.1f} mm")
    if not answer["accepted"]:
        raise typer.Exit(1)
