"""The kernel beside MuJoCo and Pinocchio + Coal: kinematics, self pairs and 20 obstacles."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from openral.manifest.collision import collision_pairs
from openral.manifest.kinematics import joints_from_root, matrix
from openral.safety import Box, Sphere
from openral.safety.bench import configuration_ns, kernel_benchmark
from openral.safety.bench_robot import bench_robot
from openral.safety.bench_work import motion, obstacles
from openral.safety.robot_model import grasping_links

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from tests.safety.oracle import Oracle  # noqa: E402


def _mujoco_ns(robot: Any, things: list[Any], rows: Any) -> float:
    """mj_kinematics + mj_collision over the same pairs; the calls' own cost is taken off."""
    spec = mujoco.MjSpec.from_string(_mjcf(robot, things))
    for geom in spec.geoms:
        outside = geom.parent.name == "world"
        geom.contype, geom.conaffinity = (1, 0) if outside else (0, 1)
        geom.margin = robot.safety.margin_m if outside else 0.0  # the question the kernel answers
    for body in spec.bodies:  # what cannot move cannot hit
        if body.name in ("planar", "") and body.parent is not None:
            for geom in body.geoms:
                geom.conaffinity = 0
    for a, b in _pairs(robot):
        spec.add_pair(geomname1=a, geomname2=b, margin=robot.safety.self_margin_m)
    model = spec.compile()
    data = mujoco.MjData(model)
    best, empty = float("inf"), float("inf")
    for _ in range(5):
        begin = time.perf_counter_ns()
        for q in rows:
            data.qpos[:] = q
            mujoco.mj_kinematics(model, data)
            mujoco.mj_collision(model, data)
        best = min(best, (time.perf_counter_ns() - begin) / len(rows))
        begin = time.perf_counter_ns()
        for q in rows:
            data.qpos[:] = q
            mujoco.mj_isSparse(model)
            mujoco.mj_isSparse(model)
        empty = min(empty, (time.perf_counter_ns() - begin) / len(rows))
    return best - empty


def _mjcf(robot: Any, things: list[Any]) -> str:
    path = ROOT / "build" / "peers.xml"
    path.parent.mkdir(exist_ok=True)
    mujoco.mj_saveLastXML(str(path), Oracle(robot, things).model)
    return path.read_text()


def _pairs(robot: Any) -> list[tuple[str, str]]:
    skipped = grasping_links(robot)
    names = {
        link.name: [f"{link.name}.{i}" for i in range(len(link.capsules))]
        for link in robot.links
        if link.name not in skipped
    }
    return [
        (a, b)
        for one, two in collision_pairs(robot)
        for a in names.get(one, [])
        for b in names.get(two, [])
    ]


def _scene(robot: Any, things: list[Any], rows: Any) -> dict[str, Any]:
    """Moving joints, capsules in their frames, obstacles and configurations, as plain numbers."""
    at: dict[str, tuple[int, Any]] = {robot.root: (0, np.eye(4))}
    joints: list[dict[str, Any]] = []
    for joint in joints_from_root(robot):
        parent, pose = at[joint.parent]
        here = pose @ matrix(joint.origin.xyz, joint.origin.rpy)
        if joint.moves:
            axis = np.array(joint.axis) / np.linalg.norm(joint.axis)
            joints.append(
                {"parent": parent, "pose": here.tolist(), "axis": axis.tolist(),
                 "turns": not joint.linear}
            )  # fmt: skip
            at[joint.child] = (len(joints), np.eye(4))
        else:
            at[joint.child] = (parent, here)
    capsules, index = [], {}
    for link in robot.links:
        if link.name in grasping_links(robot):
            continue
        frame, pose = at[link.name]
        for i, c in enumerate(link.capsules):
            index[f"{link.name}.{i}"] = len(capsules)
            ends = [(pose @ [*p, 1])[:3].tolist() for p in (c.p0, c.p1)]
            capsules.append((frame, *ends, c.radius))
    return {
        "joints": joints,
        "capsules": capsules,
        "obstacles": [_plain(t) for t in things],
        "pairs": [(index[a], index[b]) for a, b in _pairs(robot)],
        "moving": [i for i, c in enumerate(capsules) if c[0] > 0],
        "configurations": rows.tolist(),
    }


def _plain(thing: Any) -> dict[str, Any]:
    if isinstance(thing, Box):
        return {"at": thing.centre, "half": thing.half}
    if isinstance(thing, Sphere):
        return {"p0": thing.centre, "p1": thing.centre, "radius": thing.radius}
    return {"p0": thing.p0, "p1": thing.p1, "radius": thing.radius}


def _pinocchio(scene: dict[str, Any]) -> dict[str, Any]:
    try:
        subprocess.run([ROOT / "tools" / "peers.sh"], check=True, capture_output=True, text=True)
        program = ROOT / "benchmarks" / "kernel_rivals" / "pinocchio_coal.py"
        python = ROOT / ".venv-peers" / "bin" / "python"
        done = subprocess.run(
            [python, program], input=json.dumps(scene), check=True, capture_output=True, text=True
        )
    except subprocess.CalledProcessError as error:
        return {"skipped": f"Pinocchio and Coal: {error.stderr.strip().splitlines()[-1:]}"}
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def peers_benchmark(seed: int = 1) -> dict[str, Any]:
    """All of them in one run on one thread."""
    rng = np.random.default_rng(seed)
    robot = bench_robot()
    things = obstacles(rng, 0.2)
    rows = np.concatenate([motion(rng, 50).rows for _ in range(40)])
    ours = configuration_ns(things, seed)
    theirs = _mujoco_ns(robot, things, rows)
    out = {
        "benchmark": "kernel_peers",
        "ns_per_configuration": {"openral": round(ours, 1), "mujoco": round(theirs, 1)},
        "times_faster_than": {"mujoco": round(theirs / ours, 1)},
    }
    other = _pinocchio(_scene(robot, things, rows))
    if "ns" in other:
        out["ns_per_configuration"]["pinocchio_coal"] = round(other["ns"], 1)
        out["times_faster_than"]["pinocchio_coal"] = round(other["ns"] / ours, 1)
    out["pinocchio_coal"] = other
    out["table"] = kernel_benchmark(seed=seed)
    return out


if __name__ == "__main__":
    print(json.dumps(peers_benchmark()))
