"""`openral kernel`: the safety kernel's speed on this machine."""

from __future__ import annotations

import json
from typing import Annotated

import typer

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
    from openral.safety.bench import kernel_benchmark

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
    print(f"field of 80³ cells rebuilt in {result['field_rebuild_80_ms']} ms")
    print(f"call from Python: {result['python_call_us']} µs")
