"""Lists the scenes with the robots that each accepts."""

from __future__ import annotations

from openral.manifest import load_robot, load_scene, robot_ids, scene_ids
from openral.sim.registry import compatible, fixed_robot, scene_type


def catalogue() -> list[dict[str, object]]:
    """One row per scene: id, name, scene type, task, robots."""
    robots = [load_robot(robot) for robot in robot_ids()]
    rows: list[dict[str, object]] = []
    for scene in scene_ids():
        description = load_scene(scene)
        kind = scene_type(description.world.scene)
        fixed = fixed_robot(kind)
        taken = [fixed.id] if fixed else [r.id for r in robots if compatible(kind, r) is None]
        rows.append(
            {
                "id": scene,
                "name": description.name,
                "scene": kind.name,
                "task": description.task.instruction if description.task else None,
                "robots": taken,
                "any_robot": len(taken) == len(robots),
            }
        )
    return rows
