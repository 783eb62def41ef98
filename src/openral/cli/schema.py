"""`openral schema`: print the JSON Schema of a manifest or case file."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from openral.errors import ConfigError, choices

app = typer.Typer()


@app.command()
def schema(
    manifest: Annotated[
        str, typer.Argument(help="robot, scene, skill or case", metavar="MANIFEST")
    ],
) -> None:
    """Print the JSON Schema of a manifest, for editors and validators.

    Example: openral schema robot > robot.schema.json
    """
    from pydantic import BaseModel

    from openral.manifest import RobotDescription, SceneDescription, SkillDescription
    from openral.safety.cases.case import Case

    models: dict[str, type[BaseModel]] = {
        "robot": RobotDescription,
        "scene": SceneDescription,
        "skill": SkillDescription,
        "case": Case,
    }
    if manifest not in models:
        raise ConfigError(f"no manifest '{manifest}'; {choices(manifest, models)}")
    print(json.dumps(models[manifest].model_json_schema(), indent=2))
