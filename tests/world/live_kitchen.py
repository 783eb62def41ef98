"""The whole graph in the kitchen, as processes: started, listened to, and what was touched."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from openral.graph import topics
from openral.manifest import RobotDescription
from tests.hal.node_rig import ESTOPPED, LiveGraph
from tests.ros.conftest import Graph, wait_until
from tests.world.counter_streams import Vector, tucked
from tests.world.kitchen_rig import Pose, Touching, kitchen_rollout

SEEN = {"voxel_collision", "budget_exceeded"}
"""What voxels end a motion with: there is nothing else to see."""


def robot_file(folder: Path, robot: RobotDescription) -> str:
    """A manifest of the robot with its arm tucked at home."""
    at_home = dict(zip(robot.joint_names, tucked().tolist(), strict=True))
    robot = robot.model_copy(update={"home": at_home})
    path = folder / robot.id / "robot.yaml"
    path.parent.mkdir()
    path.write_text(json.dumps(robot.model_dump(mode="json", exclude_unset=True)))
    return str(path)


def scene_file(folder: Path, start: Pose) -> Path:
    """A manifest of the kitchen with the robot at that place."""
    path = folder / "kitchen_start.yaml"
    path.write_text(
        "id: kitchen_start\nname: A place in the kitchen\nrobot: panda_mobile\n"
        f"world: {{scene: kitchen, options: {{start: {list(start)}}}}}\n"
    )
    return path


def start(graph: Graph, scene: Path, sim_time: bool, robot: str = "panda_mobile") -> LiveGraph:
    """HAL, world and kernel, armed; all that is known was seen."""
    live = LiveGraph(graph, robot, sim_time=sim_time)
    live.hear("openral_msgs/msg/OccupancyVoxels", topics.VOXELS, topics.SENSOR)
    live.hear("nav_msgs/msg/Odometry", topics.ODOM, topics.SENSOR)
    try:
        live.start_hal(
            f"sim_env_yaml={scene}",
            f"wall_clock={not sim_time}",
            "known_obstacles=false",
        )
        wait_until(lambda: live.heard[topics.JOINT_STATES], 60.0)
        live.start("openral.world", f"use_sim_time={sim_time}")
        live.start_kernel("requires_voxels=true")
        wait_until(lambda: live.heard[topics.SAFETY_STATE], 60.0)
        wait_until(lambda: live.candidates.has_subscribers)
        wait_until(lambda: any(m.healthy for m in live.heard[topics.VOXELS]), 60.0)
        live.arm()
    except BaseException:
        live.close()
        raise
    return live


def vetoed(live: LiveGraph) -> Any:
    """The kernel's stop, if there is one; nobody else may stop the robot."""
    safety = live.safety
    if safety.state != ESTOPPED:
        return None
    assert safety.source == "kernel", safety.detail
    return safety


def measured(robot: RobotDescription, joints: Any) -> tuple[Vector, Vector]:
    """A joint state's positions and velocities in the manifest's order."""
    order = [list(joints.name).index(name) for name in robot.joint_names]
    return np.array(joints.position)[order], np.array(joints.velocity)[order]


def contacts(start: Pose, robot: RobotDescription, heard: Iterable[Any]) -> set[tuple[str, str]]:
    """What of the robot touched what of the kitchen in these joint states, by MuJoCo."""
    rollout = kitchen_rollout(start, robot)
    touching, found = Touching(rollout), set[tuple[str, str]]()
    for joints in heard:
        rollout.binding.place(rollout.data, measured(robot, joints)[0])
        mujoco.mj_forward(rollout.model, rollout.data)
        found |= touching.now()
    rollout.close()
    return found
